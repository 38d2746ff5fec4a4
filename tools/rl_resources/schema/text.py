"""What no text may hold, whatever its column: the mistakes of a cell that its schema cannot name.

A cell's mistake is told by `text_mistake`, one cell at a time. Most cells of most files have no
sign of any; `SIGNS` is the one expression that says so, in the words that `re` and the engine of
polars have in common, so that a million cells are asked at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rl_resources.package import Field

_TEXTS = frozenset({"string", "list"})
INVISIBLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u115f\u1160\u2800\u3164\uffa0\U000e0000-\U000e0fff]"
)
MARKUP = re.compile(
    r"<[A-Za-z/!?]|&(?:#\w|\w{1,31};)|\b(?:javascript|vbscript):|\bdata:\w+/"
    r"|\{[{%#]|\]\(|`_|:\w{1,31}:`",
    re.IGNORECASE,
)
_MARKUP_SIGNS = ("<", "&", ":", "{", "](", "`_")  # one of them is in all markup
_FORMULA_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
_MAIL_NAME = re.compile(r"[A-Za-z0-9_%+-]\Z")
_MAIL_HOST = re.compile(r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,}")

SIGNS = r"[^ -~]|[@<&{`]|\]\(|^[ =+-]| $|(?i:script:|data:)"
"""Matches every text that has a mistake, and some that have none."""

BEFORE = ("invisible", "email", "space", "markup")
"""Mistakes that are told before whatever the schema says of the cell, in this order."""
AFTER = ("formula",)
"""Mistakes of a cell that its schema has nothing against."""


def text_mistake(field: Field, cell: str, constraint: str | None) -> str | None:
    """What is wrong with the text of a cell, where that is not the schema's `constraint`.

    A cell with a line break is told as that.
    """
    if "\n" in cell:
        return None
    if not (cell.isascii() and cell.isprintable()) and INVISIBLE.search(cell):
        return "invisible"
    if "@" in cell and _holds_mail(cell):
        return "email"
    if cell != cell.strip():
        return "space"
    if field.type not in _TEXTS or not cell:
        return None
    if any(sign in cell for sign in _MARKUP_SIGNS) and MARKUP.search(cell):
        return "markup"
    return "formula" if constraint is None and cell[0] in _FORMULA_SIGNS else None


def may_be_broken(cells: Sequence[str]) -> bool:
    """Whether any cell of a column has a sign of a mistake: all of them looked at at once."""
    text = "\n".join(("", *cells, ""))
    plain = text.replace("\n", "")
    return (
        not (plain.isascii() and plain.isprintable())
        or any(sign in text for sign in ("@", "\n ", " \n", *_MARKUP_SIGNS))
        or any(f"\n{sign}" in text for sign in _FORMULA_SIGNS)
    )


def _holds_mail(cell: str) -> bool:
    """Whether an `@` stands between a name and a host; each is looked at once."""
    before, *rest = cell.split("@")
    for after in rest:
        if _MAIL_NAME.search(before[-1:]) and _MAIL_HOST.match(after):
            return True
        before = after
    return False
