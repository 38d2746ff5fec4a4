"""Expands words: parameters, arithmetic, substitutions, tildes and word splitting.

Braces, and operators of `${…}` that launch scripts do not use, make a word unknown.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Part,
    Place,
    Reason,
    Source,
    Value,
    bounded,
    literal,
    lost,
    unknown,
)
from rl_resources.script.bash.state import SPECIAL, State, Trace

Mode = Literal["split", "joined", "quoted"]
"""Where a part is: in a word of a command, in one that is not split, or in double quotes."""

ALWAYS_SET = frozenset(
    {"BASHPID", "BASH_SOURCE", "EUID", "FUNCNAME", "HOME", "HOSTNAME", "IFS", "LANG", "LINENO"}
    | {"LOGNAME", "OLDPWD", "PATH", "PPID", "PWD", "RANDOM", "SECONDS", "SHELL", "TERM", "UID"}
    | {"USER", "_"}
)
"""Set by bash itself, by login or by every usual environment: their defaults are never taken."""

LONGEST_MATCHED = 512
"""Of longer texts, the result of a match with a pattern is unknown."""
_UNSUPPORTED_PATTERN = re.compile(r"[?*+@!]\(|\[\[[:.=]|\[[^]]*/|\\")
_ASSIGNING = re.compile(r"[A-Za-z_]\w*\+?=")
_HOME = re.compile(rf"(?:{_ASSIGNING.pattern})?~(?=/|\Z)")
"""A word such as `~key` would have to be the name of a user, and is Hydra's deletion."""
_PIECES = (
    re.compile(r"\\(?P<escaped>[\s\S]?)|~(?=[/:]|\Z)|(?:[^\\~]|~(?![/:]|\Z))+"),
    re.compile(r"\\(?P<escaped>[$`\"\\\n]|\Z)|(?:[^\\]|\\(?![$`\"\\\n]|\Z))+"),
)
"""The pieces of a literal outside and inside of double quotes."""
_CASES: Mapping[str, Callable[[str], str]] = {"^^": str.upper, ",,": str.lower}
_SPACES = re.compile(r"[ \t\n]+")


class Fragment(NamedTuple):
    """A part with its quoting; only an `expanded` one is split into words."""

    part: Part
    quoted: bool
    expanded: bool = False


Fragments = list[Fragment | None]
"""`None` separates words, as the elements of `"${ARRAY[@]}"` are separate."""


class Found(NamedTuple):
    """What a name stands for: a value, nothing (`value` is `None`), or unknown for a `reason`.

    `absent` means that the script leaves it to its environment or arguments.
    """

    value: Value | None
    reason: Reason | None = None
    absent: bool = False


