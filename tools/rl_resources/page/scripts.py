"""Which scripts a page is about: those that its rows link, and those that its text names."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from rl_resources.page.links import link_of, plain_name
from rl_resources.page.rows import Reading
from rl_resources.script.name import PARTS
from rl_resources.text import nearest


def scripts_of(reading: Reading) -> list[str]:
    """The scripts that rows link, that the page names anywhere, or whose names have the form."""
    linked = [row.link.read for row in reading.rows if row.link.read]
    return list(dict.fromkeys([*linked, *_named(reading), *_of_form(reading)]))


def orphans(reading: Reading) -> list[str]:
    """Scripts that no row means.

    None where a row cannot be read and names no script: it may mean any of them.
    """
    rows = [row for table in reading.tables for row in table.rows if not row.empty]
    scripts = reading.context.scripts
    links = [[link for cell in row.cells if (link := link_of(cell, scripts))] for row in rows]
    if not all(links):
        return []
    names = {PurePosixPath(path).name: path for path in scripts or ()}
    meant = {*_named(reading)}
    for link, *_ in links:
        nearby = (names[name] for name in nearest(link.script, names).words)
        meant.add(link.read or next(nearby, ""))
    return [path for path in _of_form(reading) if path not in meant] if links else []


def _of_form(reading: Reading) -> list[str]:
    """The scripts that are named after the form, though its first part may contain a `_`."""
    found = []
    for path in reading.context.scripts or ():
        parts = PurePosixPath(path).stem.split("_")
        if len(parts) >= len(PARTS) and parts[PARTS.index("gpus") - len(PARTS)].isdigit():
            found.append(path)
    return found


def _named(reading: Reading) -> list[str]:
    """The scripts whose names the page says, in a row or in its text, or nearly so."""
    text = plain_name(unquote("\n".join(reading.page.lines).replace("\\", "")))
    paths = reading.context.scripts or ()
    stems = {path: re.escape(plain_name(PurePosixPath(path).stem)) for path in paths}
    return [path for path in paths if re.search(rf"(?<![\w.-]){stems[path]}(?![\w-])", text)]
