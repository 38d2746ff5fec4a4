"""Expands words: parameters, arithmetic and tildes.

Commands in `$(…)` are not followed. Braces, values with spaces that are only a part of a word, and
operators of `${…}` that launch scripts hardly use make a word unknown.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fmod
from typing import Literal

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Part,
    Place,
    Source,
    State,
    Value,
    Word,
    elements_of,
    joined,
    literal,
    lost,
    unknown,
)

Mode = Literal["split", "joined", "quoted"]
"""Where a part is: in a word of a command, in one that is not split, or in double quotes."""

MOST_STEPS = 20_000
_HOME = re.compile(r"(?:[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_OTHERWISE = re.compile(r"\bIFS=|\beval\s")
"""What lets bash split words otherwise, or read them again."""
NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})")
_ASSIGNS = re.compile(r"\+\+|--|[^=<>!]*=")
"""The operators that assign to a variable."""
_ESCAPED_OR_PLAIN = re.compile(r"\\([\s\S]?)|[^\\]+")
_ESCAPED_IN_QUOTES = '$`"\\\n'
"""What loses its backslash in double quotes."""
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: int(left / right),
    "%": lambda left, right: int(fmod(left, right)),
}
"""The operators that launch scripts use; the result of others is unknown. `/` rounds to zero."""

Pieces = list[Part | None]
"""`None` separates words, as the elements of `"${ARRAY[@]}"` are separate."""


class Expander:
    """Expands words against a state. Once the steps are used up nothing counts as known."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps = MOST_STEPS

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        return self.source.place(node["Pos"])

    def raw(self, node: Node) -> str:
        """A node as it is written."""
        return self.source.text[node["Pos"] : node["End"]]

    # Words

    def words(self, node: Node, state: State) -> list[Word]:
        """The words that one word becomes in a command or a list, each with its place."""
        raw = self.raw(node)
        place = self.place(node)
        if self._has_braces(node) and re.search(r",|\.\.", raw):
            return [Word(lost(place, raw), raw, place)]
        pieces = self._expand(node["Parts"], state, "split", start=True)
        return [Word(value, raw, place) for value in _fields(pieces)]

    def _has_braces(self, word: Node) -> bool:
        """Whether a word has a brace outside of quotes."""
        literals = [part for part in word["Parts"] if part["Type"] == "Lit"]
        return any("{" in self.raw(part) for part in literals)

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        pieces = self._expand(word["Parts"], state, "joined", start=True)
        return self._in_one(pieces, word)

    def _in_one(self, pieces: Pieces, node: Node) -> Value:
        """All pieces as one value, with a space at the node between words."""
        space = literal(" ", self.place(node))
        return joined(piece or space for piece in pieces)

    def _expand(
        self, parts: Sequence[Node], state: State, mode: Mode, start: bool = False
    ) -> Pieces:
        """The pieces of parts; at the `start` of a word a tilde stands for HOME."""
        found: Pieces = []
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                at_start = start and index == 0
                found += self._literal(node, mode, at_start)
            else:
                found += self._part(node, state, mode)
        self._take_steps(found)
        return found

    def _take_steps(self, pieces: Pieces) -> None:
        """Use up steps for many pieces, or for long ones."""
        length = sum(len(piece.text or "") for piece in pieces if piece)
        self.steps -= 1
        self.steps -= len(pieces) // 4
        self.steps -= length // 1024

    def _part(self, node: Node, state: State, mode: Mode) -> Pieces:
        match node["Type"]:
            case "SglQuoted":
                return [self._single_quoted(node, mode)]
            case "DblQuoted":
                return self._double_quoted(node, state)
            case "ParamExp":
                return self._parameter(node, state, mode)
            case "ArithmExp":
                return [self._arithmetic(node, state)]
        return [self._missing(node)]

    def _double_quoted(self, node: Node, state: State) -> Pieces:
        parts = node.get("Parts", ())
        found = self._expand(parts, state, "quoted")
        if parts and all(_all_of(part) == "@" for part in parts):
            return found  # `"$@"` without arguments is no word, while `""` is one
        if all(piece and piece.text == "" for piece in found):
            found.append(literal("", self.place(node)))
        return found

    def _arithmetic(self, node: Node, state: State) -> Part:
        number = self.number(node.get("X"), state)
        if number is None:
            return self._missing(node)
        return literal(str(number), self.place(node))

    def _missing(self, node: Node) -> Part:
        """An expansion that is unknown."""
        return unknown(self.place(node), self.raw(node), _name_of(node))

    def _single_quoted(self, node: Node, mode: Mode) -> Part:
        opening = "$'" if node.get("Dollar") else "'"
        start = node["Pos"] + len(opening)
        end = node["End"] - len("'")
        body = self.source.text[start:end]
        has_escapes = opening == "$'" and "\\" in body
        if mode == "quoted" or has_escapes:
            return self._missing(node)
        return literal(body, self.source.place(start))

    def _literal(self, node: Node, mode: Mode, start: bool) -> Pieces:
        """A literal without its backslashes, cut at them and at the tilde that is HOME."""
        found: Pieces = []
        raw = self.raw(node)
        offset = node["Pos"]
        home = _HOME.match(raw) if start else None
        if home:
            found.append(unknown(self.place(node), home[0], "HOME"))
            raw = raw[home.end() :]
            offset += home.end()
        for match in _ESCAPED_OR_PLAIN.finditer(raw):
            place = self.source.place(offset + match.start())
            escaped = match[1]
            if escaped is None or (mode == "quoted" and escaped not in _ESCAPED_IN_QUOTES):
                found += self._cut(literal(match[0], place), mode)
            elif escaped.strip("\n"):  # shfmt ends a literal at a backslash before a line's end
                found.append(literal(escaped, place))
        return found

    def _cut(self, part: Part, mode: Mode) -> Pieces:
        """A part outside of quotes cut at its spaces, each piece with its place."""
        text = part.text
        if mode != "split" or text is None:
            return [part]
        if text == "" and not part.default:
            return []
        if not re.search(r"[ \t\n]", text):
            return [part]
        if _OTHERWISE.search(self.source.text):
            return [part._replace(text=None, source=text)]
        found: Pieces = []
        for match in re.finditer(r"[^ \t\n]+|[ \t\n]+", text):
            if match[0].isspace():
                found.append(None)
            else:
                place = self._place_in(part, match)
                found.append(part._replace(text=match[0], origin=place))
        return found

    def _place_in(self, part: Part, match: re.Match[str]) -> Place:
        """Where a piece of a part is defined; the beginning of the part if it is not as written."""
        offset = part.origin.offset + match.start()
        if self.source.text.startswith(match[0], offset):
            return self.source.place(offset)
        return part.origin

    # Parameters

    def _parameter(self, node: Node, state: State, mode: Mode) -> Pieces:
        if self.steps <= 0 or node.get("Excl") or node.get("Length"):
            return [self._missing(node)]
        if _all_of(node):
            return self._all(node, state, mode)
        value = self._found(node, state)
        operation = _operator(node)
        if not operation:
            return self._shown(node, value, mode)
        if operation.removeprefix(":") not in ("-", "+", "="):
            return [self._missing(node)]
        found = self._conditional(node, value, state, mode)
        if operation.endswith("="):
            state.variables[_name_of(node)] = self._in_one(found, node)
        return found

    def _shown(self, node: Node, value: Value | None, mode: Mode) -> Pieces:
        """A value where the parameter is; a value of one part moves there."""
        if value is None:
            return []
        name = _name_of(node)
        parts = [part._replace(name=name) for part in value.parts]
        if len(parts) == 1:
            parts = [parts[0]._replace(place=self.place(node))]
        found: Pieces = []
        for part in parts:
            found += self._cut(part, mode)
        return found

    def _found(self, node: Node, state: State) -> Value | None:
        """What the name stands for, `None` for nothing; an element of an array is unknown."""
        name = _name_of(node)
        if name in state.variables and not node.get("Index"):
            content = state.variables[name]
            if not isinstance(content, tuple):
                return content
        return Value((self._missing(node),))

    def _conditional(self, node: Node, value: Value | None, state: State, mode: Mode) -> Pieces:
        """`-`, `=` and `+`: what is taken depends on whether the variable is set, or empty."""
        operation = _operator(node)
        has_default = _name_of(node) not in state.variables
        present: bool | None = False
        if not has_default:
            present = _present(value, empty_counts=":" not in operation)
        if present is None:
            return [self._missing(node)]
        wants_present = "+" in operation
        if present and not wants_present:
            return self._shown(node, value, mode)
        taken: Sequence[Node] = ()
        word = node["Exp"].get("Word")
        if word and present == wants_present:
            taken = word.get("Parts", ())
        starts_word = mode != "quoted"
        pieces = self._expand(taken, state, mode, starts_word)
        if not pieces:
            empty = literal("", self.place(node))
            pieces = self._cut(empty._replace(default=has_default), mode)
        if not has_default:
            return pieces
        found: Pieces = []
        for piece in pieces:
            if piece:
                found.append(piece._replace(default=True))
            else:
                found.append(None)
        return found

    def _all(self, node: Node, state: State, mode: Mode) -> Pieces:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`."""
        name = _name_of(node)
        if name not in state.variables or _operator(node):
            return [self._missing(node)]
        between: Part | None = literal(" ", self.place(node))
        if _all_of(node) == "@" or mode == "split":
            between = None
        empty = literal("", self.place(node))
        found: Pieces = []
        for index, value in enumerate(elements_of(state.variables[name])):
            if index > 0:
                found.append(between)
            for part in value.parts or (empty,):
                found += self._cut(part, mode)
        return found

    # Arithmetic

    def number(self, node: Node | None, state: State) -> int | None:
        """The value of an expression. A variable that it assigns is unknown from then on."""
        if node is None:
            return None
        if "Parts" in node:
            return self._operand(node, state)
        left = self.number(node["X"], state)
        right = self.number(node.get("Y"), state)
        sign = node.get("Op", "")
        if not sign:  # parentheses
            return left
        if sign in _ARITHMETIC:
            return _result(sign, left, right)
        if _ASSIGNS.fullmatch(sign):
            name = NAME.match(self.raw(node["X"]))
            if name:
                state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node, state: State) -> int | None:
        """A number as it is written, or that of a variable by its bare name."""
        name = self.raw(word)
        if NAME.fullmatch(name):
            named = {**word, "Param": {"Value": name}}
            value = self._found(named, state)
        else:
            value = self.value(word, state)
        if value is None:
            return 0
        if value.text is None:
            return None
        text = value.text.strip() or "0"
        if not _NUMBER.fullmatch(text):
            return None
        return int(text)


def _result(sign: str, left: int | None, right: int | None) -> int | None:
    """What an operator makes of two numbers; `None` if one is not known, or of a division by 0."""
    if left is None or right is None:
        return None
    if right == 0 and sign in ("/", "%"):
        return None
    return _ARITHMETIC[sign](left, right)


def _name_of(node: Node) -> str:
    """The name of a parameter; empty for what is none."""
    parameter = node.get("Param") or {}
    return str(parameter.get("Value", ""))


def _all_of(node: Node) -> str:
    """`@` or `*` of a parameter that stands for all elements or arguments, otherwise empty."""
    name = _name_of(node)
    if name in ("@", "*"):
        return name
    index = node.get("Index") or {}
    parts: Sequence[Node] = index.get("Parts") or ()
    if len(parts) != 1:
        return ""
    text = str(parts[0].get("Value", ""))
    if text not in ("@", "*"):
        return ""
    return text


def _operator(node: Node) -> str:
    """What follows the name: `:-`, `%`, `//`, `:` and so on."""
    if node.get("Slice"):
        return ":"
    if node.get("Repl"):
        return "/"
    expansion = node.get("Exp") or {}
    return str(expansion.get("Op", ""))


def _present(value: Value | None, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` if that is unknown."""
    if value is None:
        return False
    if any(part.text for part in value.parts):
        return True
    if value.text is None:
        return None
    return empty_counts


def _fields(pieces: Pieces) -> Iterator[Value]:
    """The words of pieces; a pattern stays as it is written."""
    current: list[Part] = []
    for piece in [*pieces, None]:
        if piece is not None:
            current.append(piece)
            continue
        if not all(_is_empty_default(part) for part in current):
            yield joined(current)
        current = []


def _is_empty_default(part: Part) -> bool:
    """Whether a part is the default of a setting that is empty, and then no word."""
    return part.default and part.text == ""
