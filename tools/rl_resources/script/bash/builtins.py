"""Assignments, declarations and the builtin commands that change what a script sees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rl_resources.script.bash.conditions import Conditions, Status, test
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import Assignment, AssignmentKind, Option, Word
from rl_resources.script.bash.state import Content, State, Variable, any_number
from rl_resources.script.bash.value import Value, bounded, lost

_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?(?:\+\+|--|[-+*/%&|^<>]{0,2}=)")
_KINDS: Mapping[str, AssignmentKind] = {
    "export": "export",
    "readonly": "readonly",
    "local": "local",
}
_OPTIONS: Mapping[str, str] = {
    "a": "allexport",
    "e": "errexit",
    "f": "noglob",
    "u": "nounset",
    "v": "verbose",
    "x": "xtrace",
}
_READING = frozenset({"read", "mapfile", "readarray", "getopts"})


class Builtins(Conditions):
    """Does what builtin commands do to the state."""

    # Assignments

    def assign(self, node: Node, state: State, kind: AssignmentKind = "plain") -> Assignment:
        """Make one assignment and note it."""
        name, elements, value = node["Name"]["Value"], None, Value()
        old = state.variables.get(name)
        before = old.content if old else self._outside(node)
        content: Content
        if node.get("Array"):
            elements = self._elements_of(node, state)
            content = self._array(node, elements, before)
        else:
            value = self.value(node["Value"], state) if node.get("Value") else value
            content = self._content(node, value, before, state)
        state.set(name, content, self.place(node), exported=kind == "export")
        exported = state.variables[name].exported
        return self.note_assignment(name, value, node, kind, elements, exported)

    def _outside(self, node: Node) -> Value:
        """What the environment has where the script has set nothing."""
        name = node["Name"]["Value"]
        return lost(self.place(node), f"${{{name}}}", "environment", name=name)

    def _content(self, node: Node, value: Value, before: Content, state: State) -> Content:
        """What the variable has after `NAME=value`, `NAME+=value` or with a key."""
        if node.get("Index"):
            self.number(node["Index"], state)  # for the references in it
            return any_number(value)
        if not node.get("Append"):
            return value
        if isinstance(before, tuple):
            return any_number(value)
        return bounded([*(before or Value()).parts, *value.parts])

    def _elements_of(self, node: Node, state: State) -> tuple[Word, ...]:
        nodes = [item["Value"] for item in node["Array"].get("Elems", ()) if item.get("Value")]
        return tuple(word for item in nodes for word in self.words_of(item, state))

    def words_of(self, node: Node, state: State) -> list[Word]:
        """The words that one word becomes, each with its place."""
        raw, place = self.raw(node), self.place(node)
        return [Word(value, raw, place) for value in self.words(node, state)]

    def _array(self, node: Node, elements: Sequence[Word], before: Content) -> tuple[Value, ...]:
        if any(element.get("Index") for element in node["Array"].get("Elems", ())):
            return any_number(self._outside(node))
        values = tuple(word.value for word in elements)
        if not node.get("Append"):
            return values
        return (*((before,) if isinstance(before, Value) else before or ()), *values)

    # Declarations

    def declare(self, node: Node, words: Sequence[Word], state: State) -> None:
        """Do what `export`, `declare`, `local` or `readonly` does with its names."""
        command, given = node["Variant"]["Value"], [word.text or "" for word in words[1:]]
        flags = {flag for text in given if text.startswith("-") for flag in text[1:]}
        if flags - set("aAgrx"):
            self.give_up()
        kind: AssignmentKind = "export" if "x" in flags else _KINDS.get(command, "declare")
        for item in node.get("Args", ()):
            if item.get("Name"):
                if not item.get("Naked"):
                    self.assign(item, state, kind)
                else:
                    self._declared(item, kind, bool(flags & set("aA")), state)

    def _declared(self, node: Node, kind: AssignmentKind, array: bool, state: State) -> None:
        """A name without a value: exported, or declared and still unset."""
        name = node["Name"]["Value"]
        old = state.variables.get(name)
        if old:
            state.variables[name] = old._replace(exported=old.exported or kind == "export")
        elif kind in ("local", "declare"):
            state.variables[name] = Variable(() if array else None, self.place(node))

    # Builtins

    def builtin(self, name: str, arguments: Sequence[Word], state: State) -> Status:
        """Do what a builtin does; its status, `None` also for any other command."""
        if name in _READING or (name == "printf" and arguments and arguments[0].text == "-v"):
            return self._read_names(name, arguments, state)
        if name in (":", "true", "echo", "printf"):
            return True
        if name in ("test", "["):
            values = [word.value for word in arguments]
            return test(values if name == "test" else values[:-1])
        if name == "exit":
            state.ended = True
        method = {"set": self._set, "unset": self._unset, "eval": self._eval}.get(name)
        return False if name == "false" else method(arguments, state) if method else None

    def _set(self, arguments: Sequence[Word], state: State) -> Status:
        rest = list(arguments)
        while rest and (flags := rest[0].text) is not None and flags[:1] in ("-", "+"):
            word = rest.pop(0)
            if flags in ("--", "-"):
                break
            for letter in flags[1:]:
                named = letter == "o" and rest
                name = (rest.pop(0).text or "") if named else _OPTIONS.get(letter, letter)
                on = flags[0] == "-"
                self.options.append(Option(name, on, word.place))
                state.options = state.options | {name} if on else state.options - {name}
        return True

    def _unset(self, arguments: Sequence[Word], state: State) -> Status:
        for word in arguments:
            name = word.text or ""
            if name.isidentifier():
                state.variables[name] = Variable(None, word.site)
        return True

    def _read_names(self, command: str, arguments: Sequence[Word], state: State) -> Status:
        """`read`, `mapfile` and others: what they assign to the names among their words."""
        many = command in ("mapfile", "readarray") or any(
            re.match(r"-\w*a", word.text or "") for word in arguments
        )
        for word in arguments[: 2 if command == "printf" else None]:
            name = word.text or ""
            if name.isidentifier():
                missing = lost(word.place, f"${{{name}}}", "special", many=many)
                state.variables[name] = Variable((missing,) if many else missing, word.site)
                node = {"Pos": word.site.offset, "End": word.site.offset + len(word.raw)}
                self.note_assignment(name, missing, node, "read")
        return None

    def _eval(self, arguments: Sequence[Word], state: State) -> Status:
        """What is run is not followed; what it may assign is unknown."""
        for word in arguments:
            for name in _ASSIGNED.findall(word.value.shown):
                state.lose(name, word.place)
        return None
