"""`test`, `[ … ]` and `[[ … ]]`: true, false, or `None` where that is unknown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from rl_resources.script.bash import pattern
from rl_resources.script.bash.expand import Expander
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.state import State
from rl_resources.script.bash.value import Value

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


def both(left: Status, right: Status) -> Status:
    """Whether both hold."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: Status, right: Status) -> Status:
    """Whether one of them holds."""
    return negated(both(negated(left), negated(right)))


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
    if arguments and arguments[0].text == "!":
        return negated(test(arguments[1:]))
    if any(argument.many for argument in arguments) or len(arguments) > 3:
        return None
    if len(arguments) == 1:
        return _filled(arguments[0])
    if len(arguments) == 2:
        return _unary(arguments[0].text, arguments[1])
    return _binary(*arguments) if arguments else False


def _filled(value: Value) -> Status:
    if any(part.text for part in value.parts):
        return True
    return None if decided(value) is None else False


def _unary(sign: str | None, value: Value) -> Status:
    if sign == "-n":
        return _filled(value)
    return negated(_filled(value)) if sign == "-z" else None


def _binary(first: Value, second: Value, third: Value) -> Status:
    left, sign, right = decided(first), second.text, decided(third)
    if left is None or right is None:
        return None
    if sign in ("=", "==", "!="):
        return (left == right) == (sign != "!=")
    return _compared(left, sign or "", right)


def _compared(left: str, sign: str, right: str) -> Status:
    if sign in _NUMERIC and _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return _NUMERIC[sign](int(left), int(right))
    return None


class Conditions(Expander):
    """Evaluates `[[ … ]]`."""

    def double_bracket(self, node: Node, state: State) -> Status:
        """The status of `[[ … ]]`. Every operand is expanded, also one that bash would skip."""
        any_holds: Status = False
        all_hold: Status = True
        for sign, primary, inverted in _flat(node, "", False):
            if sign == "||":
                any_holds, all_hold = either(any_holds, all_hold), True
            status = self._primary(primary, state)
            all_hold = both(all_hold, negated(status) if inverted else status)
        return either(any_holds, all_hold)

    def _primary(self, node: Node, state: State) -> Status:
        kind = node["Type"]
        if kind == "ParenTest":
            return self.double_bracket(node["X"], state)
        if kind == "UnaryTest":
            return _unary(node["Op"], self.value(node["X"], state))
        if kind == "BinaryTest":
            return self._comparison(node, state)
        return _filled(self.value(node, state))

    def _comparison(self, node: Node, state: State) -> Status:
        sign, left = node["Op"], decided(self.value(node["X"], state))
        value = self.value(node["Y"], state)
        if sign in ("=", "==", "!="):
            compiled = self.pattern(node["Y"], state) if decided(value) is not None else None
            status = pattern.matches(compiled, left)
            return negated(status) if sign == "!=" else status
        right = decided(value)
        return None if left is None or right is None else _compared(left, sign, right)


def _flat(node: Node, sign: str, inverted: bool) -> Iterator[tuple[str, Node, bool]]:
    """The primaries in order, each with the `&&` or `||` before it and whether `!` is.

    shfmt lets `!` and `&&` reach to the end; bash binds `!` to one primary and `&&` before `||`.
    """
    if node["Type"] == "UnaryTest" and node["Op"] == "!":
        yield from _flat(node["X"], sign, not inverted)
    elif node["Type"] == "BinaryTest" and node["Op"] in ("&&", "||"):
        yield from _flat(node["X"], sign, inverted)
        yield from _flat(node["Y"], node["Op"], False)
    else:
        yield sign, node, inverted
