"""Which script the Link cell of a row means, and what is wrong with the link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from rl_resources.package import SCRIPTS
from rl_resources.page.cells import Problem
from rl_resources.page.value import Cell
from rl_resources.script.name import FORM, parsed
from rl_resources.words import nearest, shown

NO_SCRIPT = Problem(
    "page-no-script",
    "the row names no script, so it cannot become a record",
    f"Link its script, which lies in {SCRIPTS}/<size>/ and is named {FORM}.",
)
SIZE_FOLDER = re.compile(r"[0-9]+(?:\.[0-9]+)?b", re.IGNORECASE)
_SEPARATOR = re.compile(r"[_-]+")

_AS_TEXT = re.compile(r"([^\s<>\[\]()\"`]+\.sh)[`\]]?\s*[<(]\s*([^\s<>()]+\.sh)\s*[>)]")

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What a Link cell leads to.

    `script` is the file name that it means; `folder` the size that is named in its address. `file`
    is the script under the folder of scripts, `meant` one whose name differs only in case or in
    `_` for `-`, `nearest` the one most like it; they are `None` where there is none, or where
    nobody knows the scripts.
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
        """The file to hold the row to."""
        return self.file or self.meant


def link_of(
    cell: Cell, scripts: Sequence[str] | None, fit: Callable[[str], int] = lambda name: 0
) -> Link | None:
    """What the cell leads to; `None` where it names no script at all.

    `scripts` are paths below the folder of scripts, `None` where nobody knows them. Of two scripts
    the one that the address names is meant, unless the label's has the better `fit`.
    """
    text, aim = link_as_text(cell) or (cell.text.strip(), cell.target or "")
    address = _parts(_address_path(aim))
    label, target = _script_name(_parts(text)), _script_name(address)
    label = f"{label.removesuffix('.sh')}.sh" if label else None
    names = [name for name in (target, label) if name]
    if not names:
        return None
    known = scripts or ()
    if target and label and _file(target, address, known) and fit(label) > fit(target):
        names = [label]
    file = next((found for name in names if (found := _file(name, address, known))), None)
    script = names[0] if file is None else PurePosixPath(file).name
    folder = address[-2] if target and len(address) > 1 else ""
    size = folder.lower() if SIZE_FOLDER.fullmatch(folder) else None
    meant = None if file else _meant(names[0], known)
    return Link(script, label, target, size, file, meant, _nearest(script, known))


def link_as_text(cell: Cell) -> tuple[str, str] | None:
    """Label and address where the markup of a link is wrong, so that a reader sees it as text."""
    match = _AS_TEXT.search(cell.text)
    return (match[1], match[2]) if match else None


def _nearest(name: str, scripts: Sequence[str]) -> str | None:
    """The path of the script whose name is most like this one."""
    paths = {PurePosixPath(path).name: path for path in scripts}
    return next((paths[found] for found in nearest(name, paths).words), None)


def link_problems(link: Link, scripts: Sequence[str] | None) -> Iterator[Problem]:
    """What is wrong with a link; `scripts` are all there are, `None` if unknown."""
    names = {PurePosixPath(path).name for path in scripts or ()}
    dead = scripts is not None and link.target is not None and link.target not in names
    if dead and link.file is not None:
        yield Problem(
            "page-missing-script",
            f"the link leads to {shown(link.target or '', 120)}, which does not exist",
            f"Link `{shown(link.script, 120)}`, as it is called.",
        )
    elif link.label and link.target and link.label != link.target:
        other = link.script == link.label
        yield Problem(
            "page-link-label",
            f"the link is called {shown(link.label, 120)} and leads to {shown(link.target, 120)}",
            f"Link `{shown(link.label, 120)}`, as the row describes it."
            if other
            else "Name the link as the script that it leads to.",
        )
        if other:
            return
    if scripts is not None and link.file is None:
        yield _missing(link, scripts)


def folder_above(cell: Cell) -> str | None:
    """The folder in which the folders of the sizes lie, as the cell's address has it."""
    parts = _parts(_address_path((link_as_text(cell) or ("", cell.target or ""))[1]))[:-1]
    if parts and SIZE_FOLDER.fullmatch(parts[-1]):
        parts = parts[:-1]
    return parts[-1] if parts else None


def _missing(link: Link, scripts: Sequence[str]) -> Problem:
    rule, name = "page-missing-script", shown(link.script, 120)
    elsewhere = [path for path in scripts if PurePosixPath(path).name == link.script]
    if elsewhere:
        return Problem(
            rule,
            f"there is no {name} in {link.folder}/",
            f"It lies in {shown(PurePosixPath(elsewhere[0]).parent.as_posix(), 120)}/: link that.",
        )
    if link.meant:
        wrong = shown(PurePosixPath(link.meant).name, 120)
        mend = f"The file is called `{wrong}`: {_likely_mend(link.script, wrong)}."
    else:
        names = [PurePosixPath(path).name for path in scripts]
        mend = nearest(link.script, names).sentence() or "Link a script that there is."
    return Problem(rule, f"no script is called {name}", mend)


def _likely_mend(linked: str, called: str) -> str:
    """Which of two names to change: the one that has not the form."""
    if parsed(linked) is None:
        return f"link `{called}`"
    return f"rename it to `{shown(linked, 120)}`, or link it as it is called"


def _file(name: str, address: Parts, scripts: Sequence[str]) -> str | None:
    """The path that ends most like the address; none that lies in the folder of another size."""
    found = [path for path in scripts if PurePosixPath(path).name == name]
    folder = address[-2].lower() if len(address) > 1 and address[-1] == name else ""
    if SIZE_FOLDER.fullmatch(folder):
        found = [path for path in found if _folder_of(path) in (folder, None)]
    return max(found, key=lambda path: _alike(_parts(path), address), default=None)


def _folder_of(path: str) -> str | None:
    """The size whose folder a script lies in, where its folder is that of a size."""
    name = PurePosixPath(path).parent.name.lower()
    return name if SIZE_FOLDER.fullmatch(name) else None


def _alike(path: Parts, address: Parts) -> int:
    """How many last parts two paths share."""
    pairs = zip(reversed(path), reversed(address), strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), len(path))


def _meant(name: str, scripts: Sequence[str]) -> str | None:
    """The one script whose name is the same but for case and for `_` in place of `-`."""
    alike = [path for path in scripts if plain(PurePosixPath(path).name) == plain(name)]
    return alike[0] if len(alike) == 1 else None


def plain(name: str) -> str:
    """A name in lower case, `-` for every separator, so that likely spellings of it are equal."""
    return _SEPARATOR.sub("-", name.lower())


def _address_path(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:  # such as a bracket that is never closed
        return ""


def _parts(path: str) -> Parts:
    return PurePosixPath(path).parts


def _script_name(parts: Parts) -> str | None:
    """The last part of a path where it names a script, also without the `.sh` at its end."""
    last = parts[-1] if parts else ""
    return last if last.endswith(".sh") or parsed(f"{last}.sh") else None
