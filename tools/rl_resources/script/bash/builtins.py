"""Assignments, declarations and the builtin commands that change what a script sees."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rl_resources.script.bash.condition import Conditions, Status, test
from rl_resources.script.bash.parser import Node, Tree, parse
from rl_resources.script.bash.script import Assignment, AssignmentKind, Option, Word
from rl_resources.script.bash.state import Array, Content, State, Variable
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
_WITH_VALUE = frozenset({"-p", "-d", "-n", "-N", "-t", "-u", "-i", "-a", "-c", "-C", "-O", "-s"})


class Builtins(Conditions):
    """Does what builtin commands do to the state."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.locals: list[set[str]] = []

    @abstractmethod
    def evaluate(self, source: Source, tree: Tree, state: State) -> Status:
        """Follow what the command noted last, an `eval`, has read."""

    # Assignments

    def assign(
        self, node: Node, state: State, kind: AssignmentKind = "plain", associative: bool = False
    ) -> Assignment:
        """Make one assignment and note it."""
        name, place = node["Name"]["Value"], self.place(node)
        elements: tuple[Word, ...] | None = None
        value = Value()
        content: Content
        if node.get("Array"):
            content, elements = self._array(node, state, associative)
        else:
            value = self.value(node["Value"], state) if node.get("Value") else value
            content = self._content(node, value, state)
        old = state.variables.get(name)
        if isinstance(content, Array) and old and not old.volatile:
            state.variables[name] = old._replace(content=None)
        state.set(name, content, place, exported=kind == "export")
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

    def _content(self, node: Node, value: Value, state: State) -> Content:
        """What the variable holds after `NAME=value`, `NAME+=value` or with a key."""
        name, place = node["Name"]["Value"], self.place(node)
        old = state.variables.get(name)
        held = old.content if old else None
        index = node.get("Index")
        if index or isinstance(held, Array):
            array = held if isinstance(held, Array) else _as_array(held)
            key = self.key(index, array.associative, state) if index else 0
            if node.get("Append"):
                found = array.find(key)
                before = found.value or (lost(place, "", "form") if found.reason else Value())
                value = bounded([*before.parts, *value.parts])
            return array.with_entry(str(key) if array.associative and key == 0 else key, value)
        if not node.get("Append"):
            return value
        outside = lost(place, f"${{{name}}}", "environment", name=name)
        before = held if isinstance(held, Value) else Value() if old else outside
        return bounded([*before.parts, *value.parts])

    def _array(self, node: Node, state: State, associative: bool) -> tuple[Array, tuple[Word, ...]]:
        name = node["Name"]["Value"]
        old = state.variables.get(name)
        held = old.content if old else None
        associative = associative or (isinstance(held, Array) and held.associative)
        array = Array(associative=associative)
        if node.get("Append") and old is None:
            outside = f"${{{name}[@]}}"
            missing = lost(self.place(node), outside, "environment", name=name, many=True)
            array = Array(((None, missing),))
        elif node.get("Append"):
            array = held if isinstance(held, Array) else _as_array(held)
        words: list[Word] = []
        at = array.following
        for element in node["Array"].get("Elems", ()):
            if element.get("Value") is None or not self.spend():
                continue
            found = self._element_words(element, state)
            words += found
            if element.get("Index"):
                key = self.key(element["Index"], associative, state)
                array = array.with_entry(key, found[0].value)
                at = key + 1 if isinstance(key, int) else None
                continue
            for word in found:
                array = array.appended(at, word.value)
                at = None if at is None or word.many else at + 1
        return array, tuple(words)

    def _element_words(self, element: Node, state: State) -> list[Word]:
        node = element["Value"]
        if not element.get("Index"):
            values = self.words(node, state)
        elif "{" in self.raw(node).replace("${", ""):  # `[2]={a,b}` are two words `[2]=…`
            values = [lost(self.place(node), self.raw(node), "form", many=True)]
        else:
            values = [self.value(node, state)]
        return [Word(value, self.raw(node), self.place(node)) for value in values]

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
                self.assign(item, state, kind, "A" in flags)
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
        content = Array(associative="A" in flags) if set(flags) & {"a", "A"} else None
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
        if name in (":", "true", "echo"):
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
            "read": self._read_into,
            "mapfile": self._mapfile,
            "readarray": self._mapfile,
            "printf": self._printf,
            "getopts": self._getopts,
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
                self._turn(state, name, flags[0] == "-", word.place)
        if rest:
            state.positional = tuple(word.value for word in rest)
        return True

    def _turn(self, state: State, name: str, on: bool, place: Place) -> None:
        if name:
            self.options.append(Option(name, on, place, self.here.reach))
            state.options = state.options | {name} if on else state.options - {name}

    def _shopt(self, arguments: Sequence[Word], state: State) -> Status:
        flags = {word.text for word in arguments if (word.text or "").startswith("-")}
        if not flags & {"-s", "-u"}:
            return None
        for word in arguments:
            if word.text not in flags:
                self._turn(state, word.text or "", "-s" in flags, word.place)
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
            if bracket and old and isinstance(old.content, Array):
                missing = lost(word.site, word.raw, "conditional")
                content = old.content.with_entry(None, missing)
                state.variables[name] = old._replace(content=content)
            elif not bracket and not name.startswith("-"):
                state.variables[name] = Variable(None, word.site, bool(old and old.exported))
        return True

    def _read_into(self, arguments: Sequence[Word], state: State) -> Status:
        for before, word in zip((None, *arguments), arguments, strict=False):
            is_array = before is not None and re.fullmatch(r"-\w*a", before.text or "")
            if is_array:
                self._mapfile([word], state)
            elif before is None or before.text not in _WITH_VALUE:
                self._take(word, state)
        return None

    def _take(self, word: Word, state: State) -> None:
        """Note that a builtin assigns the variable that a word names."""
        if (word.text or "").isidentifier():
            state.variables.pop(word.text or "", None)
            state.lose(word.text or "", word.place)
            self._note_taken(word)

    def _note_taken(self, word: Word) -> None:
        node = {"Pos": word.site.offset, "End": word.site.offset + len(word.raw)}
        missing = lost(word.site, f"${{{word.text}}}", "special")
        self.note_assignment(word.text or "", missing, node, "read")

    def _mapfile(self, arguments: Sequence[Word], state: State) -> Status:
        word = arguments[-1] if arguments else None
        if word is not None and (word.text or "").isidentifier():
            missing = lost(word.place, f"${{{word.text}}}", "special", many=True)
            state.variables[word.text or ""] = Variable(Array(((None, missing),)), word.site)
            self._note_taken(word)
        return None

    def _printf(self, arguments: Sequence[Word], state: State) -> Status:
        if len(arguments) > 1 and arguments[0].text == "-v":
            self._take(arguments[1], state)
        return True

    def _getopts(self, arguments: Sequence[Word], state: State) -> Status:
        for word in arguments[1:2]:
            self._take(word, state)
            for name in ("OPTARG", "OPTIND"):
                state.lose(name, word.place)
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


def _as_array(held: Content) -> Array:
    return Array(((0, held),)) if isinstance(held, Value) else Array()
