"""`$NAME` and `${…}`: defaults, lengths, indirection, slices, trimming, replacing, case."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rl_resources.script.bash import pattern
from rl_resources.script.bash.arithmetic import Arithmetic
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.state import ALWAYS_SET, Found, State
from rl_resources.script.bash.trace import SPECIAL
from rl_resources.script.bash.value import Part, Reason, Value, literal, unknown

Mode = Literal["split", "joined", "quoted"]
_DEFAULTS = ("-", "=", "+", "?")


class Fragment(NamedTuple):
    """A part with its quoting; only an `expanded` one is split into words."""

    part: Part
    quoted: bool
    expanded: bool = False


Fragments = list[Fragment | None]
"""`None` separates words, as the elements of `"${ARRAY[@]}"` are separate."""


class Parameters(Arithmetic):
    """Expands parameters against a state."""

    @abstractmethod
    def fragments(self, parts: Sequence[Node], state: State, mode: Mode) -> Fragments:
        """The parts of a word, expanded."""

    @abstractmethod
    def operand(self, word: Node | None, state: State, mode: Mode) -> Fragments:
        """The word of `${NAME:-…}`."""

    @abstractmethod
    def pattern(self, word: Node | None, state: State) -> re.Pattern[str] | None:
        """A word as a pattern, `None` where it is unknown."""

    def parameter(self, node: Node, state: State, mode: Mode) -> Fragments:
        """The fragments of one parameter."""
        name, sign = node["Param"]["Value"], _operator(node)
        self.note_reference(name, node, state, quoted=mode != "split", operator=sign)
        if self.exhausted:
            return [self.missing(node, "limit", mode)]
        return self._expanded(node, state, mode)

    def _expanded(self, node: Node, state: State, mode: Mode) -> Fragments:
        sign = _operator(node)
        if all_of(node):
            return self._all(node, state, mode)
        if "Names" in node:
            return [self.missing(node, "form", mode)]
        found = self._found(node, state)
        if node.get("Excl"):
            return self._indirect(node, found, state, mode)
        if node.get("Length"):
            return self._length(node, found, mode)
        if sign.lstrip(":") in _DEFAULTS and sign != "":
            return self._conditional(node, found, state, mode)
        if found.value is None and found.reason is not None:
            return [self.missing(node, found.reason, mode)]
        value = found.value or Value()
        return self._shown(node, self._changed(node, value, state) if sign else value, mode)

    def missing(self, node: Node, reason: Reason, mode: Mode) -> Fragment:
        """An expansion that is unknown."""
        name = node["Param"]["Value"] if "Param" in node else ""
        many = mode == "split" or (mode == "quoted" and all_of(node) == "@")
        part = unknown(self.place(node), self.raw(node), reason, name=name, many=many)
        return Fragment(part, mode == "quoted", mode == "split")

    def _shown(self, node: Node, value: Value, mode: Mode) -> Fragments:
        """A value where the parameter stands; a value of one part moves there."""
        place, name = self.place(node), node["Param"]["Value"]
        parts = value.parts or (Part("", place, place),)
        self.spend(len(parts) // 4 + len(value.text or "") // 1024)
        if len(parts) == 1:
            parts = (parts[0]._replace(place=place),)
        return [
            Fragment(part._replace(name=name, many=False), mode == "quoted", mode == "split")
            for part in parts
        ]

    # What a name stands for

    def _found(self, node: Node, state: State) -> Found:
        """What the name stands for; without subscript an array is its first element."""
        name = node["Param"]["Value"]
        if name.isdigit() and name != "0":
            return _argument(int(name), state)
        if name == "#":
            return self._count(node, state)
        if name in SPECIAL:
            return Found(None, "special")
        variable = state.variables.get(name)
        if variable is None:
            return Found(None, "environment", absent=name not in ALWAYS_SET)
        content, index = variable.content, node.get("Index")
        key = self.number(index, state) if index else 0
        if isinstance(content, tuple):
            return _element(content, key)
        return Found(content) if key == 0 else Found(None, "form")

    def _count(self, node: Node, state: State) -> Found:
        if state.positional is None or any(value.many for value in state.positional):
            return Found(None, "argument")
        return Found(Value((literal(str(len(state.positional)), self.place(node)),)))

    # Operators

    def _length(self, node: Node, found: Found, mode: Mode) -> Fragments:
        text = (found.value or Value()).text
        if text is None or found.reason:
            return [self.missing(node, found.reason or "form", mode)]
        place = self.place(node)
        return self._shown(node, Value((literal(str(len(text)), place),)), mode)

    def _indirect(self, node: Node, found: Found, state: State, mode: Mode) -> Fragments:
        name = found.value.text if found.value else None
        if not name or not name.isidentifier():
            return [self.missing(node, found.reason or "form", mode)]
        target = {**node, "Excl": False, "Index": None, "Param": {**node["Param"], "Value": name}}
        return self._expanded(target, state, mode)

    def _conditional(self, node: Node, found: Found, state: State, mode: Mode) -> Fragments:
        """`-`, `=`, `+` and `?`: what is taken depends on whether the variable is set, or empty."""
        sign = _operator(node)
        present = _present(found, empty_counts=not sign.startswith(":"))
        if present is None and not found.absent:
            return [self.missing(node, found.reason or "conditional", mode)]
        if sign.endswith("+"):
            chosen = self._default if present else self._nothing
            return chosen(node, state, mode, found.absent)
        if present and found.value is not None:
            return self._shown(node, found.value, mode)
        if sign.endswith("?"):
            return [self.missing(node, found.reason or "environment", mode)]
        if sign.endswith("="):
            return self._assigned_default(node, found, state, mode)
        return self._default(node, state, mode, found.absent)

    def _default(self, node: Node, state: State, mode: Mode, absent: bool) -> Fragments:
        fragments = self.operand(node["Exp"].get("Word"), state, mode)
        if not fragments and mode != "split":
            return self._nothing(node, state, mode, absent)
        return [item and _as_default(item, mode, absent) for item in fragments]

    def _nothing(self, node: Node, state: State, mode: Mode, absent: bool) -> Fragments:
        place = self.place(node)
        part = Part("", place, place, default=absent)
        return [Fragment(part, mode == "quoted", mode == "split")]

    def _assigned_default(self, node: Node, found: Found, state: State, mode: Mode) -> Fragments:
        name = node["Param"]["Value"]
        if not name.isidentifier() or node.get("Index"):
            return [self.missing(node, "form", mode)]
        inner: Mode = "quoted" if mode == "quoted" else "joined"
        fragments = self.operand(node["Exp"].get("Word"), state, inner)
        parts = (item.part._replace(default=found.absent) for item in fragments if item)
        value = Value(tuple(parts))
        state.set(name, value, self.place(node))
        self.note_assignment(name, value, node, "default")
        return self._shown(node, value, mode)

    def _changed(self, node: Node, value: Value, state: State) -> Value:
        """The value after a change of its text; unknown where either is."""
        text, place = value.text, self.place(node)
        result = self._change(node, text or "", state)
        if text is None or result is None or len(text) > pattern.LONGEST_MATCHED:
            reason = (value.unknown and value.unknown.reason) or "form"
            name = node["Param"]["Value"]
            return Value((unknown(place, self.raw(node), reason, name=name, many=value.many),))
        if result == text:
            return value
        return Value((Part(result, place, value.origin or place, default=value.default),))

    def _change(self, node: Node, text: str, state: State) -> str | None:
        """What an operator makes of a text, `None` where that is unknown."""
        sign = _operator(node)
        if sign == ":":
            return _substring(text, self._bounds(node, state))
        if sign[0] == "/":
            return self._replaced(node["Repl"], sign, text, state)
        word = node["Exp"].get("Word")
        compiled = self.pattern(word, state)
        if sign[0] in "^," and (compiled or not word):
            return pattern.cased(text, compiled if word else None, sign)
        if sign[0] in "#%" and compiled:
            return pattern.trimmed(text[: pattern.LONGEST_MATCHED], compiled, sign)
        return None

    def _replaced(self, node: Node, sign: str, text: str, state: State) -> str | None:
        old = node["Orig"]
        first = old["Parts"][0] if old.get("Parts") else None
        anchor = self.source.text[first["Pos"]] if first and first["Type"] == "Lit" else ""
        if anchor in ("#", "%") and sign == "/":
            sign += anchor
            rest = {**first, "Pos": first["Pos"] + 1} if first else {}
            old = {**old, "Parts": [rest, *old["Parts"][1:]]}
        compiled = self.pattern(old, state)
        new = self.operand(node.get("With"), state, "joined")
        texts = [item.part.text if item else None for item in new]
        if compiled is None or None in texts or re.search(r"[&\\]", "".join(map(str, texts))):
            return None
        text = text[: pattern.LONGEST_MATCHED]
        return pattern.replaced(text, compiled, "".join(map(str, texts)), sign)

    def _bounds(self, node: Node, state: State) -> tuple[int | None, int | None]:
        """Offset and length of `${NAME:offset:length}`; a missing length is the largest one."""
        piece = node["Slice"]
        length = self.number(piece["Length"], state) if piece.get("Length") else 1 << 62
        return self.number(piece["Offset"], state), length

    # Lists

    def _all(self, node: Node, state: State, mode: Mode) -> Fragments:
        """`$@`, `$*`, `${ARRAY[@]}` and `${ARRAY[*]}` with their operators."""
        name, sign = node["Param"]["Value"], _operator(node)
        values = _elements(name, state)
        if values is None:
            reasons: tuple[Reason, Reason] = ("form", "environment")
            reason = "argument" if name in "@*" else reasons[name not in state.variables]
            return [self.missing(node, reason, mode)]
        countable = not any(value.many for value in values)
        if node.get("Length") and countable:
            count = literal(str(len(values)), self.place(node))
            return self._shown(node, Value((count,)), mode)
        if node.get("Excl") or node.get("Length"):
            return [self.missing(node, "form", mode)]
        if sign.lstrip(":") in _DEFAULTS and sign:
            return self._all_or_default(node, values, state, mode)
        if sign == ":":
            offset, length = self._bounds(node, state)
            if not countable or offset is None or length is None or name in "@*":
                return [self.missing(node, "form", mode)]
            values = values[offset:][:length] if offset >= -len(values) else ()
        elif sign:
            values = tuple(self._changed(node, value, state) for value in values)
        return self._listed(node, values, state, mode)

    def _all_or_default(
        self, node: Node, values: Sequence[Value], state: State, mode: Mode
    ) -> Fragments:
        sign = _operator(node)
        present = any(not value.many for value in values)
        if values and not present:
            return [self.missing(node, "conditional", mode)]
        if sign.startswith(":") and len(values) == 1:
            if not values[0].known:
                return [self.missing(node, "conditional", mode)]
            present = bool(values[0].text)
        if present and not sign.endswith("+"):
            return self._listed(node, values, state, mode)
        chosen = present == sign.endswith("+")
        return self.operand(node["Exp"].get("Word"), state, mode) if chosen else []

    def _listed(self, node: Node, values: Sequence[Value], state: State, mode: Mode) -> Fragments:
        """Values as separate words, or joined where `*` or an assignment wants one."""
        self.spend(len(values) // 2)
        place = self.place(node)
        separate = all_of(node) == "@" or mode == "split"
        if not separate and "IFS" in state.variables:
            return [self.missing(node, "form", mode)]
        found: Fragments = []
        for index, value in enumerate(values):
            if index:
                found.append(None if separate else Fragment(literal(" ", place), True))
            parts = value.parts or (Part("", place, place),)
            if not separate:
                parts = tuple(part._replace(many=False) for part in parts)
            found += [Fragment(part, mode == "quoted", mode == "split") for part in parts]
        return found


def all_of(node: Node) -> str:
    """`@` or `*` where a parameter stands for all elements or arguments, else empty."""
    name = node.get("Param", {}).get("Value", "")
    if name in ("@", "*"):
        return str(name)
    parts: Sequence[Node] = (node.get("Index") or {}).get("Parts") or ()
    text = str(parts[0].get("Value", "")) if len(parts) == 1 else ""
    return text if text in ("@", "*") else ""


def _operator(node: Node) -> str:
    """What follows the name: `:-`, `%`, `//`, `:` and so on."""
    if node.get("Slice"):
        return ":"
    if node.get("Repl"):
        return "//" if node["Repl"].get("All") else "/"
    return str((node.get("Exp") or {}).get("Op", ""))


def _elements(name: str, state: State) -> tuple[Value, ...] | None:
    """What `[@]` or `$@` stands for, `None` where it is unknown."""
    if name in ("@", "*"):
        return state.positional
    variable = state.variables.get(name)
    if variable is None:
        return None
    content = variable.content
    return content if isinstance(content, tuple) else () if content is None else (content,)


def _element(values: tuple[Value, ...], key: int | None) -> Found:
    if key is None or key < 0 or any(value.many for value in values[: key + 1]):
        return Found(None, "conditional")
    return Found(values[key] if key < len(values) else None)


def _argument(number: int, state: State) -> Found:
    if state.positional is None:
        return Found(None, "argument", absent=True)
    before = state.positional[:number]
    if any(value.many for value in before):
        return Found(None, "argument")
    return Found(before[-1] if len(before) == number else None)


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


def _substring(text: str, bounds: tuple[int | None, int | None]) -> str | None:
    start, length = bounds
    if start is None or length is None:
        return None
    first = start + len(text) if start < 0 else start
    if not 0 <= first <= len(text):
        return ""
    last = first + length if length >= 0 else len(text) + length
    return text[first:last] if last >= first else None
