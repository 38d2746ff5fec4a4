"""The scripts that a page is about, linked or not, and those that none of its rows means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from os.path import commonpath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rl_resources.page.script_link import SIZE_FOLDER, Link, link_of, plain
from rl_resources.script.name import PARTS

if TYPE_CHECKING:
    from rl_resources.page.records import Reading
    from rl_resources.page.value import Row


def subjects(reading: Reading) -> list[str]:
    """The scripts that rows link, that the page names anywhere, or that lie beside these."""
    linked = [row.link.read for row in reading.rows if row.link.read]
    named = [path for path in reading.context.scripts or () if _is_named(reading, path)]
    return list(dict.fromkeys([*linked, *named, *_beside(reading)]))


def orphans(reading: Reading) -> list[str]:
    """Scripts that no row means.

    None where a row cannot be read and names no script: it may mean any of them.
    """
    links = list(_links(reading))
    if not any(links) or None in links:
        return []
    meant = {link.read or link.nearest for link in links if link}
    return [path for path in _beside(reading) if path not in meant and not _is_named(reading, path)]


def _links(reading: Reading) -> Iterator[Link | None]:
    """What each row that says anything links, also one that is too short to be read."""
    read = {id(row.row): row.link for row in reading.rows}
    for table in reading.tables:
        for row in table.rows:
            if not row.blank:
                yield read.get(id(row)) or _link_in(reading, row)


def _link_in(reading: Reading, row: Row) -> Link | None:
    found = (link_of(cell, reading.context.scripts) for cell in row.cells)
    return next((link for link in found if link is not None), None)


def _beside(reading: Reading) -> list[str]:
    """The scripts called as the form says in the folders that the page's scripts lie in."""
    known = reading.context.scripts or ()
    named = [path for path in known if _is_named(reading, path)]
    linked = [row.link.read for row in reading.rows if row.link.read]
    folders = [PurePosixPath(path).parent for path in (*named, *linked)]
    top = PurePosixPath(commonpath(folders) if folders else "")
    top = top.parent if SIZE_FOLDER.fullmatch(top.name) else top
    inside = (path for path in map(PurePosixPath, known) if path.is_relative_to(top))
    return [str(path) for path in inside if _is_like_the_form(path.name)]


def _is_like_the_form(name: str) -> bool:
    """Whether a name ends as the form does, though its first part may hold the separator."""
    parts = name.removesuffix(".sh").split("_")
    return len(parts) >= len(PARTS) and parts[PARTS.index("gpus") - len(PARTS)].isdigit()


def _is_named(reading: Reading, path: str) -> bool:
    """Whether the page says the script's name, in a row or in its text, or nearly so."""
    stem = re.escape(plain(PurePosixPath(path).name.removesuffix(".sh")))
    return re.search(rf"(?<![\w.-]){stem}(?![\w-])", _page_text(reading)) is not None


@lru_cache(maxsize=1)
def _page_text(reading: Reading) -> str:
    text = "\n".join(reading.page.lines).replace("\\", "")
    return plain(unquote(text))
