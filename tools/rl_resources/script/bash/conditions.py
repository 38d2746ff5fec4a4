"""What `test` and `[ … ]` say of values; `None` is unknown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from rl_resources.script.bash.script import Value

Status = bool | None
"""Whether a command succeeds; `None` where that is unknown."""
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_PLACEHOLDER = re.compile(r"(?i)[{<][^{}<>]*(?:your|path|name|here)[^{}<>]*[}>]")
_NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


def negated(status: Status) -> Status:
    """The opposite, where it is known."""
    return None if status is None else not status


def decided(value: Value) -> str | None:
    """The text that a condition may rely on.

    A setting that the script leaves empty is meant to come from outside, and one that holds
    `{your_path}` or `<path>` to be written over, so they decide nothing.
    """
    text = value.text or ""
    left_open = value.default if not text else value.names and _PLACEHOLDER.search(text)
    return None if left_open else value.text


def test(arguments: Sequence[Value]) -> Status:
    """The status of `test` with these arguments."""
    if len(arguments) == 2:
        return unary(arguments[0].text, arguments[1])
    return compared(arguments[0], arguments[1].text, arguments[2]) if len(arguments) == 3 else None


def unary(sign: str | None, value: Value) -> Status:
    """The status of `-n VALUE` or `-z VALUE`."""
    if sign not in ("-n", "-z"):
        return None
    filled = any(part.text for part in value.parts) or (None if decided(value) is None else False)
    return filled if sign == "-n" else negated(filled)


def compared(first: Value, sign: str | None, third: Value) -> Status:
    """The status of `FIRST = THIRD`, `FIRST -lt THIRD` and others."""
    left, right = decided(first), decided(third)
    if left is None or right is None:
        return None
    if sign in ("=", "==", "!="):
        return (left == right) == (sign != "!=")
    compare = _NUMERIC.get(sign or "")
    if compare and _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return compare(int(left), int(right))
    return None
