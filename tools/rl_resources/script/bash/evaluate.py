"""Follows a script statement by statement and notes what it does. Nothing is run.

Conditions are not decided: what depends on one may run, and what a branch changes is unknown after
it. Loops, functions and `(( … ))` are not followed: their commands may run, and what they set is
unknown afterwards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from rl_resources.script.bash.expand import NAME, Content, Expander, State, elements_of
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Option,
    Source,
    Value,
    Word,
    joined,
    literal,
    lost,
)

_MAY_BE_SET = re.compile(r"(?<![$\w{.-])[A-Za-z_]\w*|(?<=\$\{)[A-Za-z_]\w*(?=:?=)")
"""Every word of a text that is not only read may be the name of a variable that it sets."""
_SETS_ANY = re.compile(
    r"\beval\b|\b(?:declare|export|local|printf\s+-v|read|readonly|typeset|unset)\s+(?:-\S+\s+)*"
    r"[\"']?\w*[$`]"
)
"""What sets a variable whose name another one has: then that of any word."""
_CHANGES_NAMES = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "printf", "eval"})
_WORD = re.compile(r"[\w.:-]+")


class Evaluator(Expander):
    """Follows statements, and notes commands, assignments and options in their order."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.commands: list[Command] = []
        self.assignments: list[Assignment] = []
        self.options: list[Option] = []
        self.functions: list[Node] = []
        self.piped = False

    @property
    def function_names(self) -> frozenset[str]:
        """The functions that are defined so far."""
        return frozenset(node["Name"]["Value"] for node in self.functions)

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
            case "IfClause":
                self._if(command, state)
            case "CaseClause":
                self._case(command, state)
            case "Block":
                self.run(command.get("Stmts", ()), state)
            case "Subshell":
                self.run(command.get("Stmts", ()), state.copy())
            case "FuncDecl":
                self.functions.append(command)
                self._lose(command, state)
            case _:
                self._unfollowed(command, state)

    def _chain(self, node: Node, state: State) -> None:
        """A pipeline, or `&&` and `||`."""
        if node["Op"] in ("|", "|&"):
            outer, self.piped = self.piped, True
            self._statement(node["X"], state.copy())
            self.piped = outer
            self._statement(node["Y"], state.copy())
        else:
            self._statement(node["X"], state)
            self._branches([[node["Y"]], []], state)

    def _if(self, node: Node, state: State) -> None:
        branches: list[Sequence[Node]] = []
        last: Node | None = node
        while last:
            self.run(last.get("Cond", ()), state)
            branches.append(last["Then"])
            final, last = "Cond" not in last, last.get("Else")
        self._branches(branches if final else [*branches, []], state)

    def _case(self, node: Node, state: State) -> None:
        self.value(node["Word"], state)
        items = node.get("Items", ())
        branches = [item.get("Stmts", ()) for item in items]
        patterns = [self.raw(pattern) for item in items for pattern in item["Patterns"]]
        self._branches(branches if "*" in patterns else [*branches, []], state)

    def _branches(self, branches: Sequence[Sequence[Node]], state: State) -> None:
        """Follow the statements of branches, of which one runs."""
        self.steps -= len(branches) * len(state.variables) // 20
        ends = [state.copy() for _ in branches]
        for statements, end in zip(branches, ends, strict=True):
            self.run(statements, end)
        for end in ends[1:]:
            ends[0].meet(end)
        state.variables, state.ended = ends[0].variables, ends[0].ended

    def _unfollowed(self, node: Node, state: State) -> None:
        self._lose(node, state)
        self._inside(node, state)

    def _lose(self, node: Node, state: State, more: str = "") -> None:
        """What a node and the functions that it may call set is unknown."""
        text = f"{self.raw(node)}\n{more}"
        if not self.function_names.isdisjoint(_WORD.findall(text)):
            text += "\n".join(map(self.raw, self.functions))
        pattern = NAME if _SETS_ANY.search(text) else _MAY_BE_SET
        for name in pattern.findall(text):
            state.lose(name, self.place(node))

    def _inside(self, node: Node, state: State) -> None:
        """Note all statements below a node."""
        for value in node.values():
            children = value if isinstance(value, list) else [value]
            nodes = [child for child in children if isinstance(child, dict)]
            if nodes and "Cmd" in nodes[0]:
                self.run(nodes, state.copy())
                continue
            for child in nodes:
                if "Parts" not in child:
                    self._inside(child, state)

    # Simple commands

    def _simple(self, node: Node, statement: Node, state: State) -> None:
        words = [word for arg in node.get("Args", ()) for word in self.words(arg, state)]
        target = state.copy() if words else state
        for item in node.get("Assigns", ()):
            self._assign(item, target, prefix=bool(words))
        self._note_command(node, statement, words)
        name = words[0].text if words else None
        if name == "exit":
            state.ended = True
        elif name == "set":
            self._set(words[1:])
        elif name == "printf" and not any(word.raw.startswith("-v") for word in words):
            pass
        elif name in _CHANGES_NAMES or name in self.function_names:
            self._lose(node, state, " ".join(word.text or "" for word in words))

    def _declaration(self, node: Node, statement: Node, state: State) -> None:
        """`export`, `declare`, `local` or `readonly` with its names."""
        items, command = node.get("Args", ()), node["Variant"]["Value"]
        words = [self._as_written(item) for item in (node["Variant"], *items)]
        self._note_command(node, statement, words)
        exported = command == "export" or any(word.raw == "-x" for word in words)
        for item in items:
            name = item["Name"]["Value"] if item.get("Name") else ""
            if not name and re.search(r"[$`]", self.raw(item)):  # `export $(cat .env)`
                for known in state.variables:
                    state.lose(known, self.place(item))
            elif name and not item.get("Naked"):
                self._assign(item, state, exported=exported)
            elif name and command in ("local", "declare"):
                state.variables.setdefault(name, None)
            if name and any(re.match(r"-\w*[ilnu]", word.raw) for word in words):
                state.lose(name, self.place(item))

    def _as_written(self, node: Node) -> Word:
        raw, place = self.raw(node), self.place(node)
        return Word(Value((literal(raw, place),)), raw, place)

    def _note_command(self, node: Node, statement: Node, words: Sequence[Word]) -> None:
        redirects = statement.get("Redirs", ())
        start = min(item["Pos"] for item in (node, *redirects))
        end = max(item["End"] for item in (node, *(item["Word"] for item in redirects)))
        raw, first, last = self.source.text[start:end], *map(self.source.place, (start, end))
        self.commands.append(Command(tuple(words), raw, first, last, self.piped))

    def _set(self, arguments: Sequence[Word]) -> None:
        rest = list(arguments)
        while rest and (flags := rest[0].text) is not None and flags[:1] in ("-", "+"):
            place = rest.pop(0).place
            for letter in flags[1:]:
                named = letter == "o" and rest
                name = (rest.pop(0).text or "") if named else {"e": "errexit"}.get(letter, letter)
                self.options.append(Option(name, flags[0] == "-", place))

    # Assignments

    def _assign(
        self, node: Node, state: State, *, prefix: bool = False, exported: bool = False
    ) -> None:
        """Make one assignment and note it; with an index or keys of its own it is unknown."""
        name, place = node["Name"]["Value"], self.place(node)
        items = (node.get("Array") or {}).get("Elems", ())
        value = self.value(node["Value"], state) if node.get("Value") else Value()
        words = (self.words(item["Value"], state) for item in items if item.get("Value"))
        elements = tuple(chain.from_iterable(words)) if node.get("Array") else None
        new: Content = value if elements is None else tuple(word.value for word in elements)
        outside = lost(place, f"${{{name}}}", name)
        if node.get("Index") or any(item.get("Index") for item in items):
            new = outside
        elif node.get("Append"):
            new = _appended(state.variables.get(name, outside), new, outside)
        state.variables[name] = new
        found = Assignment(name, value, self.raw(node), place, prefix, elements, exported)
        self.assignments.append(found)


def _appended(old: Content, new: Content, outside: Value) -> Content:
    """What `+=` makes of a text or an array; unknown for a text that goes to an array."""
    if isinstance(new, Value):
        return outside if isinstance(old, tuple) else joined([*(old or Value()).parts, *new.parts])
    return (*elements_of(old), *(new or ()))
