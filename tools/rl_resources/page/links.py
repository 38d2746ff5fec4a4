"""Which script a row links, which scripts a page is about, and what is wrong with a link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from os.path import commonpath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rl_resources.script.name import PARTS, parsed
from rl_resources.words import nearest, shown

if TYPE_CHECKING:
    from rl_resources.page.reader import Cell, Row
    from rl_resources.page.rows import Reading

_SIZE_FOLDER = re.compile(r"[0-9]+(?:\.[0-9]+)?b", re.IGNORECASE)
_AS_TEXT = re.compile(r"([^\s<>\[\]()\"`]+\.sh)[`\]]?\s*[<(]\s*([^\s<>()]+\.sh)\s*[>)]")

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What a Link cell leads to.

    `script` is the file name that it means, `label` and `target` are the names that its label and
    its URL say, `folder` is the size in its URL. `file` is the script under the folder of scripts;
    `meant` the one whose name differs only in case or in `_` for `-`; `nearest` the one most like
    it. They are `None` where there is none, or where the scripts are unknown.
    """

    script: str
    label: str | None
    target: str | None
    folder: str | None
    file: str | None
    meant: str | None
    nearest: str | None

    @property
    def read(self) -> str | None:
        """The file to check the row against."""
        return self.file or self.meant


def link_of(
    cell: Cell, scripts: Sequence[str] | None, fit: Callable[[str], int] = lambda name: 0
) -> Link | None:
    """What the cell leads to; `None` where it names no script at all.

    `scripts` are paths below the folder of scripts. Of two names that of the URL is meant, unless
    the label's has the better `fit`.
    """
    text, url = link_as_text(cell) or (cell.text.strip(), cell.target or "")
    address = _url_path(url)
    label, target = _script_name(PurePosixPath(text).parts), _script_name(address)
    label = f"{label.removesuffix('.sh')}.sh" if label else None
    names = [name for name in (target, label) if name]
    if not names:
        return None
    known = scripts or ()
    if target and label and _file(target, address, known) and fit(label) > fit(target):
        names = [label]
    file = next((found for name in names if (found := _file(name, address, known))), None)
    script = PurePosixPath(file).name if file else names[0]
    folder = address[-2].lower() if target and len(address) > 1 else ""
    size = folder if _SIZE_FOLDER.fullmatch(folder) else None
    meant = None if file else _meant(names[0], known)
    return Link(script, label, target, size, file, meant, _nearest(script, known))


def link_as_text(cell: Cell) -> tuple[str, str] | None:
    """Label and URL where the markup of a link is wrong, so that a reader sees it as text."""
    match = _AS_TEXT.search(cell.text)
    return (match[1], match[2]) if match else None


def _url_path(url: str) -> Parts:
    try:
        return PurePosixPath(unquote(urlsplit(url).path)).parts
    except ValueError:  # such as a bracket that is never closed
        return ()


def _script_name(parts: Parts) -> str | None:
    """The last part of a path where it names a script, also without the `.sh` at its end."""
    last = parts[-1] if parts else ""
    return last if last.endswith(".sh") or parsed(f"{last}.sh") else None


def _file(name: str, address: Parts, scripts: Sequence[str]) -> str | None:
    """The path that ends most like the URL; none in the folder of another size."""
    found = [path for path in map(PurePosixPath, scripts) if path.name == name]
    folder = address[-2].lower() if len(address) > 1 and address[-1] == name else ""
    if _SIZE_FOLDER.fullmatch(folder):
        found = [path for path in found if _size_of(path) in (folder, None)]
    best = max(found, key=lambda path: _shared(path.parts, address), default=None)
    return None if best is None else str(best)


def _size_of(path: PurePosixPath) -> str | None:
    """The size whose folder a script lies in."""
    name = path.parent.name.lower()
    return name if _SIZE_FOLDER.fullmatch(name) else None


