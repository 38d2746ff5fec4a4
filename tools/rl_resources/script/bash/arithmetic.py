"""Shell arithmetic over 64-bit numbers: `$((…))`, `((…))`, `let` and subscripts."""

from __future__ import annotations

import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.state import State, any_number
from rl_resources.script.bash.trace import Trace
from rl_resources.script.bash.value import Part, Place, Source, Value, unknown

_SIGN = 1 << 63
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))")
_ASSIGNS = re.compile(r"\+\+|--|[^=<>!]=(?!=)|(?:<<|>>)=")


def _divided(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    ",": lambda left, right: right,
    "&&": lambda left, right: bool(left and right),
    "||": lambda left, right: bool(left or right),
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "<<": lambda left, right: left << (right % 64),
    ">>": lambda left, right: left >> (right % 64),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": lambda left, right: left - _divided(left, right) * right,
    "**": lambda left, right: pow(left, right, 2 * _SIGN),
}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": operator.not_,
    "~": operator.invert,
}
_COMPARISONS = frozenset({"==", "!=", "<=", ">="})


class Arithmetic(Trace):
    """Evaluates arithmetic; a number is `None` where it is unknown or bash reports an error."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._read: list[Value] = []

    @abstractmethod
    def value(self, word: Node, state: State) -> Value:
        """A word that is not split."""

    def expression(self, node: Node, state: State) -> Part:
        """`$((…))` as a part of a word."""
        number, read = self._evaluated(node.get("X"), state)
        place = self.place(node)
        if number is None:
            reasons = [part.reason for value in read if (part := value.unknown)]
            return unknown(place, self.raw(node), (reasons or ["form"])[0] or "form")
        return Part(str(number), place, place, default=any(value.default for value in read))

    def number(self, node: Node | None, state: State) -> int | None:
        """The value of an expression; its assignments are made. An empty one is 0."""
        return self._evaluated(node, state)[0]

    def _evaluated(self, node: Node | None, state: State) -> tuple[int | None, list[Value]]:
        """The value of an expression, and the values that it reads."""
        outer, self._read = self._read, []
        number = None if self._is_mixed(node) else self._number(node, state)
        if node is not None and number is None:
            self._lose_in(node, state)
        read, self._read = self._read, outer
        return number, read

    def _is_mixed(self, node: Node | None) -> bool:
        """Whether it expands `$NAME`, as bash does before anything is evaluated, and assigns."""
        raw = self.raw(node) if node else ""
        return "$" in raw and bool(_ASSIGNS.search(raw))

    def _number(self, node: Node | None, state: State) -> int | None:
        if node is None:
            return 0
        kind = node["Type"]
        if kind == "ParenArithm":
            return self._number(node["X"], state)
        if kind == "UnaryArithm":
            return self._unary(node, state)
        if kind == "BinaryArithm":
            return self._binary(node, state)
        return self._operand(node, state)

    def _unary(self, node: Node, state: State) -> int | None:
        sign, value = node["Op"], self._number(node["X"], state)
        if sign not in ("++", "--"):
            return None if value is None else wrapped(_UNARY[sign](value))
        changed = None if value is None else wrapped(value + (1 if sign == "++" else -1))
        self._store(node["X"], changed, state)
        return value if node.get("Post") else changed

    def _binary(self, node: Node, state: State) -> int | None:
        sign = node["Op"]
        if sign.endswith("=") and sign not in _COMPARISONS:
            left = 0 if sign == "=" else self._number(node["X"], state)
            right = self._number(node["Y"], state)
            value = right if sign == "=" else _applied(sign[:-1], left, right)
            self._store(node["X"], value, state)
            return value
        left = self._number(node["X"], state)
        if sign == "?":
            return self._chosen(left, node["Y"], state)
        if sign in ("&&", "||"):
            return self._decided(sign, left, node["Y"], state)
        return _applied(sign, left, self._number(node["Y"], state))

    def _chosen(self, condition: int | None, node: Node, state: State) -> int | None:
        if condition is None:
            self._lose_in(node, state)
            return None
        return self._number(node["X" if condition else "Y"], state)

    def _decided(self, sign: str, left: int | None, node: Node, state: State) -> int | None:
        """`&&` and `||`, where the right side is evaluated only if it counts."""
        if left is None:
            self._lose_in(node, state)
            return None
        if bool(left) == (sign == "||"):
            return int(bool(left))
        return _applied(sign, left, self._number(node, state))

    def _lose_in(self, node: Node, state: State) -> None:
        """Of an expression that assigns, all variables are unknown."""
        self._lose(self.raw(node), self.place(node), state)

    def _lose(self, text: str, place: Place, state: State) -> None:
        for name in _NAME.findall(text) if _ASSIGNS.search(text) else ():
            state.lose(name, place, "conditional")

    def _operand(self, word: Node, state: State) -> int | None:
        parts: Sequence[Node] = word["Parts"]
        first: Node = parts[0] if len(parts) == 1 else {"Type": ""}
        if first["Type"] == "Lit":
            text = self.source.text[first["Pos"] : first["End"]].replace("\\\n", "")
            return self._variable(text, word, state) if _NAME.fullmatch(text) else parsed(text)
        value = self.value(word, state)
        self._read.append(value)
        number = None if value.text is None else self._number_of(value.text, state)
        if number is None:
            self._lose(value.shown, self.place(word), state)
        return number

    def _variable(self, name: str, word: Node, state: State) -> int | None:
        self.note_reference(name, word, state, bare=True)
        variable = state.variables.get(name)
        content = variable.content if variable else None
        if isinstance(content, tuple):
            return None
        if variable is None:
            self._read.append(Value((unknown(self.place(word), name, "environment"),)))
            return None
        self._read.append(content or Value())
        text = (content or Value()).text
        return None if text is None else self._number_of(text, state)

    def _number_of(self, text: str, state: State, depth: int = 8) -> int | None:
        """The number that a text holds, itself or by the name of a variable."""
        text = text.strip()
        if not text or not _NAME.fullmatch(text):
            return parsed(text)
        variable = state.variables.get(text)
        content = variable.content if variable else None
        known = depth and isinstance(content, Value) and content.text is not None
        return self._number_of(content.text, state, depth - 1) if known else None  # type: ignore

    def _store(self, word: Node, number: int | None, state: State) -> None:
        (target,) = word["Parts"][:1]
        name = target.get("Value") or target.get("Param", {}).get("Value", "")
        place = self.place(word)
        default = any(value.default for value in self._read)
        part = Part(str(number), place, place, default=default)
        value = Value((part if number is not None else unknown(place, f"${{{name}}}", "form"),))
        state.set(name, any_number(value) if "Index" in target else value, place)


def _applied(sign: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if (sign in ("/", "%") and right == 0) or (sign == "**" and right < 0):
        return None
    return wrapped(int(_BINARY[sign](left, right)))


def wrapped(value: int) -> int:
    """A number as a signed one of 64 bits."""
    return (value + _SIGN) % (2 * _SIGN) - _SIGN


def parsed(text: str) -> int | None:
    """The number that is written, decimal, `0x…` or octal `0…`; nothing is 0."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > 99:
        return None if text else 0
    sign, hexadecimal, octal, decimal = match.groups()
    if octal is not None:
        number = int(octal or "0", 8)
    else:
        number = int(hexadecimal or decimal, 16 if hexadecimal else 10)
    return wrapped(-number if sign == "-" else number)
