"""Expands words: parameters, arithmetic and tildes.

Commands in `$(…)` are not followed. Braces, values with spaces that are only a part of a word, and
operators of `${…}` that launch scripts hardly use make a word unknown.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import fmod
from typing import Literal

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Part,
    Place,
    Source,
    Value,
    Word,
    joined,
    literal,
    lost,
)

Content = Value | tuple[Value, ...] | None
"""A text, the elements of an array, or nothing. An array with keys of its own is unknown."""


@dataclass(slots=True)
class State:
    """What is known at one point of a script.

    A name that is not in `variables` is left to the environment; without content it is only
    declared. `ended` says whether the statements so far leave the script.
    """

    variables: dict[str, Content] = field(default_factory=dict)
    ended: bool = False

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return State(dict(self.variables))

    def lose(self, name: str, place: Place) -> None:
        """From here on the value of a variable is not known."""
        self.variables[name] = lost(place, f"${{{name}}}")

    def meet(self, branch: State) -> None:
        """Continue with what is known with and without the branch.

        One that leaves the script is a guard and says nothing of what follows.
        """
        if self.ended:
            self.variables, self.ended = branch.variables, branch.ended
        elif not branch.ended:
            for name in {*self.variables, *branch.variables}:
                one, two = self.variables.get(name), branch.variables.get(name)
                self.variables[name] = _joined(name, one, two)


def _joined(name: str, one: Content, two: Content) -> Content:
    """What is the same in both; of arrays the common beginning, then the keys of `key=value`."""
    if _same(one, two):
        return one
    first = next((value for content in (one, two) for value in elements_of(content)), Value())
    missing = lost(first.place or Place(0, 1, 1), f"${{{name}}}")
    if not (isinstance(one, tuple) and isinstance(two, tuple)):
        return missing
    same = [pair[0] for pair in takewhile(lambda pair: _same(*pair), zip(one, two, strict=False))]
    others = {_key(value): value for value in (*one[len(same) :], *two[len(same) :])}
    if "" in others:
        return (*same, missing)
    keys = ([value.parts[0]._replace(text=key), *missing.parts] for key, value in others.items())
    return (*same, *map(joined, keys))


def _key(value: Value) -> str:
    """The beginning of a `key=value`; empty where it is none."""
    text = value.parts[0].text if value.parts else None
    found = re.match(r"[\w.+@][\w.+@/-]*=", text or "")
    return found[0] if found else ""


def _same(one: Content, two: Content) -> bool:
    texts = [content.text for content in (one, two) if isinstance(content, Value)]
    return one == two or (len(texts) == 2 and texts[0] == texts[1] is not None)


def elements_of(content: Content) -> Sequence[Value]:
    """The elements of an array; a text is one, nothing has none."""
    return (content,) if isinstance(content, Value) else content or ()


Mode = Literal["split", "joined", "quoted"]
"""Where a part is: in a word of a command, in one that is not split, or in double quotes."""

MOST_STEPS = 20_000
_HOME = re.compile(r"(?:[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_OTHERWISE = re.compile(r"\bIFS=|\beval\s")
"""What lets bash split words otherwise, or read them again."""
NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})")
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
        raw, place = self.raw(node), self.place(node)
        braces = any("{" in self.raw(part) for part in node["Parts"] if part["Type"] == "Lit")
        if braces and re.search(r",|\.\.", raw):
            return [Word(lost(place, raw), raw, place)]
        pieces = self._expand(node["Parts"], state, "split", start=True)
        return [Word(value, raw, place) for value in _fields(pieces)]

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        pieces = self._expand(word["Parts"], state, "joined", start=True)
        place = self.place(word)
        return joined(item or literal(" ", place) for item in pieces)

    def _expand(
        self, parts: Sequence[Node], state: State, mode: Mode, start: bool = False
    ) -> Pieces:
        """The pieces of parts; at the `start` of a word a tilde stands for HOME."""
        found: Pieces = []
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                found += self._literal(node, mode, start and not index)
            else:
                found += self._part(node, state, mode)
        length = sum(len(item.text or "") for item in found if item)
        self.steps -= 1 + len(found) // 4 + length // 1024
        return found

    def _part(self, node: Node, state: State, mode: Mode) -> Pieces:
        kind, place = node["Type"], self.place(node)
        if kind == "SglQuoted":
            return [self._single_quoted(node, mode)]
        if kind == "DblQuoted":
            parts = node.get("Parts", ())
            found = self._expand(parts, state, "quoted")
            no_word = parts and all(_all_of(part) == "@" for part in parts)
            empty = not no_word and all(item and item.text == "" for item in found)
            return [*found, literal("", place)] if empty else found
        if kind == "ParamExp":
            return self._parameter(node, state, mode)
        if kind == "ArithmExp" and (number := self.number(node.get("X"), state)) is not None:
            return [literal(str(number), place)]
        return [self._missing(node)]

    def _missing(self, node: Node) -> Part:
        """An expansion that is unknown."""
        name = node["Param"]["Value"] if "Param" in node else ""
        return lost(self.place(node), self.raw(node), name).parts[0]

    def _single_quoted(self, node: Node, mode: Mode) -> Part:
        start, dollar = node["Pos"] + 1, bool(node.get("Dollar"))
        body = self.source.text[start + dollar : node["End"] - 1]
        if mode == "quoted" or (dollar and "\\" in body):
            return self._missing(node)
        return literal(body, self.source.place(start + dollar))

    def _literal(self, node: Node, mode: Mode, start: bool) -> Pieces:
        """A literal without its backslashes, cut at them and at the tilde that is HOME."""
        found: Pieces = []
        raw, begin = self.raw(node), 0
        if start and (home := _HOME.match(raw)):
            begin, place = home.end(), self.place(node)
            found.append(Part(None, place, place, home[0], "HOME"))
        for match in re.finditer(r"\\([\s\S]?)|[^\\]+", raw[begin:]):
            place, escaped = self.source.place(node["Pos"] + begin + match.start()), match[1]
            if escaped is None or (mode == "quoted" and escaped not in '$`"\\\n'):
                found += self._cut(literal(match[0], place), mode)
            elif escaped.strip("\n"):  # shfmt ends a literal at a backslash before a line's end
                found.append(literal(escaped, place))
        return found

    def _cut(self, part: Part, mode: Mode) -> Pieces:
        """A part outside of quotes cut at its spaces, each piece with its place."""
        text, origin = part.text, part.origin
        if mode != "split" or text is None:
            return [part]
        if not re.search(r"[ \t\n]", text):
            return [part] if text or part.default else []
        if _OTHERWISE.search(self.source.text):
            return [part._replace(text=None, source=text)]
        found: Pieces = []
        for match in re.finditer(r"[^ \t\n]+|[ \t\n]+", text):
            at = origin.offset + match.start()
            here = self.source.text.startswith(match[0], at)
            place = self.source.place(at) if here else origin
            piece = part._replace(text=match[0], origin=place)
            found.append(None if match[0].isspace() else piece)
        return found

    # Parameters

    def _parameter(self, node: Node, state: State, mode: Mode) -> Pieces:
        operator = _operator(node)
        if self.steps <= 0 or node.get("Excl") or node.get("Length"):
            return [self._missing(node)]
        if _all_of(node):
            return [self._missing(node)] if operator else self._all(node, state, mode)
        value = self._found(node, state)
        if operator.lstrip(":") in ("-", "+", "="):
            found = self._conditional(node, value, state, mode)
            if "=" in operator:
                space = literal(" ", self.place(node))
                state.variables[node["Param"]["Value"]] = joined(item or space for item in found)
            return found
        return [self._missing(node)] if operator else self._shown(node, value, mode)

    def _shown(self, node: Node, value: Value | None, mode: Mode) -> Pieces:
        """A value where the parameter is; a value of one part moves there."""
        place, name = self.place(node), node["Param"]["Value"]
        parts = (value or Value()).parts
        if len(parts) == 1:
            parts = (parts[0]._replace(place=place),)
        return [piece for part in parts for piece in self._cut(part._replace(name=name), mode)]

    def _found(self, node: Node, state: State) -> Value | None:
        """What the name stands for, `None` for nothing; an element of an array is unknown."""
        name = node["Param"]["Value"]
        content = state.variables.get(name)
        if name not in state.variables or node.get("Index") or isinstance(content, tuple):
            return Value((self._missing(node),))
        return content

    def _conditional(self, node: Node, value: Value | None, state: State, mode: Mode) -> Pieces:
        """`-` and `+`: what is taken depends on whether the variable is set, or empty."""
        operator, word = _operator(node), node["Exp"].get("Word")
        absent = node["Param"]["Value"] not in state.variables
        present = False if absent else _present(value, empty_counts=":" not in operator)
        if present is None:
            return [self._missing(node)]
        if present and "+" not in operator:
            return self._shown(node, value, mode)
        taken = word.get("Parts", ()) if word and present == ("+" in operator) else ()
        pieces = self._expand(taken, state, mode, start=mode != "quoted")
        empty = literal("", self.place(node))._replace(default=absent)
        pieces = pieces or self._cut(empty, mode)
        return [item and item._replace(default=absent or item.default) for item in pieces]

    def _all(self, node: Node, state: State, mode: Mode) -> Pieces:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`."""
        name, place = node["Param"]["Value"], self.place(node)
        if name not in state.variables:
            return [self._missing(node)]
        separate = _all_of(node) == "@" or mode == "split"
        found: Pieces = []
        for index, value in enumerate(elements_of(state.variables[name])):
            if index:
                found.append(None if separate else literal(" ", place))
            parts = value.parts or (literal("", place),)
            found += [piece for part in parts for piece in self._cut(part, mode)]
        return found

    # Arithmetic

    def number(self, node: Node | None, state: State) -> int | None:
        """The value of an expression. A variable that it assigns is unknown from then on."""
        if node is None:
            return None
        if "Parts" in node:
            return self._operand(node, state)
        left, right = self.number(node["X"], state), self.number(node.get("Y"), state)
        sign = node.get("Op", "")
        if not sign:  # parentheses
            return left
        if sign in _ARITHMETIC and left is not None and right is not None:
            return _ARITHMETIC[sign](left, right) if right or sign not in "/%" else None
        if name := re.fullmatch(r"\+\+|--|[^=<>!]*=", sign) and NAME.match(self.raw(node["X"])):
            state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node, state: State) -> int | None:
        name = self.raw(word)
        named = {**word, "Param": {"Value": name}}
        value = self._found(named, state) if NAME.fullmatch(name) else self.value(word, state)
        text = "" if value is None else "?" if value.text is None else value.text.strip()
        return int(text or 0) if _NUMBER.fullmatch(text or "0") else None


def _all_of(node: Node) -> str:
    """`@` or `*` where a parameter stands for all elements or arguments, else empty."""
    name = node.get("Param", {}).get("Value", "")
    parts: Sequence[Node] = (node.get("Index") or {}).get("Parts") or ()
    text = str(parts[0].get("Value", "")) if len(parts) == 1 else ""
    return next((item for item in (name, text) if item in ("@", "*")), "")


def _operator(node: Node) -> str:
    """What follows the name: `:-`, `%`, `//`, `:` and so on."""
    if node.get("Slice"):
        return ":"
    return "/" if node.get("Repl") else str((node.get("Exp") or {}).get("Op", ""))


def _present(value: Value | None, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` where that is unknown."""
    if value is None:
        return False
    if any(part.text for part in value.parts):
        return True
    return None if value.text is None else empty_counts


def _fields(pieces: Pieces) -> Iterator[Value]:
    """The words of pieces; a pattern stays as it is written."""
    current: list[Part] = []
    for item in [*pieces, None]:
        if item is not None:
            current.append(item)
        elif current:
            if any(part.text != "" or not part.default for part in current):
                yield joined(current)
            current = []
