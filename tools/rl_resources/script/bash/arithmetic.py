"""Shell arithmetic: the whole integer grammar of `$((…))` over 64-bit numbers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Protocol

DEEPEST = 40
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9A-Za-z_@#]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|\+\+|--|<<=|>>=|[-+*/%&|^]=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>=!~&|^?:,()\[\]]))"
)
_NUMBER = re.compile(r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0(?P<octal>[0-7]*)|(?P<decimal>[1-9][0-9]*))")
_BASED = re.compile(r"(?P<base>[1-9][0-9]?)#(?P<digits>[0-9A-Za-z@_]+)")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"
_SIGN = 1 << 63


class Variables(Protocol):
    """What an expression reads and writes. `None` as text means that it cannot be known."""

    def number_text(self, name: str, key: int | None) -> str | None:
        """The text of a variable, or of the element at `key`."""

    def set_number(self, name: str, key: int | None, value: int) -> None:
        """Assign the result of an assignment operator."""


class _UnknownNumber(Exception):  # noqa: N818
    """The expression has no value that could be told."""


def evaluate(text: str, variables: Variables) -> int | None:
    """The value of an expression whose expansions were made; an empty one is 0.

    `None` where a variable is unknown or bash would report an error.
    """
    try:
        return _Expression(text, variables, 0).value()
    except _UnknownNumber:
        return None


def assigned_names(text: str) -> frozenset[str]:
    """The variables that an expression may assign."""
    found = re.findall(
        r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))"
        r"|(?:\+\+|--)\s*([A-Za-z_]\w*)",
        text,
    )
    return frozenset(name for names in found for name in names if name)


def wrapped(value: int) -> int:
    """`value` as a signed 64-bit number."""
    return (value + _SIGN) % (2 * _SIGN) - _SIGN


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise _UnknownNumber
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(left: int, right: int) -> int:
    if right < 0:
        raise _UnknownNumber
    return pow(left, right, 2 * _SIGN)


_BINARY: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (4, lambda left, right: left or right),
    "&&": (5, lambda left, right: left and right),
    "|": (6, operator.or_),
    "^": (7, operator.xor),
    "&": (8, operator.and_),
    "==": (9, operator.eq),
    "!=": (9, operator.ne),
    "<": (10, operator.lt),
    ">": (10, operator.gt),
    "<=": (10, operator.le),
    ">=": (10, operator.ge),
    "<<": (11, lambda left, right: left << (right % 64)),
    ">>": (11, lambda left, right: left >> (right % 64)),
    "+": (12, operator.add),
    "-": (12, operator.sub),
    "*": (13, operator.mul),
    "/": (13, _divided),
    "%": (13, lambda left, right: left - _divided(left, right) * right),
    "**": (14, _power),
}
_LOGICAL = ("&&", "||", "==", "!=", "<", ">", "<=", ">=")
_ASSIGNMENTS = frozenset(f"{sign}=" for sign in ("", *"*/%+-&^|", "<<", ">>"))
_TERNARY, _ASSIGN = 3, 2


class _Expression:
    """Precedence climbing. What stands in a branch not taken is read but not evaluated."""

    def __init__(self, text: str, variables: Variables, depth: int) -> None:
        self._variables = variables
        self._outer = depth
        self._depth = depth
        self._active = True
        self._tokens = _tokens(text)
        self._at = 0

    def value(self) -> int:
        if len(self._tokens) == 1:
            return 0
        value = self._comma()
        self._expect("")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1]

    def _take(self) -> tuple[str, str]:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _expect(self, text: str) -> None:
        if self._take()[1] != text:
            raise _UnknownNumber

    def _comma(self) -> int:
        value = self._expression(_ASSIGN)
        while self._peek() == ",":
            self._at += 1
            value = self._expression(_ASSIGN)
        return value

    def _expression(self, least: int) -> int:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _UnknownNumber
        value = self._unary()
        while True:
            sign = self._peek()
            if sign == "?" and least <= _TERNARY:
                value = self._ternary(value)
            elif sign in _BINARY and _BINARY[sign][0] >= least:
                value = self._binary(sign, value)
            else:
                break
        self._depth -= 1
        return value

    def _binary(self, sign: str, left: int) -> int:
        self._at += 1
        level, apply = _BINARY[sign]
        decided = (sign == "&&" and not left) or (sign == "||" and left != 0)
        least = level if sign == "**" else level + 1
        right = self._skipping(decided, lambda: self._expression(least))
        if not self._active:
            return 0
        if sign in _LOGICAL:
            return int(bool(apply(left, right)))
        return wrapped(apply(left, right))

    def _skipping(self, skip: bool, read: Callable[[], int]) -> int:
        was, self._active = self._active, self._active and not skip
        value = read()
        self._active = was
        return value

    def _ternary(self, condition: int) -> int:
        self._at += 1
        first = self._skipping(not condition, self._comma)
        self._expect(":")
        second = self._skipping(condition != 0, lambda: self._expression(_TERNARY))
        return first if condition else second

    def _unary(self) -> int:
        kind, text = self._take()
        if kind == "number":
            return _number(text)
        if kind == "name":
            return self._name(text)
        if text == "(":
            value = self._comma()
            self._expect(")")
            return value
        if text in ("++", "--") and self._tokens[self._at][0] == "name":
            return self._changed_first(1 if text == "++" else -1)
        if text not in ("-", "+", "!", "~"):
            raise _UnknownNumber
        value = self._expression(15)
        return {"-": wrapped(-value), "+": value, "!": int(not value), "~": ~value}[text]

    def _key(self) -> int | None:
        if self._peek() != "[":
            return None
        self._at += 1
        key = self._comma()
        self._expect("]")
        return key

    def _changed_first(self, step: int) -> int:
        name = self._take()[1]
        key = self._key()
        return self._store(name, key, self._read(name, key) + step)

    def _name(self, name: str) -> int:
        key = self._key()
        sign = self._peek()
        if sign in ("++", "--"):
            self._at += 1
            value = self._read(name, key)
            self._store(name, key, value + (1 if sign == "++" else -1))
            return value
        if sign in _ASSIGNMENTS:
            self._at += 1
            left = 0 if sign == "=" else self._read(name, key)
            right = self._expression(_ASSIGN)
            if sign != "=" and self._active:
                right = _BINARY[sign[:-1]][1](left, right)
            return self._store(name, key, right)
        return self._read(name, key)

    def _read(self, name: str, key: int | None) -> int:
        if not self._active:
            return 0
        text = self._variables.number_text(name, key)
        if text is None or self._depth >= DEEPEST:
            raise _UnknownNumber
        return _Expression(text, self._variables, self._depth + 1).value()

    def _store(self, name: str, key: int | None, value: int) -> int:
        if self._active:
            self._variables.set_number(name, key, wrapped(value))
        return wrapped(value)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    text = text.strip()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _UnknownNumber
        kind, at = str(match.lastgroup), match.end()
        token = match[kind]
        if token in ("++", "--") and not _steps(found, text[at:].lstrip()[:1]):
            token, at = token[0], at - 1
        found.append((kind, token))
    return [*found, ("end", "")]


def _steps(before: list[tuple[str, str]], after: str) -> bool:
    """Whether `++` or `--` is one operator here: it follows a variable or stands before one."""
    follows = bool(before) and (before[-1][0] == "name" or before[-1][1] == "]")
    return follows or after.isalpha() or after == "_"


def _number(text: str) -> int:
    match = _NUMBER.fullmatch(text)
    if match:
        digits, base = (
            (match["hex"], 16) if match["hex"] else (match["octal"] or match["decimal"], 10)
        )
        if match["decimal"] is None and not match["hex"]:
            base = 8
        return wrapped(int(digits or "0", base)) if len(digits or "") < 1000 else _refuse()
    match = _BASED.fullmatch(text)
    return _based(int(match["base"]), match["digits"]) if match else _refuse()


def _based(base: int, digits: str) -> int:
    if not 2 <= base <= 64 or len(digits) > 100:
        raise _UnknownNumber
    value = 0
    for digit in digits if base > 36 else digits.lower():
        worth = _DIGITS.index(digit)
        if worth >= base:
            raise _UnknownNumber
        value = value * base + worth
    return wrapped(value)


def _refuse() -> int:
    raise _UnknownNumber
