"""Follows a script statement by statement and notes what it does. Nothing is run.

What depends on a condition is a branch that may be taken, unless it compares two texts of the
script; what a setting may then change is a default. Loops, functions and `(( … ))` are not
followed: their commands may run, and what they assign is unknown afterwards.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rl_resources.script.bash.expand import Content, Expander, State, elements_of
from rl_resources.script.bash.parser import Node, parse
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Option,
    Source,
    Value,
    Word,
    as_default,
    joined,
    literal,
    lost,
)

_ASSIGNED = re.compile(
    r"(?<![\w.])([A-Za-z_]\w*)(?:\[[^\n=]{0,80}\])? *(?:\+\+|--|[-+*/%&|^<>:]{0,2}=(?!=))"
)
_APPENDED = re.compile(r"(?<![\w.])[A-Za-z_]\w*\+=(?=\()")
_NAMED = re.compile(
    r"\bfor\s+(\w+)|\b(?:read|mapfile|readarray|getopts|unset|local|printf -v)\s"
    r"((?:\"[^\"\n]*\"|'[^'\n]*'|\\\n|[^;|&<>()\n])*+)"
)
_SETS_ANY = re.compile(
    r"\b(?:eval|(?:declare|local|typeset)\s+(?:-\w+\s+){0,8}-\w*n)\b|\$\{!|\bprintf\s+-v\s*[\"']?\w*\$"
    r"|\b(?:declare|export|local|readonly|typeset)\s+(?:-[\w-]*\s+){0,8}[\"']?\w*\$"
    r"|\b(?:read|unset|mapfile|readarray|getopts)\b[^\n;|&]{0,80}\$"
)
"""What sets a variable whose name another one has, or an argument."""
_CHANGES_NAMES = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "printf", "eval"})
_OPTIONS = {"a": "allexport", "e": "errexit", "u": "nounset", "x": "xtrace"}
_SHELL = re.compile(r"(?:.*/)?(?:ba|z)?sh")
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^'\"\\]|'[^'\"\\$`]*'|\\\n)*+)\"")
"""A text that another shell reads as it is written, but for variables outside of its quotes."""
_WORD = r"[\w.:-]+"
_PATTERN = re.compile(r"[*?\[$(~]")
_PLAIN = re.compile(r"([\"']?)([\w./:@%+=,-]*)\1")
_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


class Choice(NamedTuple):
    """Statements that run where a condition `holds`; `sure` if no setting of a run changes that."""

    holds: bool | None
    sure: bool
    statements: Sequence[Node]


def _with_default(content: Content, other: Content) -> Content:
    """What a setting may change: all that is not the same in another branch."""
    if content is None or content == other:
        return content
    if isinstance(content, tuple):
        same = {id(value) for value in elements_of(other)}
        return tuple(it if id(it) in same else as_default(it) for it in content)
    return as_default(content)


def _compared(sign: str, texts: Sequence[str | None]) -> bool | None:
    """What `[` says of one or two texts; `None` where that is not known."""
    if None in texts:
        return None
    if len(texts) == 2 and sign in _COMPARISONS:
        return _COMPARISONS[sign](str(texts[0]), str(texts[1]))
    return bool(texts[0]) == (sign == "-n") if len(texts) == 1 and sign in ("-n", "-z") else None


@lru_cache(maxsize=512)
def changed_names(text: str) -> frozenset[str]:
    """The variables that a text may change, if it is run, and perhaps some more."""
    named = " ".join(chain.from_iterable(_NAMED.findall(text)))
    named = text if _SETS_ANY.search(text) else named
    return frozenset([*_ASSIGNED.findall(text), *re.findall(r"[A-Za-z_]\w*", named)])


class Evaluator(Expander):
    """Follows statements, and notes commands, assignments and options in their order."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.options: list[Option] = []
        self.functions: list[Node] = []
        self.bodies: dict[str, str] = {}
        self.noted: Node = {}

    @contextmanager
    def within(self, **changes: object) -> Iterator[None]:
        """For a while, be elsewhere in the script."""
        outer = self.here
        self.here = outer._replace(**changes)  # type: ignore[arg-type]
        yield
        self.here = outer

    def maybe(self) -> AbstractContextManager[None]:
        """For a while, nothing is certain to be reached."""
        return self.within(reach="never" if self.here.reach == "never" else "maybe")

    # Statements

    def run(self, statements: Sequence[Node], state: State) -> None:
        """Follow statements in order, up to an `exit`."""
        for statement in statements:
            if self.steps > 0 and not state.ended:
                self._statement(statement, state)

    def run_functions(self, state: State) -> None:
        """Note what functions may do, whenever they are called."""
        for name, times in Counter(item.name for item in self.assignments).items():
            if times > 1:
                state.lose(name, self.source.place(0))
        for node in self.functions:
            self._unfollowed(node, state.copy())

    def _statement(self, node: Node, state: State) -> None:
        self.steps -= 1
        if node.get("Background"):
            state = state.copy()
        for redirect in node.get("Redirs", ()):
            self.value(redirect["Word"], state)
        command = node.get("Cmd") or {"Type": "CallExpr", "Pos": node["Pos"], "End": node["Pos"]}
        match command["Type"]:
            case "CallExpr":
                self._simple(command, node, state)
            case "DeclClause":
                self._declaration(command, node, state)
            case "BinaryCmd":
                self._chain(command, state)
            case _:
                with self.within(piped=False):
                    self._compound(command, state)

    def _compound(self, node: Node, state: State) -> None:
        match node["Type"]:
            case "IfClause":
                self._if(node, state)
            case "Block":
                self.run(node.get("Stmts", ()), state)
            case "Subshell":
                self.run(node.get("Stmts", ()), state.copy())
            case "FuncDecl":
                self.functions.append(node)
                name, body = node["Name"]["Value"], self.raw(node)
                before = self.bodies.get(name, "")
                self.bodies[name] = before if body in before else f"{before}\n{body}"
                self._lose(node, state)
            case "CaseClause" if all(item["Op"] == ";;" for item in node.get("Items", ())):
                self._case(node, state)
            case _:
                self._unfollowed(node, state)

    def _chain(self, node: Node, state: State) -> None:
        """A pipeline, or `&&` and `||`."""
        if node["Op"] in ("|", "|&"):
            with self.within(piped=True):
                self._statement(node["X"], state.copy())
            self._statement(node["Y"], state.copy())
            return
        self._statement(node["X"], state)
        choice = self._choice([node["X"]], [node["Y"]], state)
        if node["Op"] == "||" and choice.holds is not None:
            choice = choice._replace(holds=not choice.holds)
        self._choose([choice], state)

    def _if(self, node: Node, state: State) -> None:
        choices: list[Choice] = []
        last: Node | None = node
        while last:
            if condition := last.get("Cond", ()):
                with self.within(in_condition=True), self.maybe() if choices else nullcontext():
                    self.run(condition, state)
            choices.append(self._choice(condition, last["Then"], state))
            last = last.get("Else")
        self._choose(choices, state)

    def _case(self, node: Node, state: State) -> None:
        value = self.value(node["Word"], state)
        choices: list[Choice] = []
        for item in node.get("Items", ()):
            patterns = [self.raw(pattern) for pattern in item["Patterns"]]
            plain = [match[2] for it in patterns if (match := _PLAIN.fullmatch(it))]
            holds: bool | None = "*" in patterns or value.text in plain
            unclear = value.text is None or "nocasematch" in self.source.text
            if "*" not in patterns and (unclear or (not holds and len(plain) < len(patterns))):
                holds = None
            choices.append(Choice(holds, not value.default, item.get("Stmts", ())))
        self._choose(choices, state)

    def _choose(self, choices: Sequence[Choice], state: State) -> None:
        """Follow the statements of the first condition that holds; of others only note them."""
        possible: list[State] = []
        every = [state.copy()]
        is_open = is_sure = True
        for holds, sure, statements in choices:
            self.steps -= 1 + len(state.variables) // 20
            if self.steps <= 0:
                return
            branch = state.copy()
            every.append(branch)
            is_sure &= sure
            if not is_open or holds is False:
                with self.within(reach="never"):
                    self.run(statements, branch)
                continue
            with nullcontext() if holds and is_sure and not possible else self.maybe():
                self.run(statements, branch)
            possible.append(branch)
            is_open = not holds or branch.ended  # as in the guard of a placeholder
        if is_open:
            possible.append(state.copy())
        for branch in possible[1:]:
            self.steps -= len(possible[0].variables) // 20
            if self.steps <= 0:
                return
            possible[0].meet(branch)
        state.variables, state.ended = dict(possible[0].variables), possible[0].ended
        for branch in every if not is_sure else ():
            for name, content in state.variables.items():
                state.variables[name] = _with_default(content, branch.variables.get(name))

    def _choice(
        self, condition: Sequence[Node], statements: Sequence[Node], state: State
    ) -> Choice:
        """What runs where a comparison of two texts holds; of other conditions that is not known.

        Without a condition it is a plain `else`.
        """
        command = condition[0].get("Cmd", {}) if len(condition) == 1 else {}
        values: list[Value] = []
        sign, noted = "", len(self.references)
        if command and command is self.noted and (words := self.commands[-1].words):
            texts = [word.text for word in words]
            if texts[0] == "test" or (texts[0], texts[-1]) == ("[", "]"):
                values = [word.value for word in words[1 : None if texts[0] == "test" else -1]]
                sign = values.pop(-2).text or "" if len(values) in (2, 3) else ""
        elif command.get("Type") == "TestClause":
            test = command["X"]
            sides = [test[side] for side in ("X", "Y") if "Parts" in test.get(side, {})]
            values, sign = [self.value(side, state) for side in sides], test.get("Op", "")
            if not sides or _PATTERN.search(self.raw(sides[-1])):
                sign = ""
        del self.references[noted:]
        background = condition and condition[0].get("Background")
        if background or "nocasematch" in self.source.text:
            values = []
        holds = _compared(sign, [value.text for value in values]) if condition else True
        if holds is not None and condition and condition[0].get("Negated"):
            holds = not holds
        return Choice(holds, not any(value.default for value in values), statements)

    def _unfollowed(self, node: Node, state: State) -> None:
        self._lose(node, state)
        with self.maybe():
            self._inside(node, state)

    def _lose(self, node: Node, state: State, more: str = "") -> None:
        """What a node assigns is unknown; of an array to which it only appends, what it appends."""
        text = self._with_functions(f"{self.raw(node)}\n{more}")
        self.steps -= len(text) // 200
        changed = changed_names(text)
        kept = changed - changed_names(_APPENDED.sub("", text))
        for name in sorted(changed):
            before = state.variables.get(name)
            state.lose(name, self.place(node))
            if isinstance(before, tuple):
                known = before if name in kept else ()
                state.variables[name] = (*known, *elements_of(state.variables[name]))

    def _with_functions(self, text: str) -> str:
        """A text with those of the functions that it may call."""
        names: set[str] = set()
        new, whole = {*re.findall(_WORD, text)} & self.bodies.keys(), text
        while new and self.steps > 0:
            self.steps -= 1
            names |= new
            called = "\n".join(self.bodies[name] for name in sorted(new))
            new = {*re.findall(_WORD, called)} & self.bodies.keys() - names
            whole += f"\n{called}"
        return whole

    def _inside(self, node: Node, state: State) -> None:
        """Note all statements, words and sums below a node."""
        for value in node.values():
            children = value if isinstance(value, list) else [value]
            nodes = [child for child in children if isinstance(child, dict)]
            if nodes and "Cmd" in nodes[0]:
                self.run(nodes, state.copy())
                continue
            for child in nodes:
                if "Parts" in child:
                    self.value(child, state)
                elif str(child.get("Type")).endswith("Arithm"):
                    self.number(child, state)
                else:
                    self._inside(child, state)

    # Simple commands

    def _simple(self, node: Node, statement: Node, state: State) -> None:
        args = node.get("Args", ())
        words = [word for arg in args for word in self.words(arg, state)]
        target = state.copy() if words else state
        for item in node.get("Assigns", ()):
            self._assign(item, target, prefix=bool(words))
        self._note_command(node, statement, words)
        for at, word in enumerate(words[2:], 2):
            shell, option = words[at - 2].text or "", words[at - 1].text or ""
            quoted = _QUOTED.fullmatch(word.raw) if _SHELL.fullmatch(shell) else None
            if quoted and re.fullmatch(r"-\w*c", option):
                others = changed_names(self.source.text[node["Pos"] : word.site.offset])
                self._text(word.site.offset + 1, quoted, {*state.variables, *others})
        name = words[0].text if words else None
        if name == "exit":
            state.ended = True
        elif name == "set" and self.here.reach != "never":
            self._set(words[1:])
        elif name in _CHANGES_NAMES or name in self.bodies:
            texts = (word.text or "" for word in words)
            self._lose(node, state, "\n".join([self.bodies.get(name, ""), *texts]))

    def _text(self, at: int, quoted: re.Match[str], names: Collection[str]) -> None:
        """Follow a text that another shell runs, which has none of the variables for sure.

        One that reads what it sets gets other values, and one with a list only its first element.
        """
        text, other = quoted[1] or quoted[2] or "", State()
        for name in (*names, *map(str, range(1, 100))):
            other.lose(name, self.source.place(at))
        before = re.sub(r"\S", " ", self.source.text[:at])
        inner = Evaluator(Source(before + text))
        inner.here, inner.steps = self.here, self.steps - 200  # parsing takes so long
        inner.run(parse(before + text).statements, other)
        inner.run_functions(other)
        self.steps = inner.steps
        read = {item.name for item in inner.references} if quoted[2] else set()
        own = {item.name for item in inner.assignments if not item.prefix}
        if read.isdisjoint({*own, "@", "*"}) and not re.search(r"\[[@*]\]", quoted[2] or ""):
            self.commands += inner.commands
            self.assignments += inner.assignments
            self.references += inner.references

    def _declaration(self, node: Node, statement: Node, state: State) -> None:
        """`export`, `declare`, `local` or `readonly` with its names."""
        items, command = node.get("Args", ()), node["Variant"]["Value"]
        words = [self._as_written(item) for item in (node["Variant"], *items)]
        self._note_command(node, statement, words)
        flags = {*"".join(word.raw for word in words if word.raw.startswith("-"))} - {"-"}
        for item in items:
            name = item["Name"]["Value"] if item.get("Name") else ""
            if not name and re.search(r"[$`]", self.raw(item)):  # `export $(cat .env)`
                for known in state.variables:
                    state.lose(known, self.place(item))
            if name and not item.get("Naked"):
                self._assign(item, state, exported=command == "export" or "x" in flags)
            elif name and name not in state.variables and command in ("local", "declare"):
                state.variables[name] = () if {"a", "A"} & flags else None
            if name and flags - {*"aAgrx"}:
                state.lose(name, self.place(item))

    def _as_written(self, node: Node) -> Word:
        raw, place = self.raw(node), self.place(node)
        return Word(Value((literal(raw, place),)), raw, place)

    def _note_command(self, node: Node, statement: Node, words: Sequence[Word]) -> None:
        redirects = statement.get("Redirs", ())
        start = min(item["Pos"] for item in (node, *redirects))
        end = max(item["End"] for item in (node, *(item["Word"] for item in redirects)))
        found = self.here._replace(
            words=tuple(words),
            raw=self.source.text[start:end],
            place=self.source.place(start),
            end=self.source.place(end),
        )
        self.commands.append(found)
        self.noted = node

    def _set(self, arguments: Sequence[Word]) -> None:
        rest = list(arguments)
        while rest and (flags := rest[0].text) is not None and flags[:1] in ("-", "+"):
            place = rest.pop(0).place
            for letter in flags[1:]:
                named = letter == "o" and rest
                name = (rest.pop(0).text or "") if named else _OPTIONS.get(letter, letter)
                self.options.append(Option(name, flags[0] == "-", place))

    # Assignments

    def _assign(
        self, node: Node, state: State, *, prefix: bool = False, exported: bool = False
    ) -> None:
        """Make one assignment and note it."""
        name, place, elements = node["Name"]["Value"], self.place(node), None
        value = self.value(node["Value"], state) if node.get("Value") else Value()
        if node.get("Array"):
            items = node["Array"].get("Elems", ())
            words = (self.words(item["Value"], state) for item in items if item.get("Value"))
            elements = tuple(chain.from_iterable(words))
        state.variables[name] = self._content(node, value, elements, state)
        found = Assignment(
            name, value, self.raw(node), place, self.here.reach, prefix, elements, exported
        )
        self.assignments.append(found)

    def _content(
        self, node: Node, value: Value, elements: Sequence[Word] | None, state: State
    ) -> Content:
        """What the variable has after `NAME=value`, `NAME+=value`, as an array or with a key."""
        name, items = node["Name"]["Value"], (node.get("Array") or {}).get("Elems", ())
        outside = lost(self.place(node), f"${{{name}}}", name)
        if node.get("Index") or any(item.get("Index") for item in items):
            return outside
        new = value if elements is None else tuple(word.value for word in elements)
        if not node.get("Append"):
            return new
        old = state.variables.get(name, outside)
        if isinstance(new, tuple):
            return (*elements_of(old), *new)
        return outside if isinstance(old, tuple) else joined([*(old or Value()).parts, *new.parts])
