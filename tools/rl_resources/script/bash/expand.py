"""Expands words: parameters, arithmetic, substitutions, tildes and word splitting.

Braces, and operators of `${…}` that launch scripts hardly use, make a word unknown.
"""

from __future__ import annotations

import glob
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import fmod
from typing import Literal, NamedTuple

from rl_resources.script.bash.conditions import Status
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Defined,
    Part,
    Place,
    Reference,
    Source,
    Value,
    Word,
    bounded,
    literal,
    lost,
)
from rl_resources.script.bash.state import State

Mode = Literal["split", "joined", "quoted"]
"""Where a part is: in a word of a command, in one that is not split, or in double quotes."""

MOST_STEPS = 10_000
_SPECIAL = frozenset("?$!-0_")
_ALWAYS_SET = frozenset(
    {"#", *_SPECIAL, "BASHPID", "BASH_SOURCE", "EUID", "FUNCNAME", "HOME", "HOSTNAME", "IFS"}
    | {"LANG", "LINENO", "LOGNAME", "OLDPWD", "PATH", "PPID", "PWD", "RANDOM", "SECONDS"}
    | {"SHELL", "TERM", "UID", "USER"}
)
"""Set by bash itself, by login or by every usual environment: their defaults are never taken."""

_UNSUPPORTED_PATTERN = re.compile(r"[?*+@!]\(|\[\[[:.=]|\[[^]]*/|\\")
_HOME = re.compile(r"(?P<name>[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_PIECES = (
    re.compile(r"\\(?P<escaped>[\s\S]?)|[^\\]+"),
    re.compile(r"\\(?P<escaped>[$`\"\\\n]|\Z)|(?:[^\\]|\\(?![$`\"\\\n]|\Z))+"),
)
"""The pieces of a literal outside and inside of double quotes."""
_CASES: Mapping[str, Callable[[str], str]] = {"^^": str.upper, ",,": str.lower}
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})")
_ASSIGNS = re.compile(r"\+\+|--|[^=<>!]*=")
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: int(left / right),
    "%": lambda left, right: int(fmod(left, right)),
}
"""The operators that launch scripts use; the result of others is unknown. `/` rounds to zero."""


class Fragment(NamedTuple):
    """A part with its quoting; only an `expanded` one is split into words."""

    part: Part
    quoted: bool
    expanded: bool = False


Fragments = list[Fragment | None]
"""`None` separates words, as the elements of `"${ARRAY[@]}"` are separate."""


