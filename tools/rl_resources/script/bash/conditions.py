"""What decides branches: arithmetic, `test`, `[ … ]` and `[[ … ]]`; `None` is unknown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from rl_resources.script.bash.expand import LONGEST_MATCHED, Expander
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import Part, Source, Value, unknown
from rl_resources.script.bash.state import State

Status = bool | None
"""Whether a command succeeds; `None` where that is unknown."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_PLACEHOLDER = re.compile(r"(?i)[{<][^{}<>]*(?:your|path|name|here)[^{}<>]*[}>]")


def _divided(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": lambda left, right: left - _divided(left, right) * right,
}
"""The operators that launch scripts use; the result of others is unknown."""
_ASSIGNS = re.compile(r"\+\+|--|[^=<>!]*=")
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


def either(left: Status, right: Status) -> Status:
    """Whether one of them is true."""
    return True if True in (left, right) else None if None in (left, right) else False


def decided(value: Value) -> str | None:
    """The text that a condition may rely on.

    A setting that the script leaves empty is meant to come from outside, and one that holds
    `{your_path}` or `<path>` to be written over, so they decide nothing.
    """
    text = value.text or ""
    left_open = value.default if not text else value.names and _PLACEHOLDER.search(text)
    return None if left_open else value.text


def matches(pattern: str | None, text: str | None) -> Status:
    """Whether the whole text matches a pattern of `fnmatch`."""
    if pattern is None or text is None or len(text) > LONGEST_MATCHED:
        return None
    return fnmatchcase(text, pattern)


def test(arguments: Sequence[Value]) -> Status:
    """The status of `test` with these arguments."""
    if any(argument.many for argument in arguments) or len(arguments) not in (2, 3):
        return None
    if len(arguments) == 2:
        return _unary(arguments[0].text, arguments[1])
    return _compared(arguments[0], arguments[1].text or "", arguments[2])


def _filled(value: Value) -> Status:
    if any(part.text for part in value.parts):
        return True
    return None if decided(value) is None else False


def _unary(sign: str | None, value: Value) -> Status:
    if sign == "-n":
        return _filled(value)
    return negated(_filled(value)) if sign == "-z" else None


def _compared(first: Value, sign: str, third: Value) -> Status:
    left, right = decided(first), decided(third)
    if left is None or right is None:
        return None
    if sign in ("=", "==", "!="):
        return (left == right) == (sign != "!=")
    if sign in _NUMERIC and _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return _NUMERIC[sign](int(left), int(right))
    return None


class Conditions(Expander):
    """Evaluates arithmetic and `[[ … ]]`."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._operands: list[Value] = []

    # Arithmetic

    def expression(self, node: Node, state: State) -> Part:
        """`$((…))` as a part of a word."""
        outer, self._operands = self._operands, []
        number, place = self.number(node.get("X"), state), self.place(node)
        operands, self._operands = self._operands, outer
        if number is None:
            first = next(filter(None, (value.unknown for value in operands)), None)
            return unknown(place, self.raw(node), (first and first.reason) or "form")
        return Part(str(number), place, place, default=any(value.default for value in operands))

    def number(self, node: Node | None, state: State) -> int | None:
        """The value of an expression; a variable that it assigns is unknown from then on."""
        if node is None:
            return None
        kind = node["Type"]
        if kind == "ParenArithm":
            return self.number(node["X"], state)
        if kind not in ("BinaryArithm", "UnaryArithm"):
            return self._operand(node, state)
        left, right = self.number(node["X"], state), self.number(node.get("Y"), state)
        operation = _ARITHMETIC.get(node["Op"])
        if operation and left is not None and right is not None:
            return operation(left, right) if right or node["Op"] not in "/%" else None
        if name := _ASSIGNS.fullmatch(node["Op"]) and _NAME.match(self.raw(node["X"])):
            state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node, state: State) -> int | None:
        name = self.raw(word)
        if _NAME.fullmatch(name):
            self.note_reference(name, word, state)
            variable = state.variables.get(name)
            missing = Value((unknown(self.place(word), name, "environment"),))
            content = variable.content or Value() if variable else missing
            value = missing if isinstance(content, tuple) else content
        else:
            value = self.value(word, state)
        self._operands.append(value)
        text = "?" if value.text is None else value.text.strip()
        return int(text or 0) if _NUMBER.fullmatch(text or "0") else None

    # `[[ … ]]`

    def double_bracket(self, node: Node, state: State) -> Status:
        """The status of `[[ … ]]`; of several conditions in one it is unknown."""
        kind, sign = node["Type"], node.get("Op")
        if kind == "BinaryTest" and sign not in ("&&", "||"):
            return self._comparison(node, state)
        if kind == "UnaryTest" and sign != "!":
            return _unary(sign, self.value(node["X"], state))
        if "Parts" in node:
            return _filled(self.value(node, state))
        for side in ("X", "Y"):
            if side in node:
                self.double_bracket(node[side], state)
        return None

    def _comparison(self, node: Node, state: State) -> Status:
        sign, left, right = node["Op"], self.value(node["X"], state), self.value(node["Y"], state)
        if sign not in ("=", "==", "!="):
            return _compared(left, sign, right)
        pattern = self.pattern(node["Y"], state) if decided(right) is not None else None
        status = matches(pattern, decided(left))
        return negated(status) if sign == "!=" else status
