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
from typing import Literal, NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Command,
    Part,
    Place,
    Reference,
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

MOST_STEPS = 10_000
_SPECIAL = frozenset("?$!-0_@*#")
_ALWAYS_SET = frozenset(
    {"#", *_SPECIAL, "BASHPID", "BASH_SOURCE", "EUID", "FUNCNAME", "HOME", "HOSTNAME", "IFS"}
    | {"LANG", "LINENO", "LOGNAME", "OLDPWD", "PATH", "PPID", "PWD", "RANDOM", "SECONDS"}
    | {"SHELL", "TERM", "UID", "USER"}
)
"""Set by bash itself, by login or by every usual environment: their defaults are never taken."""

_HOME = re.compile(r"(?:[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_PIECES = (
    re.compile(r"\\(?P<escaped>[\s\S]?)|[^\\]+"),
    re.compile(r"\\(?P<escaped>[$`\"\\\n]|\Z)|(?:[^\\]|\\(?![$`\"\\\n]|\Z))+"),
)
"""The pieces of a literal outside and inside of double quotes."""
_SPACES = re.compile(r"[ \t\n]")
_UNSURE = re.compile(r"[\"'\\]")
"""What an `eval` in front of the words reads again."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})")
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: int(left / right),
    "%": lambda left, right: int(fmod(left, right)),
}
"""The operators that launch scripts use; the result of others is unknown. `/` rounds to zero."""


class Fragment(NamedTuple):
    """A part, and whether it is `bare`: bash splits it at spaces, and an empty one is no word."""

    part: Part
    bare: bool


Fragments = list[Fragment | None]
"""`None` separates words, as the elements of `"${ARRAY[@]}"` are separate."""


class Expander:
    """Expands words against a state, and notes every reference on the way.

    Once the steps are used up nothing counts as known. `here` is what encloses the command that is
    evaluated.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.here = Command((), "", source.place(0), source.place(0))
        self.steps = MOST_STEPS
        self.references: list[Reference] = []

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
        fragments = self._expand(node["Parts"], state, "split", start=True)
        braces = any("{" in self.raw(part) for part in node["Parts"] if part["Type"] == "Lit")
        text = " ".join(item.part.text or "" for item in fragments if item and item.bare)
        split = any(
            item and item.bare and _SPACES.search(item.part.text or "") for item in fragments
        )
        self.steps -= len(text.split()) if split else 0
        read_again = "eval" in self.source.text and _UNSURE.search(text)
        unsure = len(text) > MOST_STEPS or read_again or "IFS" in self.source.text
        if (split and unsure) or (braces and re.search(r",|\.\.", raw)):
            return [Word(lost(place, raw), raw, place)]
        apart = [piece for item in fragments for piece in self._apart(item)] if split else fragments
        return [Word(value, raw, place) for value in _fields(apart)]

    def _apart(self, item: Fragment | None) -> Iterator[Fragment | None]:
        """An expansion outside of quotes cut at its spaces, each piece with its place."""
        if item is None or not item.bare or item.part.text is None:
            yield item
            return
        text, origin = item.part.text, item.part.origin
        for match in re.finditer(r"[^ \t\n]+|[ \t\n]+", text):
            at = origin.offset + match.start()
            here = self.source.text.startswith(match[0], at)
            part = item.part._replace(
                text=match[0], origin=self.source.place(at) if here else origin
            )
            yield None if match[0].isspace() else Fragment(part, bare=True)

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        fragments = self._expand(word["Parts"], state, "joined", start=True)
        place = self.place(word)
        return joined(item.part if item else literal(" ", place) for item in fragments)

    def _expand(
        self, parts: Sequence[Node], state: State, mode: Mode, start: bool = False
    ) -> Fragments:
        """The fragments of parts; at the `start` of a word a tilde stands for HOME."""
        found: Fragments = []
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                found += self._literal(node, mode, start and not index)
            else:
                found += self._part(node, state, mode)
        length = sum(len(item.part.text or "") for item in found if item)
        self.steps -= 1 + len(found) // 4 + length // 1024
        return found

    def _part(self, node: Node, state: State, mode: Mode) -> Fragments:
        kind = node["Type"]
        if kind == "SglQuoted":
            return [self._single_quoted(node, mode)]
        if kind == "DblQuoted":
            parts = node.get("Parts", ())
            found = self._expand(parts, state, "quoted")
            empty = not found and not any(_all_of(part) == "@" for part in parts)
            return [Fragment(literal("", self.place(node)), False)] if empty else found
        if kind == "ParamExp":
            return self._parameter(node, state, mode)
        if kind == "ArithmExp" and (number := self.number(node.get("X"), state)) is not None:
            return [_fragment(literal(str(number), self.place(node)), mode)]
        return [self._missing(node, mode)]

    def _unknown(self, node: Node) -> Value:
        name = node["Param"]["Value"] if "Param" in node else ""
        return lost(self.place(node), self.raw(node), name)

    def _missing(self, node: Node, mode: Mode) -> Fragment:
        """An expansion that is unknown."""
        return _fragment(self._unknown(node).parts[0], mode)

    def _single_quoted(self, node: Node, mode: Mode) -> Fragment:
        start, dollar = node["Pos"] + 1, bool(node.get("Dollar"))
        body = self.source.text[start + dollar : node["End"] - 1]
        if mode == "quoted" or (dollar and "\\" in body):
            return self._missing(node, mode)
        return Fragment(literal(body, self.source.place(start + dollar)), bare=False)

    def _literal(self, node: Node, mode: Mode, start: bool) -> Fragments:
        """A literal without its backslashes, cut at them and at the tilde that is HOME."""
        found: Fragments = []
        raw, begin = self.raw(node), 0
        if start and (home := _HOME.match(raw)):
            begin, place = home.end(), self.place(node)
            found.append(Fragment(Part(None, place, place, home[0], "HOME"), False))
        for match in _PIECES[mode == "quoted"].finditer(raw, begin):
            place, escaped = self.source.place(node["Pos"] + match.start()), match["escaped"]
            if escaped is None:
                found.append(_fragment(literal(match[0], place), mode))
            elif escaped.strip("\n"):  # shfmt ends a literal at a backslash before a line's end
                found.append(Fragment(literal(escaped, place), False))
        return found

    # Parameters

    def _parameter(self, node: Node, state: State, mode: Mode) -> Fragments:
        operator = _operator(node)
        self._note(node, state, quoted=mode != "split", operator=operator)
        if self.steps <= 0 or node.get("Excl") or node.get("Length"):
            return [self._missing(node, mode)]
        if _all_of(node):
            return [self._missing(node, mode)] if operator else self._all(node, state, mode)
        value = self._found(node, state)
        if operator.lstrip(":") in ("-", "+", "="):
            found = self._conditional(node, value, state, mode)
            if "=" in operator:
                space = literal(" ", self.place(node))
                parts = (item.part if item else space for item in found)
                state.variables[node["Param"]["Value"]] = joined(parts)
            return found
        return [self._missing(node, mode)] if operator else self._shown(node, value, mode)

    def _note(self, node: Node, state: State, *, quoted: bool = True, operator: str = "") -> None:
        """Note that a variable is read."""
        name = node["Param"]["Value"]
        defined = name.isdigit() or name in _SPECIAL or state.variables.get(name) is not None
        reach = self.here.reach
        found = Reference(name, self.place(node), self.raw(node), quoted, operator, defined, reach)
        self.references.append(found)

    def _shown(self, node: Node, value: Value | None, mode: Mode) -> Fragments:
        """A value where the parameter is; a value of one part moves there."""
        place, name = self.place(node), node["Param"]["Value"]
        parts = (value or Value()).parts or (literal("", place),)
        if len(parts) == 1:
            parts = (parts[0]._replace(place=place),)
        return [_fragment(part._replace(name=name), mode) for part in parts]

    def _found(self, node: Node, state: State) -> Value | None:
        """What the name stands for, `None` for nothing; an element of an array is unknown."""
        name = node["Param"]["Value"]
        content = state.variables.get(name)
        if name not in state.variables or node.get("Index") or isinstance(content, tuple):
            return self._unknown(node)
        return content

    def _conditional(self, node: Node, value: Value | None, state: State, mode: Mode) -> Fragments:
        """`-` and `+`: what is taken depends on whether the variable is set, or empty."""
        name, operator, word = node["Param"]["Value"], _operator(node), node["Exp"].get("Word")
        absent = name not in state.variables and name not in _ALWAYS_SET
        present = False if absent else _present(value, empty_counts=":" not in operator)
        if present is None:
            return [self._missing(node, mode)]
        if present and "+" not in operator:
            return self._shown(node, value, mode)
        taken = word.get("Parts", ()) if word and present == ("+" in operator) else ()
        fragments = self._expand(taken, state, mode, start=mode != "quoted")
        empty = _fragment(literal("", self.place(node)), mode)
        return [item and _as_default(item, absent) for item in fragments or [empty]]

    def _all(self, node: Node, state: State, mode: Mode) -> Fragments:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`."""
        name, place = node["Param"]["Value"], self.place(node)
        if name not in state.variables:
            return [self._missing(node, mode)]
        separate = _all_of(node) == "@" or mode == "split"
        found: Fragments = []
        for value in elements_of(state.variables[name]):
            if found:
                found.append(None if separate else Fragment(literal(" ", place), False))
            found += [_fragment(part, mode) for part in value.parts or (literal("", place),)]
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
        if name := re.fullmatch(r"\+\+|--|[^=<>!]*=", sign) and _NAME.match(self.raw(node["X"])):
            state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node, state: State) -> int | None:
        name = self.raw(word)
        value: Value | None
        if _NAME.fullmatch(name):
            named = {**word, "Param": {"Value": name}}
            self._note(named, state)
            value = self._found(named, state)
        else:
            value = self.value(word, state)
        text = "" if value is None else "?" if value.text is None else value.text.strip()
        return int(text or 0) if _NUMBER.fullmatch(text or "0") else None


def _fragment(part: Part, mode: Mode) -> Fragment:
    return Fragment(part, mode == "split")


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


def _as_default(item: Fragment, absent: bool) -> Fragment:
    return item._replace(part=item.part._replace(default=absent or item.part.default))


# Words


def _fields(fragments: Fragments) -> Iterator[Value]:
    """The words of fragments; a pattern stays as it is written."""
    current: list[Fragment] = []
    for item in [*fragments, None]:
        if item is not None:
            current.append(item)
        elif current:
            if any(fragment.part.text != "" or not fragment.bare for fragment in current):
                yield joined(fragment.part for fragment in current)
            current = []
