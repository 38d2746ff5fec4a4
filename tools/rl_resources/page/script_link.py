"""Which script the Link cell of a row means, and what is wrong with the link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from rl_resources.package import SCRIPTS
from rl_resources.page.cells import Problem
from rl_resources.page.value import Cell
from rl_resources.script.name import FORM
from rl_resources.words import nearest, shown

NO_SCRIPT = Problem(
    "page-no-script",
    "the row names no script, so it cannot become a record",
    f"Link its script, which lies in {SCRIPTS}/<size>/ and is named {FORM}.",
)
_EMAIL = re.compile(r"mailto:.*|[^/:@]+@[^/:@]+", re.IGNORECASE)


def linked_script(cell: Cell, scripts: Sequence[str] | None) -> str | None:
    """The file name that a link means: the one that exists, else the one in its address."""
    label, target = _names(cell)
    names = [name for name in (target, label) if name]
    return next((name for name in names if name in (scripts or ())), names[0] if names else None)


def link_problems(cell: Cell, script: str, scripts: Sequence[str] | None) -> Iterator[Problem]:
    """What is wrong with the link to `script`; `scripts` are all there are, `None` if unknown."""
    label, target = _names(cell)
    if label and target and label != target:
        yield Problem(
            "page-link-label",
            f"the link is called {shown(label, 120)} and leads to {shown(target, 120)}",
            "Name the link as the script that it leads to.",
            "warning",
        )
    if scripts is not None and script not in scripts:
        yield Problem(
            "page-missing-script",
            f"no script is called {shown(script, 120)}",
            nearest(script, scripts).sentence() or "Link a script that there is.",
        )


def is_email(target: str | None) -> bool:
    """Whether the address of a link is that of a person's mail."""
    return target is not None and _EMAIL.fullmatch(target) is not None


def _names(cell: Cell) -> tuple[str | None, str | None]:
    """File names of scripts in the label and in the address of a link."""
    return _script_name(cell.text.strip()), _script_name(_address_path(cell.target or ""))


def _address_path(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:  # such as a bracket that is never closed
        return ""


def _script_name(path: str) -> str | None:
    name = PurePosixPath(path).name
    return name if name.endswith(".sh") else None