def _shared(path: Parts, address: Parts) -> int:
    """How many last parts two paths share."""
    pairs = zip(reversed(path), reversed(address), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _meant(name: str, scripts: Sequence[str]) -> str | None:
    """The one script whose name is the same but for case and for `_` in place of `-`."""
    alike = [path for path in scripts if _plain(PurePosixPath(path).name) == _plain(name)]
    return alike[0] if len(alike) == 1 else None


def _plain(name: str) -> str:
    """A name in lower case with `-` for every separator."""
    return re.sub(r"[_-]+", "-", name.lower())


def _nearest(name: str, scripts: Sequence[str]) -> str | None:
    """The path of the script whose name is most like this one."""
    paths = {PurePosixPath(path).name: path for path in scripts}
    return next((paths[found] for found in nearest(name, paths).words), None)


def link_problems(link: Link, scripts: Sequence[str] | None) -> Iterator[tuple[str, str, str]]:
    """Rule, message and help of what is wrong with a link; `scripts` are all, `None` if unknown."""
    names = {PurePosixPath(path).name for path in scripts or ()}
    label, target = shown(link.label or "", 120), shown(link.target or "", 120)
    gone = scripts is not None and link.target is not None and link.target not in names
    if gone and link.file is not None:
        message = f"the link leads to {target}, which does not exist"
        yield "page-missing-script", message, f"Link `{shown(link.script, 120)}`, as it is called."
    elif link.label and link.target and link.label != link.target:
        message = f"the link is called {label} and leads to {target}"
        if link.script == link.label:
            yield "page-link-label", message, f"Link `{label}`, as the row describes it."
            return
        yield "page-link-label", message, "Name the link as the script that it leads to."
    if scripts is not None and link.file is None:
        yield "page-missing-script", *_missing(link, scripts)


def _missing(link: Link, scripts: Sequence[str]) -> tuple[str, str]:
    """Message and help of a link to a script that does not exist."""
    name = shown(link.script, 120)
    elsewhere = [path for path in map(PurePosixPath, scripts) if path.name == link.script]
    if elsewhere:
        folder = shown(str(elsewhere[0].parent), 120)
        return f"there is no {name} in {link.folder}/", f"It lies in {folder}/: link that."
    message = f"no script is called {name}"
    if link.meant:
        called = shown(PurePosixPath(link.meant).name, 120)
        rename = f"rename it to `{name}`, or link it as it is called"
        fix = rename if parsed(link.script) else f"link `{called}`"
        return message, f"The file is called `{called}`: {fix}."
    names = [PurePosixPath(path).name for path in scripts]
    return message, nearest(link.script, names).sentence() or "Link a script that exists."


def scripts_of(reading: Reading) -> list[str]:
    """The scripts that rows link, that the page names anywhere, or that lie next to these."""
    linked = [row.link.read for row in reading.rows if row.link.read]
    named = _named(reading)
    return list(dict.fromkeys([*linked, *named, *_siblings(reading, [*named, *linked])]))


def orphans(reading: Reading) -> list[str]:
    """Scripts that no row means.

    None where a row cannot be read and names no script: it may mean any of them.
    """
    links = list(_links(reading))
    if not any(links) or None in links:
        return []
    named = _named(reading)
    linked = [row.link.read for row in reading.rows if row.link.read]
    meant = {link.read or link.nearest for link in links if link} | {*named}
    return [path for path in _siblings(reading, [*named, *linked]) if path not in meant]


def _links(reading: Reading) -> Iterator[Link | None]:
    """What each row that says anything links, also one that is too short to be read."""
    read = {id(row.row): row.link for row in reading.rows}
    for row in (row for table in reading.tables for row in table.rows if not row.empty):
        yield read.get(id(row)) or _link_in(row, reading.context.scripts)


def _link_in(row: Row, scripts: Sequence[str] | None) -> Link | None:
    return next(filter(None, (link_of(cell, scripts) for cell in row.cells)), None)


def _siblings(reading: Reading, scripts: Sequence[str]) -> list[str]:
    """The scripts named after the form in the folders of these scripts."""
    folders = [PurePosixPath(path).parent for path in scripts]
    top = PurePosixPath(commonpath(folders) if folders else "")
    top = top.parent if _SIZE_FOLDER.fullmatch(top.name) else top
    inside = (path for path in map(PurePosixPath, reading.context.scripts or ()))
    return [str(path) for path in inside if path.is_relative_to(top) and _has_form(path.stem)]


def _has_form(stem: str) -> bool:
    """Whether a name ends as the form does, though its first part may contain the separator."""
    parts = stem.split("_")
    return len(parts) >= len(PARTS) and parts[PARTS.index("gpus") - len(PARTS)].isdigit()


def _named(reading: Reading) -> list[str]:
    """The scripts whose names the page says, in a row or in its text, or nearly so."""
    text = _plain(unquote("\n".join(reading.page.lines).replace("\\", "")))
    paths = reading.context.scripts or ()
    stems = {path: re.escape(_plain(PurePosixPath(path).stem)) for path in paths}
    return [path for path in paths if re.search(rf"(?<![\w.-]){stems[path]}(?![\w-])", text)]
