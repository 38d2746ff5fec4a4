"""Expands words: parameters, arithmetic and tildes.

Commands in `$(…)` are not followed. Braces, values with spaces that are only a part of a word, and
operators of `${…}` that launch scripts hardly use make a word unknown.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import fmod
from typing import Literal

from rl_resources.script.bash.parser import Node, name_of, operator_of
from rl_resources.script.bash.script import (
    Content,
    Part,
    Place,
    SourceText,
    State,
    Value,
    Word,
    elements_of,
    joined,
    literal,
    unknown,
    unknown_value,
)

Mode = Literal["split", "joined", "quoted"]
"""Where a part is: in a word of a command, in one that is not split, or in double quotes."""

MOST_STEPS = 20_000
_BRACES = re.compile(r"\{[\s\S]*(?:,|\.\.)")
"""Braces that become several words, outside of quotes."""
_HOME = re.compile(r"(?:[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_OTHERWISE = re.compile(r"\bIFS=|\beval\s")
"""What lets bash split words otherwise, or read them again."""
NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})")
_BLANK = re.compile(r"[ \t\n]")
_BLANKS_OR_WORD = re.compile(r"[^ \t\n]+|[ \t\n]+")
_OUTSIDE_QUOTES = re.compile(r"\\([\s\S]?)|[^\\]+")
_IN_QUOTES = re.compile(r"\\([$`\"\\\n]|\Z)|(?:[^\\]|\\(?![$`\"\\\n]|\Z))+")
"""A character after its backslash, or what has none. A literal of shfmt may end in a backslash, in
front of the end of the line."""
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

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.state = State()
        self.steps = MOST_STEPS

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        return self.source.place(node["Pos"])

    def raw(self, node: Node) -> str:
        """A node as it is written."""
        return self.source.text[node["Pos"] : node["End"]]

    # Words

    def words(self, node: Node) -> list[Word]:
        """The words that one word becomes in a command or a list, each with its place."""
        raw = self.raw(node)
        place = self.place(node)
        literals = [self.raw(part) for part in node["Parts"] if part["Type"] == "Lit"]
        if _BRACES.search("".join(literals)):
            return [Word(unknown_value(place, raw), raw, place)]
        pieces = self._expand(node["Parts"], "split", starts_word=True)
        return [Word(value, raw, place) for value in _fields(pieces)]

    def value(self, word: Node) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        return self._in_one(
            self._expand(word["Parts"], "joined", starts_word=True), word
        )

    def _in_one(self, pieces: Pieces, node: Node) -> Value:
        """All pieces as one value, with a space at the node between words."""
        return joined(piece or literal(" ", self.place(node)) for piece in pieces)

    def _expand(
        self, parts: Sequence[Node], mode: Mode, *, starts_word: bool
    ) -> Pieces:
        """The pieces of parts; at the start of a word a tilde stands for HOME."""
        found: Pieces = []
        for node in parts:
            if starts_word and node["Type"] == "Lit":
                home = _HOME.match(self.raw(node))
                if home:
                    place = self.place(node)
                    found.append(unknown(place, home[0], "HOME"))
                    node = {**node, "Pos": place.offset + home.end()}
            found += self._part(node, mode)
            starts_word = False
        length = sum(len(piece.marked) for piece in found if piece)
        self.steps -= 1 + len(found) // 4 + length // 1024
        return found

    def _part(self, node: Node, mode: Mode) -> Pieces:
        match node["Type"]:
            case "Lit":
                return self._literal(node, mode)
            case "SglQuoted":
                return [self._single_quoted(node, mode)]
            case "DblQuoted":
                return self._double_quoted(node)
            case "ParamExp":
                return self._parameter(node, mode)
            case "ArithmExp":
                return [self._arithmetic(node)]
        return [self._missing(node)]

    def _double_quoted(self, node: Node) -> Pieces:
        parts = node.get("Parts", ())
        found = self._expand(parts, "quoted", starts_word=False)
        if parts and all(self._every(part) == "@" for part in parts):
            return found  # `"$@"` without arguments is no word, while `""` is one
        if all(piece and piece.text == "" for piece in found):
            found.append(literal("", self.place(node)))
        return found

    def _arithmetic(self, node: Node) -> Part:
        number = self.number(node.get("X"))
        if number is None:
            return self._missing(node)
        return literal(str(number), self.place(node))

    def _missing(self, node: Node) -> Part:
        """An expansion that is unknown."""
        return unknown(self.place(node), self.raw(node), name_of(node))

    def _single_quoted(self, node: Node, mode: Mode) -> Part:
        dollar, _, body = self.raw(node).removesuffix("'").partition("'")
        if mode == "quoted" or (dollar and "\\" in body):
            return self._missing(node)
        return literal(body, self.source.place(node["Pos"] + len(dollar) + 1))

    def _literal(self, node: Node, mode: Mode) -> Pieces:
        """A literal without its backslashes, cut at them."""
        found: Pieces = []
        pattern = _IN_QUOTES if mode == "quoted" else _OUTSIDE_QUOTES
        for match in pattern.finditer(self.raw(node)):
            place = self.source.place(node["Pos"] + match.start())
            escaped = match[1]
            if escaped is None:
                found += self._cut(literal(match[0], place), mode)
            elif escaped.strip("\n"):
                found.append(literal(escaped, place))
        return found

    def _cut(self, part: Part, mode: Mode) -> Pieces:
        """A part outside of quotes cut at its spaces, each piece with its place."""
        text = part.text
        if mode != "split" or text is None:
            return [part]
        if text == "" and not part.default:
            return []
        if not _BLANK.search(text):
            return [part]
        if _OTHERWISE.search(self.source.text):
            return [part._replace(text=None, source=text)]
        found: Pieces = []
        for match in _BLANKS_OR_WORD.finditer(text):
            if match[0].isspace():
                found.append(None)
                continue
            place = self.source.place_in(part, match.start())
            found.append(part._replace(text=match[0], origin=place))
        return found

    # Parameters

    def _parameter(self, node: Node, mode: Mode) -> Pieces:
        if self.steps <= 0 or node.get("Excl") or node.get("Length"):
            return [self._missing(node)]
        if self._every(node):
            return self._all(node, mode)
        value = self._content(node)
        operation = operator_of(node)
        if not operation:
            return self._moved_here(node, value, mode)
        if operation.removeprefix(":") not in ("-", "+", "="):
            return [self._missing(node)]
        found = self._conditional(node, value, mode)
        if operation.endswith("="):
            self.state.variables[name_of(node)] = self._in_one(found, node)
        return found

    def _moved_here(self, node: Node, value: Value | None, mode: Mode) -> Pieces:
        """A value where the parameter is; a value of one part moves there."""
        if value is None:
            return []
        is_whole = len(value.parts) == 1
        found: Pieces = []
        for part in value.parts:
            named = part._replace(name=name_of(node))
            if is_whole:
                named = named._replace(place=self.place(node))
            found += self._cut(named, mode)
        return found

    def _content(self, node: Node) -> Value | None:
        """What the name stands for, `None` for nothing; an element of an array is unknown."""
        content: Content = ()
        if not node.get("Index"):
            content = self.state.variables.get(name_of(node), ())
        if isinstance(content, tuple):
            return Value((self._missing(node),))
        return content

    def _conditional(self, node: Node, value: Value | None, mode: Mode) -> Pieces:
        """`${N-W}`, `${N=W}` and `${N+W}`: the value of `N` or the word `W`, by whether `N` is set.

        With a colon an empty one counts as not set. One that the script does not set is left to the
        environment: then the word is a default.
        """
        operation = operator_of(node)
        is_left_open = name_of(node) not in self.state.variables
        is_set: bool | None = False
        if not is_left_open:
            is_set = _present(value, empty_counts=":" not in operation)
        if is_set is None:
            return [self._missing(node)]
        if is_set and "+" not in operation:
            return self._moved_here(node, value, mode)
        word = None
        if is_set == ("+" in operation):
            word = node["Exp"].get("Word")
        parts = (word or {}).get("Parts", ())
        pieces = self._expand(parts, mode, starts_word=mode != "quoted")
        if not pieces and (is_left_open or mode != "split"):
            pieces = [literal("", self.place(node))]
        if is_left_open:
            return [piece and piece._replace(default=True) for piece in pieces]
        return pieces

    def _every(self, node: Node) -> str:
        """`@` or `*` of a parameter that stands for all there are, otherwise empty."""
        which = node.get("Index") or node.get("Param")
        if which and self.raw(which) in ("@", "*"):
            return self.raw(which)
        return ""

    def _all(self, node: Node, mode: Mode) -> Pieces:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`."""
        name = name_of(node)
        if name not in self.state.variables or operator_of(node):
            return [self._missing(node)]
        place = self.place(node)
        between = None
        if mode == "quoted" and self._every(node) == "*":
            between = literal(" ", place)
        found: Pieces = []
        for value in elements_of(self.state.variables[name]):
            found.append(between)
            for part in value.parts or (literal("", place),):
                found += self._cut(part, mode)
        return found[1:]

    # Arithmetic

    def number(self, node: Node | None) -> int | None:
        """The value of an expression. A variable that it may assign is unknown from then on."""
        if node is None:
            return None
        if "Parts" in node:
            return self._operand(node)
        left = self.number(node["X"])
        right = self.number(node.get("Y"))
        sign = node.get("Op", "")
        if not sign:  # parentheses
            return left
        if sign in _ARITHMETIC:
            return _result(sign, left, right)
        name = NAME.match(self.raw(node["X"]))
        if name:
            self.state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node) -> int | None:
        """A number as it is written, or that of a variable by its bare name."""
        name = self.raw(word)
        if NAME.fullmatch(name):
            value = self._content({**word, "Param": {"Value": name}})
        else:
            value = self.value(word)
        if value is None:
            return 0
        if value.text is None:
            return None
        text = value.text.strip() or "0"
        if _NUMBER.fullmatch(text):
            return int(text)
        return None


def _result(sign: str, left: int | None, right: int | None) -> int | None:
    """What an operator makes of two numbers; `None` if one is not known, or of a division by 0."""
    if left is None or right is None:
        return None
    with suppress(ValueError, ZeroDivisionError):
        return _ARITHMETIC[sign](left, right)
    return None


def _present(value: Value | None, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` if that is unknown."""
    if value is None:
        return False
    if any(part.text for part in value.parts):
        return True
    if value.choices and all(value.choices):
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
        if not all(part.default and part.text == "" for part in current):
            yield joined(current)
        current = []
