"""Assignments, declarations and the builtin commands that change what a script sees."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rl_resources.script.bash.conditions import Conditions, Status, test
from rl_resources.script.bash.parser import Node, Tree, parse
from rl_resources.script.bash.script import Assignment, AssignmentKind, Option, Word
from rl_resources.script.bash.state import Content, State, Variable, any_number
from rl_resources.script.bash.value import (
    Part,
    Quoted,
    Source,
    Value,
    bounded,
    literal,
    lost,
)

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

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.locals: list[set[str]] = []

    @abstractmethod
    def evaluate(self, source: Source, tree: Tree, state: State) -> Status:
        """Follow what the command noted last, an `eval`, has read."""

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
        if flags & set("fFp"):
            return
        if flags - set("aAgrx"):
            self.give_up()
        kind: AssignmentKind = "export" if "x" in flags else _KINDS.get(command, "declare")
        for item in node.get("Args", ()):
            if item.get("Name"):
                if kind in ("local", "declare") and "g" not in flags:
                    self._hide(item["Name"]["Value"], state)
                if not item.get("Naked"):
                    self.assign(item, state, kind)
                else:
                    self._declared(item, kind, bool(flags & set("aA")), state)
        for text, word in zip(given, words[1:], strict=True):
            if word.raw[:1] in "\"'{$" and "=" in text:
                state.lose(text.partition("=")[0], word.place)

    def _hide(self, name: str, state: State) -> None:
        """Begin a variable that ends with the function being called."""
        if self.locals and name not in self.locals[-1]:
            self.locals[-1].add(name)
            state.variables[name] = Variable(None, self.source.place(0))

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
        if name in ("exit", "return", "break", "continue"):
            return self._leave(name, arguments, state)
        method = {
            "set": self._set,
            "shift": self._shift,
            "unset": self._unset,
            "eval": self._eval,
        }.get(name)
        return False if name == "false" else method(arguments, state) if method else None

    def _leave(self, name: str, arguments: Sequence[Word], state: State) -> Status:
        if name == "exit" or (name == "return" and not self.locals):
            state.flow = "exit"
        elif name == "return":
            state.flow = "return"
            return True if [word.text for word in arguments] == ["0"] else None
        elif self.here.in_loop:
            state.flow = name
            if arguments:
                self.give_up()  # it may leave several loops at once
        return None

    def _set(self, arguments: Sequence[Word], state: State) -> Status:
        rest = list(arguments)
        while rest and (flags := rest[0].text) is not None and flags[:1] in ("-", "+"):
            word = rest.pop(0)
            if flags in ("--", "-"):
                state.positional = tuple(word.value for word in rest)
                return True
            for letter in flags[1:]:
                named = letter == "o" and rest
                name = (rest.pop(0).text or "") if named else _OPTIONS.get(letter, letter)
                on = flags[0] == "-"
                self.options.append(Option(name, on, word.place))
                state.options = state.options | {name} if on else state.options - {name}
        if rest:
            state.positional = tuple(word.value for word in rest)
        return True

    def _shift(self, arguments: Sequence[Word], state: State) -> Status:
        text = arguments[0].text if arguments else "1"
        if state.positional is None:
            return None
        first = state.positional[: int(text)] if text and re.fullmatch("[0-9]{1,5}", text) else ()
        if str(len(first)) == text and not any(value.many for value in first):
            state.positional = state.positional[len(first) :]
            return True
        state.positional = (lost(self.source.place(0), "$@", "argument", many=True),)
        return None

    def _unset(self, arguments: Sequence[Word], state: State) -> Status:
        for word in arguments:
            name, bracket, _ = (word.text or "").partition("[")
            if bracket:
                state.lose(name, word.site)
            elif name.isidentifier():
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
        parts: list[Part] = []
        for word in arguments:
            parts += [*word.value.parts, literal(" ", word.site)]
        source = Quoted(Value(tuple(parts)), self.source.whole)
        self.spend(1 + len(source.text) // 32)
        tree = Tree(problem=(0, "")) if self.exhausted else parse(source.text)
        status = None if tree.problem else self.evaluate(source, tree, state)
        if not tree.problem and all(word.text is not None for word in arguments):
            return status
        for word in arguments:
            for name in _ASSIGNED.findall(word.value.shown):
                state.lose(name, word.place)
        return None