class Expander(ABC):
    """Expands words against a state, and notes every reference on the way.

    Notes assignments and references once for each place, commands each time that they run. Once
    the steps are used up nothing counts as known. `here` is what encloses the command that is
    evaluated.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.here = Command((), "", source.place(0), source.place(0))
        self.steps = MOST_STEPS
        self.commands: list[Command] = []
        self.assignments: dict[int, Assignment] = {}
        self.references: dict[int, Reference] = {}

    @abstractmethod
    def run(self, statements: Sequence[Node], state: State) -> Status:
        """Follow statements in order; the status of the last one."""

    @contextmanager
    def within(self, **changes: object) -> Iterator[None]:
        """For a while, be elsewhere in the script."""
        outer = self.here
        self.here = outer._replace(**changes)  # type: ignore[arg-type]
        yield
        self.here = outer

    def maybe(self) -> AbstractContextManager[None]:
        """For a while, nothing is certain to be reached."""
        return self.within(reach="maybe" if self.here.reach == "always" else self.here.reach)

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        return self.source.place(node["Pos"])

    def raw(self, node: Node) -> str:
        """A node as it is written."""
        return self.source.text[node["Pos"] : node["End"]]

    def note(self, found: Assignment) -> None:
        """Note an assignment; the last run counts, and any run before none."""
        if found.place.offset not in self.assignments or found.reach != "never":
            self.assignments[found.place.offset] = found

    def note_reference(
        self, name: str, node: Node, state: State, *, quoted: bool = True, operator: str = ""
    ) -> None:
        """Note that a variable is read; the first run counts, and any run before none."""
        place, raw, reach = self.place(node), self.raw(node), self.here.reach
        old = self.references.get(place.offset)
        if old is None or old.reach == "never":
            found = Reference(name, place, raw, quoted, operator, _defined(name, state), reach)
            self.references[place.offset] = found

    # Words

    def words(self, node: Node, state: State) -> list[Word]:
        """The words that one word becomes in a command or a list, each with its place."""
        self.steps -= 1
        raw, place = self.raw(node), self.place(node)
        fragments = self.expand(node["Parts"], state, "split", start=True)
        braces = any("{" in self.raw(part) for part in node["Parts"] if part["Type"] == "Lit")
        if braces and re.search(r",|\.\.", raw):
            return [Word(lost(place, raw), raw, place)]
        return [Word(value, raw, place) for value in _fields(fragments, self.source)]

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        self.steps -= 1
        fragments = self.expand(word["Parts"], state, "joined", start=True)
        place = self.place(word)
        return bounded(item.part if item else literal(" ", place) for item in fragments)

    def pattern(self, word: Node, state: State) -> str | None:
        """A word as a pattern of `fnmatch`, `None` where it is unknown."""
        found = ""
        for item in self.expand(word["Parts"], state, "joined"):
            text = item and item.part.text
            if item is None or text is None:
                return None
            if not item.quoted and _UNSUPPORTED_PATTERN.search(text):
                return None
            found += glob.escape(text) if item.quoted else text
        return found.replace("[^", "[!")

    # Parts

    def expand(
        self, parts: Sequence[Node], state: State, mode: Mode, start: bool = False
    ) -> Fragments:
        """The fragments of parts; at the `start` of a word a tilde stands for HOME."""
        found: Fragments = []
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                found += self._literal(node, mode, start and not index)
            else:
                found += self._part(node, state, mode)
        return found

    def _part(self, node: Node, state: State, mode: Mode) -> Fragments:
        kind = node["Type"]
        if kind == "SglQuoted":
            return [self._single_quoted(node, mode)]
        if kind == "DblQuoted":
            parts = node.get("Parts", ())
            found = self.expand(parts, state, "quoted")
            empty = not found and not any(_all_of(part) == "@" for part in parts)
            return [Fragment(literal("", self.place(node)), True)] if empty else found
        if kind == "ParamExp":
            return self._parameter(node, state, mode)
        if kind == "ArithmExp":
            return [_fragment(self._sum(node, state), mode)]
        if kind in ("CmdSubst", "ProcSubst"):
            with self.within(in_substitution=True, pipeline=(0, 1), after=""):
                self.run(node.get("Stmts", ()), state.copy())
        return [self._missing(node, mode)]

    def _unknown(self, node: Node, *, unsure: bool = False) -> Value:
        name = node["Param"]["Value"] if "Param" in node else ""
        return lost(self.place(node), self.raw(node), name, unsure=unsure)

    def _missing(self, node: Node, mode: Mode) -> Fragment:
        """An expansion that is unknown."""
        return _fragment(self._unknown(node).parts[0], mode)

    def _single_quoted(self, node: Node, mode: Mode) -> Fragment:
        start, dollar = node["Pos"] + 1, bool(node.get("Dollar"))
        body = self.source.text[start + dollar : node["End"] - 1]
        if mode == "quoted" or (dollar and "\\" in body):
            return self._missing(node, mode)
        return Fragment(literal(body, self.source.place(start + dollar)), quoted=True)

    def _literal(self, node: Node, mode: Mode, start: bool) -> Fragments:
        """A literal without its backslashes, cut at them and at the tilde that is HOME."""
        found: Fragments = []
        raw, begin = self.raw(node), 0
        if start and (home := _HOME.match(raw)):
            begin = home.end()
            tilde = self.source.place(node["Pos"] + begin - 1)
            if home["name"]:
                found.append(Fragment(literal(home["name"], self.place(node)), False))
            found.append(Fragment(Part(None, tilde, tilde, "~", "HOME"), True))
        for match in _PIECES[mode == "quoted"].finditer(raw, begin):
            place, escaped = self.source.place(node["Pos"] + match.start()), match["escaped"]
            if escaped is None:
                found.append(Fragment(literal(match[0], place), mode == "quoted"))
            elif escaped.strip("\n"):  # shfmt ends a literal at a backslash before a line's end
                found.append(Fragment(literal(escaped, place), True))
        return found

    # Parameters

    def _parameter(self, node: Node, state: State, mode: Mode) -> Fragments:
        name, operator = node["Param"]["Value"], _operator(node)
        self.note_reference(name, node, state, quoted=mode != "split", operator=operator)
        changed = node.get("Excl") or node.get("Length") or operator
        if _all_of(node):
            return [self._missing(node, mode)] if changed else self._all(node, state, mode)
        value = self._found(node, state)
        if operator.lstrip(":") in ("-", "+", "=", "?") and self.steps > 0:
            return self._conditional(node, value, state, mode)
        change = None if node.get("Exp", {}).get("Word") else _CASES.get(operator)
        if self.steps <= 0 or (changed and not (change and value and value.text)):
            return [self._missing(node, mode)]
        if value and change:
            value = Value((value.parts[0]._replace(text=change(value.text or "")),))
        return self._shown(node, value or Value(), mode)

    def _shown(self, node: Node, value: Value, mode: Mode) -> Fragments:
        """A value where the parameter is; a value of one part moves there."""
        place, name = self.place(node), node["Param"]["Value"]
        parts = value.parts or (literal("", place),)
        self.steps -= len(parts) // 4 + len(value.text or "") // 1024
        if len(parts) == 1:
            parts = (parts[0]._replace(place=place),)
        return [_fragment(part._replace(name=name), mode) for part in parts]

    def _found(self, node: Node, state: State) -> Value | None:
        """What the name stands for, `None` for nothing; an element of an array is unknown."""
        variable = state.variables.get(node["Param"]["Value"])
        if variable is None or node.get("Index") or isinstance(variable.content, tuple):
            self.number(node.get("Index"), state, [])  # for the references in it
            return self._unknown(node, unsure=variable is not None)
        return variable.content

    def _conditional(self, node: Node, value: Value | None, state: State, mode: Mode) -> Fragments:
        """`-`, `=`, `+` and `?`: what is taken depends on whether the variable is set, or empty."""
        name, operator, word = node["Param"]["Value"], _operator(node), node["Exp"].get("Word")
        absent = name not in state.variables and name not in _ALWAYS_SET
        present = False if absent else _present(value, empty_counts=":" not in operator)
        if "=" in operator:
            state.lose(name, self.place(node))
        if present and value is not None and "+" not in operator:
            return self._shown(node, value, mode)
        if present is None or "=" in operator or "?" in operator:
            return [self._missing(node, mode)]
        taken = word.get("Parts", ()) if word and present == ("+" in operator) else ()
        fragments = self.expand(taken, state, mode, start=mode != "quoted")
        empty = _fragment(literal("", self.place(node)), mode)
        return [item and _as_default(item, mode, absent) for item in fragments or [empty]]

    def _all(self, node: Node, state: State, mode: Mode) -> Fragments:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`."""
        variable = state.variables.get(node["Param"]["Value"])
        if variable is None or self.steps <= 0:
            return [self._missing(node, mode)]
        content, place = variable.content, self.place(node)
        values = (content,) if isinstance(content, Value) else content or ()
        self.steps -= len(values) // 2
        separate = _all_of(node) == "@" or mode == "split"
        found: Fragments = []
        for value in values:
            if found:
                found.append(None if separate else Fragment(literal(" ", place), True))
            found += [_fragment(part, mode) for part in value.parts or (literal("", place),)]
        return found

    # Arithmetic

    def _sum(self, node: Node, state: State) -> Part:
        """`$((…))` as a part of a word."""
        operands: list[Value] = []
        number, place = self.number(node.get("X"), state, operands), self.place(node)
        if number is None:
            return self._unknown(node).parts[0]
        return literal(str(number), place)._replace(default=any(one.default for one in operands))

    def number(self, node: Node | None, state: State, operands: list[Value]) -> int | None:
        """The value of an expression, with its operands added to those before.

        A variable that it assigns is unknown from then on.
        """
        if node is None:
            return None
        kind = node["Type"]
        if kind == "ParenArithm":
            return self.number(node["X"], state, operands)
        if kind not in ("BinaryArithm", "UnaryArithm"):
            return self._operand(node, state, operands)
        left = self.number(node["X"], state, operands)
        right, sign = self.number(node.get("Y"), state, operands), node["Op"]
        if sign in _ARITHMETIC and left is not None and right is not None:
            return _ARITHMETIC[sign](left, right) if right or sign not in "/%" else None
        if name := _ASSIGNS.fullmatch(sign) and _NAME.match(self.raw(node["X"])):
            state.lose(name[0], self.place(node))
        return None

    def _operand(self, word: Node, state: State, operands: list[Value]) -> int | None:
        name = self.raw(word)
        value: Value | None
        if _NAME.fullmatch(name):
            self.note_reference(name, word, state)
            value = self._found({**word, "Param": {"Value": name}}, state)
        else:
            value = self.value(word, state)
        operands.append(value or Value())
        text = "" if value is None else "?" if value.text is None else value.text.strip()
        return int(text or 0) if _NUMBER.fullmatch(text or "0") else None


