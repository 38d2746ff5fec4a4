"""Assignments, declarations and the builtin commands that change what a script sees."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rl_resources.script.bash.condition import Conditions, Status, test
from rl_resources.script.bash.parser import Node, Tree, parse
from rl_resources.script.bash.script import Assignment, AssignmentKind, Option, Word
from rl_resources.script.bash.state import Content, State, Variable, any_number
from rl_resources.script.bash.value import (
    Part,
    Place,
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
_READING = frozenset({"read", "mapfile", "readarray", "getopts", "printf"})


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
        content: Content
        if node.get("Array"):
            elements = self._elements_of(node, state)
            content = self._array(node, elements, old)
            if old and not old.volatile:
                state.variables[name] = old._replace(content=None)
        else:
            value = self.value(node["Value"], state) if node.get("Value") else value
            content = self._content(node, value, old, state)
        state.set(name, content, self.place(node), exported=kind == "export")
        return self.note_assignment(
            name,
            value,
            node,
            kind,
            elements=elements,
            key=self.raw(node["Index"]) if node.get("Index") else None,
            operator="+=" if node.get("Append") else "=",
            exported=state.variables[name].exported,
        )

    def _content(self, node: Node, value: Value, old: Variable | None, state: State) -> Content:
        """What the variable holds after `NAME=value`, `NAME+=value` or with a key."""
        if node.get("Index"):
            self.number(node["Index"], state)  # for the references in it
            return any_number(value)
        if not node.get("Append"):
            return value
        before = old.content if old else self._outside(node, "")
        if isinstance(before, tuple):
            return any_number(value)
        return bounded([*(before or Value()).parts, *value.parts])

    def _outside(self, node: Node, brackets: str) -> Value:
        """What the environment holds where the script has set nothing."""
        name = node["Name"]["Value"]
        source, many = f"${{{name}{brackets}}}", bool(brackets)
        return lost(self.place(node), source, "environment", name=name, many=many)

    def _elements_of(self, node: Node, state: State) -> tuple[Word, ...]:
        words: list[Word] = []
        for element in node["Array"].get("Elems", ()):
            if element.get("Value") and self.spend():
                words += self.words_of(element["Value"], state)
        return tuple(words)

    def words_of(self, node: Node, state: State) -> list[Word]:
        """The words that one word becomes, each with its place."""
        raw, place = self.raw(node), self.place(node)
        return [Word(value, raw, place) for value in self.words(node, state)]

    def _array(
        self, node: Node, elements: Sequence[Word], old: Variable | None
    ) -> tuple[Value, ...]:
        if any(element.get("Index") for element in node["Array"].get("Elems", ())):
            return any_number(self._outside(node, "[@]"))
        values = tuple(word.value for word in elements)
        if not node.get("Append"):
            return values
        before = old.content if old else (self._outside(node, "[@]"),)
        before = (before,) if isinstance(before, Value) else before
        return (*(before or ()), *values)

    # Declarations

    def declare(self, node: Node, words: Sequence[Word], state: State) -> None:
        """Do what `export`, `declare`, `local` or `readonly` does with its names."""
        command = node["Variant"]["Value"]
        texts = [word.text or "" for word in words[1:]]
        flags = "".join(text[1:] for text in texts if text.startswith("-"))
        if set(flags) & set("pfF"):
            return
        kind: AssignmentKind = "export" if "x" in flags else _KINDS.get(command, "declare")
        hides = command in ("local", "declare", "typeset") and "g" not in flags
        for item in node.get("Args", ()):
            name = item["Name"]["Value"] if item.get("Name") else ""
            if name and hides:
                self._hide(name, state)
            if name and not item.get("Naked"):
                self.assign(item, state, kind)
            elif name:
                self._declared(name, kind, flags, self.place(item), state)
            if name and kind != "export" and set(flags) & set("niul"):
                self._make_volatile(name, flags, state)
        for text, word in zip(texts, words[1:], strict=True):
            if word.raw[:1] in "\"'{$" and "=" in text:
                state.lose(text.partition("=")[0], word.place)

    def _hide(self, name: str, state: State) -> None:
        """Begin a variable that ends with the function being called."""
        if self.locals and name not in self.locals[-1]:
            self.locals[-1].add(name)
            state.variables[name] = Variable(None, self.source.place(0))

    def _declared(
        self, name: str, kind: AssignmentKind, flags: str, place: Place, state: State
    ) -> None:
        """A name without a value: exported, or declared and still unset."""
        old = state.variables.get(name)
        if kind == "export" and old:
            state.variables[name] = old._replace(exported="n" not in flags)
        if kind in ("export", "readonly") or (old and old.content is not None):
            return
        content = () if set(flags) & {"a", "A"} else None
        state.variables[name] = Variable(content, place, bool(old and old.exported))

    def _make_volatile(self, name: str, flags: str, state: State) -> None:
        """From here on what is assigned is unknown, of a reference also its target."""
        held = state.variables[name].content
        target = held.text or "" if isinstance(held, Value) and "n" in flags else ""
        for other in filter(None, (name, target)):
            state.lose(other, self.source.place(0))
            if other in state.variables:
                state.variables[other] = state.variables[other]._replace(volatile=True)

    # Builtins

    def builtin(self, name: str, arguments: Sequence[Word], state: State) -> Status:
        """Do what a builtin does; its status, `None` also for any other command."""
        texts = [word.text for word in arguments]
        if name == "getopts":
            state.lose("OPTIND", self.source.place(0))
        if name in _READING and (name != "printf" or texts[:1] == ["-v"]):
            many = name in ("mapfile", "readarray") or any(
                re.match(r"-\w*a", t or "") for t in texts
            )
            return self._read_names(arguments[: 2 if name == "printf" else None], state, many)
        if name in (":", "true", "echo", "printf"):
            return True
        if name in ("test", "["):
            closed = name == "test" or texts[-1:] == ["]"]
            values = [word.value for word in arguments][: -1 if name == "[" else None]
            return test(values) if closed else None
        if name in ("exit", "return", "break", "continue"):
            return self._leave(name, texts, state)
        method = {
            "set": self._set,
            "shopt": self._shopt,
            "shift": self._shift,
            "unset": self._unset,
            "eval": self._eval,
        }.get(name)
        return False if name == "false" else method(arguments, state) if method else None

    def _leave(self, name: str, texts: Sequence[str | None], state: State) -> Status:
        if name == "return" and self.here.in_function:
            state.flow = "return"
            return texts[0] == "0" if texts and (texts[0] or "").isdecimal() else None
        if name in ("exit", "return"):
            state.flow = "exit"
        elif self.here.in_loop:
            state.flow = name
            if texts not in ([], ["1"]):
                self.steps = 0  # it leaves several loops at once
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
                name = (rest.pop(0).text or "") if named else _OPTIONS.get(letter, "")
                self._switch(state, name, flags[0] == "-", word.place)
        if rest:
            state.positional = tuple(word.value for word in rest)
        return True

    def _switch(self, state: State, name: str, on: bool, place: Place) -> None:
        if name:
            self.options.append(Option(name, on, place))
            state.options = state.options | {name} if on else state.options - {name}

    def _shopt(self, arguments: Sequence[Word], state: State) -> Status:
        flags = {word.text for word in arguments if (word.text or "").startswith("-")}
        if not flags & {"-s", "-u"}:
            return None
        for word in arguments:
            if word.text not in flags:
                self._switch(state, word.text or "", "-s" in flags, word.place)
        return True

    def _shift(self, arguments: Sequence[Word], state: State) -> Status:
        text = arguments[0].text if arguments else "1"
        if state.positional is None:
            return None
        count = int(text) if text is not None and text.isdecimal() and len(text) < 6 else None
        if count is None or any(value.many for value in state.positional[:count]):
            state.positional = (lost(self.source.place(0), "$@", "argument", many=True),)
            return None
        if count > len(state.positional):
            return False
        state.positional = state.positional[count:]
        return True

    def _unset(self, arguments: Sequence[Word], state: State) -> Status:
        for word in arguments:
            name, bracket, _ = (word.text or "-").partition("[")
            old = state.variables.get(name)
            if bracket and old:
                missing = any_number(lost(word.site, word.raw, "conditional"))
                state.variables[name] = old._replace(content=missing)
            elif not bracket and not name.startswith("-"):
                state.variables[name] = Variable(None, word.site, bool(old and old.exported))
        return True

    def _read_names(self, arguments: Sequence[Word], state: State, many: bool) -> Status:
        """`read`, `mapfile` and others: what they assign to the names among their words."""
        for word in arguments:
            name = word.text or ""
            if name.isidentifier():
                missing = lost(word.place, f"${{{name}}}", "special", many=many)
                content = (missing,) if many else missing
                state.variables[name] = Variable(content, word.site)
                node = {"Pos": word.site.offset, "End": word.site.offset + len(word.raw)}
                self.note_assignment(name, missing, node, "read")
        return None

    def _eval(self, arguments: Sequence[Word], state: State) -> Status:
        parts: list[Part] = []
        for word in arguments:
            parts += [*word.value.parts, literal(" ", word.site)]
        source = Quoted(Value(tuple(parts)), self.source.whole)
        known = all(word.value.known for word in arguments)
        tree = (
            parse(source.text) if self.spend(1 + len(source.text) // 32) else Tree((), (), (0, ""))
        )
        status = None if tree.problem else self.evaluate(source, tree, state)
        if known and not tree.problem:
            return status
        for word in arguments:
            for name in _ASSIGNED.findall(word.value.shown):
                state.lose(name, word.place)
        return None
