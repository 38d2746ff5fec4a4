"""Follows a script statement by statement and notes what it does. Nothing is run.

Conditions are not decided: what depends on one may run, and what a branch changes is unknown after
it. Loops, functions and `(( … ))` are not followed: their commands may run, and what they set is
unknown afterwards. What only an argument changes is a default: a script is read without any.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rl_resources.script.bash.expand import NAME, Expander
from rl_resources.script.bash.parser import Node, nodes_in
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Content,
    Option,
    SourceText,
    State,
    Value,
    Word,
    elements_of,
    joined,
    literal,
    unknown_value,
)

_MAY_BE_SET = re.compile(r"(?<![$\w{.-])[A-Za-z_]\w*|(?<=\$\{)[A-Za-z_]\w*(?=:?=)")
"""Every word of a text that is not only read may be the name of a variable that it sets."""
_SETS_ANY = re.compile(
    r"\beval\b|\b(?:declare|export|local|printf\s+-v|read|readonly|typeset|unset)\s+(?:-\S+\s+)*"
    r"[\"']?\w*[$`]"
)
"""What sets a variable whose name another one has: then that of any word."""
_CHANGES_NAMES = frozenset(
    {"read", "mapfile", "readarray", "getopts", "unset", "printf", "eval"}
)
_WORD = re.compile(r"[\w.:-]+")
_ARGUMENTS = re.compile(r"\bshift\b|\bgetopts\b|\bin \"\$@\"")
"""What a loop over the arguments has, which a script without any does not enter."""
_OPTIONS = {"e": "errexit"}
"""The long names of letters of `set`, as far as somebody asks for them."""


class Evaluator(Expander):
    """Follows statements, and notes commands, assignments and options in their order."""

    def __init__(self, source: SourceText) -> None:
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

    def run(self, statements: Sequence[Node]) -> None:
        """Follow statements in order, up to an `exit`."""
        for statement in statements:
            if self.steps > 0 and not self.state.ended:
                self._statement(statement)

    def run_functions(self) -> None:
        """Note what functions may do, whenever they are called.

        One that is called between two assignments of a name reads the first value.
        """
        assigned = Counter(assignment.name for assignment in self.assignments)
        for name, times in assigned.items():
            if times > 1:
                self.state.lose(name, self.source.place(0))
        for node in self.functions:
            with self._subshell():
                self._unfollowed(node)

    @contextmanager
    def _subshell(self) -> Iterator[None]:
        """Follow what changes nothing outside: what a subshell does, or what may run."""
        outside = self.state
        self.state = outside.copy()
        yield
        self.state = outside

    def _statement(self, node: Node) -> None:
        self.steps -= 1
        if not node.get("Background"):
            self._command(node)
            return
        with self._subshell():
            self._command(node)

    def _command(self, statement: Node) -> None:
        """The command of a statement, which may consist of redirects alone."""
        redirects = statement.get("Redirs", ())
        start = statement["Pos"]
        command = {"Type": "CallExpr", "Pos": start, "End": start, "Redirs": redirects}
        command |= statement.get("Cmd", {})
        for redirect in redirects:
            self.value(redirect["Word"])
        follow = _FOLLOWED.get(command["Type"], Evaluator._unfollowed)
        follow(self, command)

    def _block(self, node: Node) -> None:
        self.run(node.get("Stmts", ()))

    def _in_subshell(self, node: Node) -> None:
        with self._subshell():
            self._block(node)

    def _function(self, node: Node) -> None:
        self.functions.append(node)
        self._lose(node)

    def _chain(self, node: Node) -> None:
        """A pipeline, or `&&` and `||`."""
        if node["Op"] not in ("|", "|&"):
            self._statement(node["X"])
            self._branches([[node["Y"]], []])
            return
        outer = self.piped
        self.piped = True
        with self._subshell():
            self._statement(node["X"])
        self.piped = outer
        with self._subshell():
            self._statement(node["Y"])

    def _if(self, node: Node) -> None:
        """`if`, each `elif`, and `else`, which has no condition."""
        branches: list[Sequence[Node]] = []
        branch: Node | None = node
        has_else = False
        while branch:
            self.run(branch.get("Cond", ()))
            branches.append(branch["Then"])
            has_else = "Cond" not in branch
            branch = branch.get("Else")
        if not has_else:
            branches.append([])
        self._branches(branches)

    def _case(self, node: Node) -> None:
        word = self.value(node["Word"]).text
        branches: list[Sequence[Node]] = []
        patterns: dict[str, int] = {}
        for index, item in enumerate(node.get("Items", ())):
            branches.append(item.get("Stmts", ()))
            for pattern in map(self.raw, item["Patterns"]):
                patterns.setdefault(pattern.strip("\"'"), index)
        if "*" not in patterns:
            branches.append([])
        self._branches(branches, patterns.get(word or "", patterns.get("*", -1)))

    def _branches(self, branches: Sequence[Sequence[Node]], usual: int = 0) -> None:
        """Follow the statements of branches, of which one runs.

        Afterwards those values are known that all of them set alike. What else a variable may be is
        its choices: first that of the branch at index `usual`, which the script runs as it is.
        """
        before = self.state
        self.steps -= len(branches) * len(before.variables) // 20
        ends: list[State] = []
        for statements in branches:
            self.state = before.copy()
            self.run(statements)
            ends.append(self.state)
        self.state = ends.pop(usual)
        for end in ends:
            self.state.meet(end)

    def _unfollowed(self, node: Node) -> None:
        of_arguments = node["Type"] != "FuncDecl" and _ARGUMENTS.search(self.raw(node))
        self._lose(node, stays=bool(of_arguments))
        self._inside(node)

    def _lose(self, node: Node, more: str = "", *, stays: bool = False) -> None:
        """What a node and the functions that it may call set is unknown, or `stays` a default."""
        text = f"{self.raw(node)}\n{more}"
        if not self.function_names.isdisjoint(_WORD.findall(text)):
            text += "\n".join(map(self.raw, self.functions))
        pattern = _MAY_BE_SET
        if _SETS_ANY.search(text):
            pattern = NAME
        lose = self.state.leave_open if stays else self.state.lose
        for name in pattern.findall(text):
            lose(name, self.place(node))

    def _inside(self, node: Node) -> None:
        """Note all statements below a node."""
        for value in node.values():
            nodes = nodes_in(value)
            if nodes and "Cmd" in nodes[0]:
                with self._subshell():
                    self.run(nodes)
                continue
            for child in nodes:
                if "Parts" not in child:
                    self._inside(child)

    # Simple commands

    def _simple(self, node: Node) -> None:
        words: list[Word] = []
        for argument in node.get("Args", ()):
            words += self.words(argument)
        assignments = node.get("Assigns", ())
        if not words:
            for item in assignments:
                self._assign(item)
            self._note_command(node, words)
            return
        # What stands before a command is set for this command alone.
        with self._subshell():
            for item in assignments:
                self._assign(item, prefix=True)
        self._note_command(node, words)
        self._effect(node, words)

    def _effect(self, node: Node, words: Sequence[Word]) -> None:
        """What a command changes in the shell that runs it."""
        name = words[0].text
        if name == "exit":
            self.state.ended = True
        elif name == "set":
            self._set(words[1:])
        elif name == "printf" and not _has_option(words, r"-v"):
            return
        elif name in _CHANGES_NAMES or name in self.function_names:
            self._lose(node, " ".join(word.text or "" for word in words))
            self._read_document(node, words)

    def _read_document(self, node: Node, words: Sequence[Word]) -> None:
        """`read -r -d '' NAME <<END` sets the variable to the lines that follow."""
        *options, name = [word.raw for word in words]
        for redirect in node["Redirs"]:
            document = redirect.get("Hdoc")
            if document and options == ["read", "-r", "-d", "''"]:
                *before, last = document["Parts"]
                # For shfmt the line that ends it is a part of it.
                end = self.source.text.rfind("\n", 0, last["End"])
                parts = [*before, {**last, "End": end}]
                pieces = self._expand(parts, "quoted", starts_word=False)
                self.state.variables[name] = self._in_one(pieces, document)

    def _declaration(self, node: Node) -> None:
        """`export`, `declare`, `local` or `readonly` with its names."""
        items = node.get("Args", ())
        variant = node["Variant"]
        command = variant["Value"]
        words = list(map(self._as_written, [variant, *items]))
        self._note_command(node, words)
        exported = command == "export" or _has_option(words, r"-x\Z")
        for item in items:
            if not item.get("Name"):
                continue
            name = item["Name"]["Value"]
            if not item.get("Naked"):
                self._assign(item, exported=exported)
            elif command in ("local", "declare"):
                self.state.variables.setdefault(name, None)

    def _as_written(self, node: Node) -> Word:
        part = literal(self.raw(node), self.place(node))
        return Word(joined([part]), self.raw(node), part.place)

    def _note_command(self, node: Node, words: Sequence[Word]) -> None:
        """Note a command with its redirects, which may stand before it."""
        start = node["Pos"]
        end = node["End"]
        for redirect in node["Redirs"]:
            start = min(start, redirect["Pos"])
            end = max(end, redirect["Word"]["End"])
        self.commands.append(
            Command(
                words=tuple(words),
                raw=self.source.text[start:end],
                place=self.source.place(start),
                end=self.source.place(end),
                piped=self.piped,
            )
        )

    def _set(self, arguments: Sequence[Word]) -> None:
        """Note the options of `set -eo pipefail`."""
        is_on = True
        for word in arguments:
            names: Sequence[str] = [word.text or ""]  # what follows `-o`
            if names[0].startswith(("-", "+")):
                is_on = names[0].startswith("-")
                names = [_OPTIONS.get(letter, letter) for letter in names[0][1:]]
            for name in names:
                self.options.append(Option(name, is_on, word.place))

    # Assignments

    def _assign(
        self, node: Node, *, prefix: bool = False, exported: bool = False
    ) -> None:
        """Make one assignment and note it; with an index or keys of its own it is unknown."""
        name = node["Name"]["Value"]
        place = self.place(node)
        value = Value()
        if node.get("Value"):
            value = self.value(node["Value"])
        new: Content = value
        elements = self._elements(node)
        if elements is not None:
            new = tuple(word.value for word in elements)
        if _has_index(node):
            new = unknown_value(place, f"${{{name}}}", name)
        elif node.get("Append"):
            outside = unknown_value(place, f"${{{name}}}", name)
            new = _appended(self.state.variables.get(name, outside), new, outside)
        self.state.variables[name] = new
        self.assignments.append(
            Assignment(
                name=name,
                value=value,
                raw=self.raw(node),
                place=place,
                prefix=prefix,
                elements=elements,
                exported=exported,
            )
        )

    def _elements(self, node: Node) -> tuple[Word, ...] | None:
        """The words of an array in parentheses; `None` of a text."""
        array = node.get("Array")
        if not array:
            return None
        words: list[Word] = []
        for item in array.get("Elems", ()):
            if item.get("Value"):
                words += self.words(item["Value"])
        return tuple(words)


def _has_option(words: Sequence[Word], pattern: str) -> bool:
    return any(re.match(pattern, word.raw) for word in words)


def _has_index(assignment: Node) -> bool:
    """Whether it sets `NAME[…]`, or an array with indexes or keys of its own."""
    if assignment.get("Index"):
        return True
    elements = assignment.get("Array", {}).get("Elems", ())
    return any(item.get("Index") for item in elements)


def _appended(old: Content, new: Content, outside: Value) -> Content:
    """What `+=` makes of a text or an array; unknown of a text that goes to an array."""
    if not isinstance(new, Value):
        return (*elements_of(old), *elements_of(new))
    if isinstance(old, tuple):
        return outside
    before = old or Value()
    return joined([*before.parts, *new.parts])


_FOLLOWED: Mapping[str, Callable[[Evaluator, Node], None]] = {
    "CallExpr": Evaluator._simple,
    "DeclClause": Evaluator._declaration,
    "BinaryCmd": Evaluator._chain,
    "IfClause": Evaluator._if,
    "CaseClause": Evaluator._case,
    "Block": Evaluator._block,
    "Subshell": Evaluator._in_subshell,
    "FuncDecl": Evaluator._function,
}
"""How each kind of command is followed; all others are not."""
