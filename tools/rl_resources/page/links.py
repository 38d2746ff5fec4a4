"""Which script a row links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from rl_resources.page.reader import Cell
from rl_resources.script.name import parsed

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SIZE_FOLDER = re.compile(r"[0-9]+(?:\.[0-9]+)?b", re.IGNORECASE)
_AS_TEXT = re.compile(r"([^\s<>\[\]()\"`]+\.sh)[`\]]?\s*[<(]\s*([^\s<>()]+\.sh)\s*[>)]")


@dataclass(frozen=True, slots=True)
class Link:
    """What a Link cell leads to.

    `label` and `target` are the names that its label and its URL say, `folder` is the size in its
    URL. `script` is the file name that it means, `file` the path of that script under the folder of
    scripts, `meant` the path of the one whose name differs only in case or in `_` for `-`. They are
    `None` where there is none, or where the scripts are unknown. `missing` says that the first of
    its names is no script, unless the URL names a commit, which may hold others than the folder.
    """

    script: str
    label: str | None
    target: str | None
    folder: str | None
    file: str | None
    meant: str | None
    missing: bool

    @property
    def ambiguous(self) -> bool:
        """Whether label and URL name two scripts, so that nobody knows which one is meant."""
        return None not in (self.label, self.target) and self.label != self.target

    @property
    def read(self) -> str | None:
        """The file to check the row against."""
        unsure = self.ambiguous and self.script == self.target
        return None if unsure else self.file or self.meant


def link_of(cell: Cell, scripts: Sequence[str] | None) -> Link | None:
    """What the cell leads to; `None` where it names no script at all.

    `scripts` are paths below the folder of scripts. Of two names that of the URL is meant, unless
    there is no such script.
    """
    text, url = link_as_text(cell) or (cell.text.strip(), cell.target or "")
    address = _url_path(url)
    label, target = _script_name(PurePosixPath(text)), _script_name(address)
    label = f"{label.removesuffix('.sh')}.sh" if label else None
    names = [name for name in (target, label) if name]
    if not names:
        return None
    folder = address.parent.name.lower() if target else ""
    size = folder if _SIZE_FOLDER.fullmatch(folder) else None
    known = list(map(PurePosixPath, scripts or ()))
    files = [path for name in names for path in known if path.name == name]
    file = next((str(path) for path in files if _may_lie_in(path, size)), None)
    meant = None if file else _meant(names[0], known)
    script = PurePosixPath(file or names[0]).name
    looked_up = scripts is not None and not any(map(_COMMIT.fullmatch, address.parts))
    missing = looked_up and (file is None or script != names[0])
    return Link(script, label, target, size, file, meant, missing)


def link_as_text(cell: Cell) -> tuple[str, str] | None:
    """Label and URL where the markup of a link is wrong, so that a reader sees it as text."""
    match = _AS_TEXT.search(cell.text)
    return (match[1], match[2]) if match else None


def _url_path(url: str) -> PurePosixPath:
    try:
        return PurePosixPath(unquote(urlsplit(url).path))
    except ValueError:  # such as a bracket that is never closed
        return PurePosixPath()


def _script_name(path: PurePosixPath) -> str | None:
    """The last part of a path where it names a script, also without the `.sh` at its end."""
    return path.name if path.suffix == ".sh" or parsed(f"{path.name}.sh") else None


def _may_lie_in(path: PurePosixPath, size: str | None) -> bool:
    """Whether a script lies in the folder of a size, or in none of a size at all."""
    folder = path.parent.name.lower()
    return size in (None, folder) or not _SIZE_FOLDER.fullmatch(folder)


def _meant(name: str, scripts: Sequence[PurePosixPath]) -> str | None:
    """The one script whose name is the same but for case and for `_` in place of `-`."""
    alike = [path for path in scripts if plain_name(path.name) == plain_name(name)]
    return str(alike[0]) if len(alike) == 1 else None


def plain_name(name: str) -> str:
    """A name in lower case with `-` for every separator."""
    return re.sub(r"[_-]+", "-", name.lower())