def _fragment(part: Part, mode: Mode) -> Fragment:
    return Fragment(part, mode == "quoted", mode == "split")


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


def _defined(name: str, state: State) -> Defined:
    """Whether the script has set a variable."""
    if name.isdigit() or name in _SPECIAL or name in "@*#":
        return "yes"
    variable = state.variables.get(name)
    if variable is None or variable.content is None:
        return "no"
    first = variable.content.unknown if isinstance(variable.content, Value) else None
    return "maybe" if first and first.unsure else "yes"


def _present(value: Value | None, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` where that is unknown."""
    if value is None:
        return False
    if any(part.text for part in value.parts):
        return True
    if value.unknown is None:
        return empty_counts
    return True if empty_counts and not value.unknown.unsure else None


def _as_default(item: Fragment, mode: Mode, absent: bool) -> Fragment:
    """A fragment of a default; unquoted ones are split like any expansion."""
    part = item.part._replace(default=absent or item.part.default)
    return Fragment(part, item.quoted, mode == "split" and not item.quoted)


# Word splitting


def _fields(fragments: Fragments, source: Source) -> Iterator[Value]:
    """The words of fragments; a pattern stays as it is written."""
    current: list[Fragment] = []
    for item in [*fragments, None]:
        for piece in _pieces(item, source):
            if piece is not None:
                current.append(piece)
            elif current:
                if any(fragment.quoted or fragment.part.text != "" for fragment in current):
                    yield bounded(fragment.part for fragment in current)
                current = []


def _pieces(item: Fragment | None, source: Source) -> Iterator[Fragment | None]:
    """What a fragment adds to words: an expansion is cut at its spaces.

    A piece has its own place where it is written there.
    """
    if item is None or not item.expanded or not item.part.text:
        yield item
        return
    for match in re.finditer(r"([^ \t\n]+)|[ \t\n]+", item.part.text):
        offset = item.part.origin.offset + match.start()
        part = item.part._replace(text=match[0])
        if match[0] != item.part.text and source.text.startswith(match[0], offset):
            place = source.place(offset)
            part = part._replace(place=place, origin=place)
        yield Fragment(part, False) if match[1] else None