class Expander(Trace):
    """Expands words against a state, and notes every reference on the way."""

    @abstractmethod
    def substitute(self, statements: Sequence[Node], state: State) -> None:
        """Follow the commands of `$(…)`."""

    @abstractmethod
    def expression(self, node: Node, state: State) -> Part:
        """`$((…))` as a part of a word."""

    @abstractmethod
    def number(self, node: Node | None, state: State) -> int | None:
        """The value of an arithmetic expression."""

    # Words

    def words(self, word: Node, state: State) -> list[Value]:
        """The words that one word becomes in a command or a list."""
        self.spend()
        fragments = self.expand(word["Parts"], state, "split", start=True)
        literals = [self.raw(part) for part in word["Parts"] if part["Type"] == "Lit"]
        braces = any("{" in text for text in literals) and re.search(",|[.][.]", self.raw(word))
        if braces:
            return [lost(self.place(word), self.raw(word), "form", many=True)]
        return list(_fields(fragments, self.source))

    def value(self, word: Node, state: State) -> Value:
        """A word that is not split, as the right side of an assignment is not."""
        self.spend()
        return joined(self.expand(word["Parts"], state, "joined", start=True))

    def pattern(self, word: Node | None, state: State) -> str | None:
        """A word as a pattern of `fnmatch`, `None` where it is unknown."""
        found = ""
        for item in self.expand((word or {}).get("Parts") or (), state, "joined"):
            text = item.part.text if item else None
            if item is None or text is None:
                return None
            if not item.quoted and _UNSUPPORTED_PATTERN.search(text):
                return None
            found += re.sub(r"[*?\[]", r"[\g<0>]", text) if item.quoted else text
        return found.replace("[^", "[!")

    # Parts

    def expand(
        self, parts: Sequence[Node], state: State, mode: Mode, start: bool = False
    ) -> Fragments:
        """The fragments of parts; at the `start` of a word a tilde stands for HOME."""
        found: Fragments = []
        for index, node in enumerate(parts):
            if node["Type"] == "Lit":
                home = _HOME.match(self.raw(node)) if start and not index else None
                found += self._literal(node, mode, home.end() - 1 if home else -1)
            else:
                found += self._part(node, state, mode)
        return found

    def _part(self, node: Node, state: State, mode: Mode) -> Fragments:
        kind = node["Type"]
        if kind == "SglQuoted":
            return [self._single_quoted(node, mode)]
        if kind == "DblQuoted":
            return self._double_quoted(node, state)
        if kind == "ParamExp":
            return self._parameter(node, state, mode)
        if kind == "ArithmExp":
            return [_fragment(self.expression(node, state), mode)]
        if kind in ("CmdSubst", "ProcSubst"):
            with self.within(in_substitution=True, pipeline=(0, 1), after=""):
                self.substitute(node.get("Stmts", ()), state.copy())
        return [self._missing(node, "substitution" if "Stmts" in node else "form", mode)]

    def _missing(self, node: Node, reason: Reason, mode: Mode) -> Fragment:
        """An expansion that is unknown."""
        name = node["Param"]["Value"] if "Param" in node else ""
        many = mode == "split" or (mode == "quoted" and _all_of(node) == "@")
        return _fragment(
            unknown(self.place(node), self.raw(node), reason, name=name, many=many), mode
        )

    def _single_quoted(self, node: Node, mode: Mode) -> Fragment:
        start, dollar = node["Pos"] + 1, bool(node.get("Dollar"))
        if mode == "quoted" and not dollar:  # inside of `"${NAME:-'…'}"` they are characters
            hides = re.search(r"[$`\\]", self.raw(node))
            part = literal(self.raw(node), self.place(node))
            return self._missing(node, "form", mode) if hides else Fragment(part, quoted=True)
        body = self.source.text[start + dollar : node["End"] - 1]
        if dollar and "\\" in body:
            return self._missing(node, "form", mode)
        return Fragment(literal(body, self.source.place(start + dollar)), quoted=True)

    def _double_quoted(self, node: Node, state: State) -> Fragments:
        parts = node.get("Parts", ())
        found = self.expand(parts, state, "quoted")
        if found or any(_all_of(part) == "@" for part in parts):
            return found
        return [Fragment(literal("", self.place(node)), quoted=True)]

    def _literal(self, node: Node, mode: Mode, home: int) -> Fragments:
        """A literal without its backslashes, cut at them and at the tilde that is HOME."""
        found: Fragments = []
        for match in _PIECES[mode == "quoted"].finditer(self.raw(node)):
            place, escaped = self.source.place(node["Pos"] + match.start()), match["escaped"]
            if match.start() == home:
                found.append(Fragment(unknown(place, "~", "environment", name="HOME"), True))
            elif escaped is None:
                found.append(Fragment(literal(match[0], place), mode == "quoted"))
            elif escaped.strip("\n"):  # shfmt ends a literal at a backslash before a line's end
                found.append(Fragment(literal(escaped, place), True))
        return found

    # Parameters

    def _parameter(self, node: Node, state: State, mode: Mode) -> Fragments:
        name, operator = node["Param"]["Value"], _operator(node)
        self.note_reference(name, node, state, quoted=mode != "split", operator=operator)
        if self.exhausted:
            return [self._missing(node, "limit", mode)]
        if _all_of(node):
            return self._all(node, state, mode)
        found = self._found(node, state)
        if node.get("Excl") or node.get("Length"):
            return [self._missing(node, found.reason or "form", mode)]
        if operator.lstrip(":") in ("-", "=", "+", "?"):
            return self._conditional(node, found, state, mode)
        if found.value is None and found.reason is not None:
            return [self._missing(node, found.reason, mode)]
        value = found.value or Value()
        return self._shown(node, self._changed(node, value) if operator else value, mode)

    def _shown(self, node: Node, value: Value, mode: Mode) -> Fragments:
        """A value where the parameter is; a value of one part moves there."""
        place, name = self.place(node), node["Param"]["Value"]
        parts = value.parts or (Part("", place, place),)
        self.spend(len(parts) // 4 + len(value.text or "") // 1024)
        if len(parts) == 1:
            parts = (parts[0]._replace(place=place),)
        return [_fragment(part._replace(name=name, many=False), mode) for part in parts]

    def _found(self, node: Node, state: State) -> Found:
        """What the name stands for; a single element of an array is unknown."""
        name = node["Param"]["Value"]
        if name == "#" or (name.isdigit() and name != "0"):
            return Found(None, "argument", absent=name != "#")
        if name in SPECIAL:
            return Found(None, "special")
        variable = state.variables.get(name)
        if variable is None:
            return Found(None, "environment", absent=name not in ALWAYS_SET)
        if node.get("Index") or isinstance(variable.content, tuple):
            self.number(node.get("Index"), state)  # for the references in it
            return Found(None, "form")
        return Found(variable.content)

    def _conditional(self, node: Node, found: Found, state: State, mode: Mode) -> Fragments:
        """`-`, `=`, `+` and `?`: what is taken depends on whether the variable is set, or empty."""
        operator, word = _operator(node), node["Exp"].get("Word")
        present = _present(found, empty_counts=":" not in operator)
        if present is None and not found.absent:
            return [self._missing(node, found.reason or "conditional", mode)]
        if present and found.value is not None and "+" not in operator:
            return self._shown(node, found.value, mode)
        if "?" in operator:
            return [self._missing(node, found.reason or "environment", mode)]
        parts = word.get("Parts", ()) if word and bool(present) == ("+" in operator) else ()
        fragments = self.expand(parts, state, mode, start=mode != "quoted")
        place = self.place(node)
        if "=" in operator:
            state.lose(node["Param"]["Value"], place)
        empty = _fragment(Part("", place, place), mode)
        return [item and _as_default(item, mode, found.absent) for item in fragments or [empty]]

    def _changed(self, node: Node, value: Value) -> Value:
        """The value in capitals or in small letters; any other change of its text is unknown."""
        change = _CASES.get(_operator(node)) if not node.get("Exp", {}).get("Word") else None
        text, place = value.text, self.place(node)
        if text is None or change is None:
            reason = (value.unknown and value.unknown.reason) or "form"
            name = node["Param"]["Value"]
            return lost(place, self.raw(node), reason, name=name, many=value.many)
        return Value((Part(change(text), place, value.origin or place, default=value.default),))

    def _all(self, node: Node, state: State, mode: Mode) -> Fragments:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}`; with an operator they are unknown."""
        name = node["Param"]["Value"]
        values, reason = _elements(name, state)
        separate = _all_of(node) == "@" or mode == "split"
        if values is None:
            return [self._missing(node, reason, mode)]
        changed = node.get("Excl") or node.get("Length") or _operator(node)
        uncountable = any(value.many for value in values)
        if changed or (uncountable and not separate):
            return [self._missing(node, "form", mode)]
        self.spend(len(values) // 2)
        place = self.place(node)
        found: Fragments = []
        for value in values:
            if found:
                found.append(None if separate else Fragment(literal(" ", place), True))
            parts = value.parts or (Part("", place, place),)
            found += [_fragment(part, mode) for part in parts]
        return found


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
    if node.get("Repl"):
        return "/"
    return str((node.get("Exp") or {}).get("Op", ""))


def _elements(name: str, state: State) -> tuple[tuple[Value, ...] | None, Reason]:
    """What `[@]` or `$@` stands for, or `None` and why it is unknown."""
    if name in ("@", "*"):
        return None, "argument"
    variable = state.variables.get(name)
    content = variable.content if variable else ()
    values = (content,) if isinstance(content, Value) else content or ()
    return values if variable else None, "environment"


def _present(found: Found, *, empty_counts: bool) -> bool | None:
    """Whether a variable is set (and not empty); `None` where that is unknown."""
    if found.value is None:
        return None if found.reason is not None else False
    if any(part.text for part in found.value.parts):
        return True
    missing = found.value.unknown
    if missing is None:
        return empty_counts
    return True if empty_counts and missing.reason != "conditional" else None


def _as_default(item: Fragment, mode: Mode, absent: bool) -> Fragment:
    """A fragment of a default; unquoted ones are split like any expansion."""
    part = item.part._replace(default=absent or item.part.default)
    return Fragment(part, item.quoted, mode == "split" and not item.quoted)


# Word splitting


def joined(fragments: Fragments) -> Value:
    """Fragments as one value, as an assignment takes them: separate words joined by a space."""
    place = next((item.part.place for item in fragments if item), Place(0, 1, 1))
    parts = [item.part if item else literal(" ", place) for item in fragments]
    return bounded(part._replace(many=False) for part in parts)


def _fields(fragments: Fragments, source: Source) -> Iterator[Value]:
    """The words of fragments; a pattern stays as it is written."""
    current: list[Fragment] = []
    for item in [*fragments, None]:
        if item is not None and item.expanded and item.part.text is not None:
            *before, current = _cut(current, item, source)
            for word in before:
                yield bounded(fragment.part for fragment in word)
        elif item is not None:
            part = item.part._replace(many=True) if item.expanded else item.part
            current = [*current, item._replace(part=part)]
        elif current:
            if any(fragment.quoted or fragment.part.text != "" for fragment in current):
                yield bounded(fragment.part for fragment in current)
            current = []


def _cut(current: list[Fragment], item: Fragment, source: Source) -> list[list[Fragment]]:
    """What an expansion adds to a word, cut at its spaces; the last word is still open."""
    words = [current]
    text = item.part.text or ""
    edges = [(0, 0), *(match.span() for match in _SPACES.finditer(text)), (len(text), len(text))]
    for (_, begin), (end, after) in pairwise(edges):
        if end > begin:
            words[-1] = [
                *words[-1],
                Fragment(_piece(item.part, begin, text[begin:end], source), False),
            ]
        if after > end and words[-1]:
            words.append([])
    return words


def _piece(part: Part, start: int, text: str, source: Source) -> Part:
    """A stretch of a part, with its own place where it is written there."""
    offset = part.origin.offset + start
    if text == part.text or not source.text.startswith(text, offset):
        return part._replace(text=text)
    place = source.place(offset)
    return part._replace(text=text, place=place, origin=place)
