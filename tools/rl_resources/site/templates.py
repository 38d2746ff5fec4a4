"""Jinja2 as all templates expect it, and texts by the templates next to this file."""

from __future__ import annotations

import json
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_resources.text import printable, unobeyed

if TYPE_CHECKING:
    from jinja2 import Environment

OWN = Path(__file__).parent
_PARAGRAPH = re.compile(r"^([#$] )?( *(?:-  |[0-9]+\. )?)(.*)")


@cache  # a changed template is still seen: Jinja2 compares its time
def environment(*folders: Path, autoescape: bool = False) -> Environment:
    """The templates of some directories. A value that is missing is an error."""
    # Here, because an answer in JSON needs no template.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(folders),
        autoescape=autoescape,  # noqa: S701 (pages are escaped; code and plain text are not)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return found


def rendered(name: str, /, **values: Any) -> str:
    """The text of a template next to this file."""
    return environment(OWN).get_template(f"{name}.jinja").render(values)


def document(name: str, /, **values: Any) -> dict[str, Any]:
    """The JSON object that a template next to this file writes."""
    found: dict[str, Any] = json.loads(rendered(f"{name}.json", **values))
    return found


def terminal(text: str, width: int, *, color: bool) -> str:
    """The paragraphs of a text, one a line, in lines of `width`, with nothing that is obeyed.

    One that begins with `# ` is a title. One with `$ ` is a command, which stays one line, so that
    it can be copied. `-  ` and `1. ` indent the other lines; URLs are not broken.
    """
    *paragraphs, _ = text.split("\n")
    wrapped: list[str] = []
    for paragraph in paragraphs:
        wrapped += _wrapped(paragraph, width, color)
    return "\n".join(wrapped).lstrip("\n") + "\n"


def _wrapped(paragraph: str, width: int, color: bool) -> list[str]:
    [(kind, mark, text)] = _PARAGRAPH.findall(printable(paragraph))
    if kind == "$ ":
        mark = "   "
        width = len(mark + text)
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    safe = [unobeyed(line) for line in lines]
    if kind != "# ":
        return safe
    if color:
        safe = [f"\x1b[1m{line}\x1b[0m" for line in safe]
    return ["", *safe]
