"""Follows a script statement by statement, on every branch that may be taken. Nothing is run.

The body of a function or a loop is a branch: what it changes is unknown where it may not have run.
`break`, `continue` and `return` are taken for guards, after which the body may still go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain

from rl_resources.script.bash.conditions import (
    Status,
    compared,
    decided,
    negated,
    test,
    unary,
)
from rl_resources.script.bash.expand import Expander
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    AssignmentKind,
    Option,
    Source,
    Value,
    Word,
    bounded,
    literal,
    lost,
)
from rl_resources.script.bash.state import Content, State, Variable

_ALONE = {"pipeline": (0, 1), "after": ""}
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?(?:\+\+|--|[-+*/%&|^<>]{0,2}=)")
_IS_EMPTY = re.compile(r"""(?:test|\[\[?) -z "?\$\{?(?P<name>\w+)(?::?-)?\}?"?(?: \]\]?)?;?""")
_OPTIONS: Mapping[str, str] = {
    "a": "allexport",
    "e": "errexit",
    "f": "noglob",
    "u": "nounset",
    "v": "verbose",
    "x": "xtrace",
}
Follow = Callable[[State], object]


class Evaluator(Expander):
    """Follows statements, and notes commands as it meets them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.options: list[Option] = []
        self.functions: dict[str, Node] = {}
        self._called: set[str] = set()

    # Statements

    def run(self, statements: Sequence[Node], state: State) -> Status:
        """Follow statements in order; the status of the last one."""
        status: Status = True
        for index, statement in enumerate(statements):
            if state.ended:
                self.pass_over(statements[index:], state)
                break
            if self.steps <= 0:
                return None
            status = self.statement(statement, state)
        return status

    def pass_over(self, statements: Sequence[Node], state: State) -> None:
        """Note what is in statements that are not reached."""
        with self.within(reach="never"):
            self.run(statements, state.copy())

    def statement(self, node: Node, state: State) -> Status:
        """Follow one statement with its redirections."""
        self.steps -= 1
        if node.get("Background"):
            self._command(node, state.copy())
            return True
        status = self._command(node, state)
        return negated(status) if node.get("Negated") else status

    def _command(self, node: Node, state: State) -> Status:
        command = node.get("Cmd") or {"Type": "CallExpr", "Pos": node["Pos"], "End": node["Pos"]}
        kind = command["Type"]
        if kind == "CallExpr":
            return self._simple(command, node, state)
        if kind == "DeclClause":
            return self._declaration(command, node, state)
        if kind == "BinaryCmd" and not node.get("Redirs"):
            return self._chain(command, state)
        self._redirections(node, state)
        with self.within(**_ALONE):
            return self._compound(kind, command, state)

    def _compound(self, kind: str, node: Node, state: State) -> Status:
        method: Callable[[Node, State], Status] | None = {
            "Block": lambda node, state: self.run(node.get("Stmts", ()), state),
            "Subshell": lambda node, state: self.run(node.get("Stmts", ()), state.copy()),
            "TimeClause": lambda node, state: self.run([node["Stmt"]], state),
            "BinaryCmd": self._chain,
            "FuncDecl": self._define,
            "IfClause": self._if,
            "CaseClause": self._case,
            "ForClause": self._for,
            "WhileClause": self._while,
            "TestClause": lambda node, state: self._double_bracket(node["X"], state),
            "ArithmCmd": self._arithmetic,
            "LetClause": lambda node, state: [
                self._arithmetic({"X": each}, state) for each in node["Exprs"]
            ][-1],
        }.get(kind)
        if method is None:
            self.steps = 0
        return method(node, state) if method else None

    def _define(self, node: Node, state: State) -> Status:
        self.functions[node["Name"]["Value"]] = node
        return True

    def _arithmetic(self, node: Node, state: State) -> Status:
        number = self.number(node["X"], state, [])
        return None if number is None else number != 0

    # `[[ … ]]`

    def _double_bracket(self, node: Node, state: State) -> Status:
        """The status of `[[ … ]]`; of several conditions in one it is unknown."""
        kind, sign = node["Type"], node.get("Op")
        if kind == "BinaryTest" and sign not in ("&&", "||"):
            return self._comparison(node, state)
        if "Parts" in node:
            return unary("-n", self.value(node, state))
        if kind == "UnaryTest" and sign in ("-n", "-z"):
            return unary(sign, self.value(node["X"], state))
        for side in ("X", "Y"):
            if side in node:
                self._double_bracket(node[side], state)
        return None

    def _comparison(self, node: Node, state: State) -> Status:
        sign, left, right = node["Op"], self.value(node["X"], state), self.value(node["Y"], state)
        if sign not in ("=", "==", "!=") or decided(right) is None:
            return compared(left, sign, right)
        status = self._matches(decided(left), node["Y"], state)
        return negated(status) if sign == "!=" else status

    def _matches(self, text: str | None, word: Node, state: State) -> Status:
        """Whether the whole text matches a word as a pattern."""
        pattern = self.pattern(word, state)
        return None if pattern is None or text is None else fnmatchcase(text, pattern)

    # Chains and pipelines

    def _chain(self, node: Node, state: State) -> Status:
        operator = node["Op"]
        if operator in ("|", "|&"):
            return self._pipeline(node, state)
        with self.within(after=operator):
            status = self.statement(node["X"], state)
        if state.ended or status is (operator == "||"):
            self.pass_over([node["Y"]], state)
            return status
        if status is not None:
            return self.statement(node["Y"], state)
        branch = state.copy()
        with self.maybe():
            second = self.statement(node["Y"], branch)
        given = self._default_of(node["X"], branch, state) if operator == "&&" else {}
        state.meet(branch)
        state.variables |= given
        # `unknown && false` is false, `unknown || true` is true
        return second if second is (operator == "||") else None

    def _pipeline(self, node: Node, state: State) -> Status:
        parts = _piped(node)
        for index, part in enumerate(parts):
            with self.within(pipeline=(index, len(parts))):
                self.statement(part, state.copy())
        return None

    # Simple commands

    def _simple(self, node: Node, statement: Node, state: State) -> Status:
        args = node.get("Args", ())
        words = [word for arg in args for word in self.words(arg, state)]
        self._redirections(statement, state)
        target = state.copy() if words else state
        kind: AssignmentKind = "prefix" if words else "plain"
        values = [self._assign(item, target, kind) for item in node.get("Assigns", ())]
        self._note_command(node, statement, words)
        if not words:
            return None if any(value.text is None for value in values) else True
        name = words[0].text
        if name is None:
            return None
        if name in self.functions:
            return self._call(name, target, state)
        return self._builtin(name, words[1:], state)

    def _declaration(self, node: Node, statement: Node, state: State) -> Status:
        """`export`, `declare`, `local` or `readonly` with its names."""
        command, items = node["Variant"], node.get("Args", ())
        words = [self._as_written(command)]
        for item in items:
            unnamed = item.get("Value") and not item.get("Name")
            words += self.words(item["Value"], state) if unnamed else [self._as_written(item)]
        self._redirections(statement, state)
        self._note_command(node, statement, words)
        flags = "".join(text for word in words if (text := word.text or "").startswith("-"))
        if set(flags) - set("-aAgrx"):
            self.steps = 0
        for item in items:
            name = item["Name"]["Value"] if item.get("Name") else ""
            if name and not item.get("Naked"):
                self._assign(item, state, exported=command["Value"] == "export" or "x" in flags)
            elif name and name not in state.variables and command["Value"] in ("local", "declare"):
                state.set(name, () if {"a", "A"} & set(flags) else None, self.place(item))
        return True

    def _as_written(self, node: Node) -> Word:
        raw, place = self.raw(node), self.place(node)
        return Word(Value((literal(raw, place),)), raw, place)

    def _redirections(self, statement: Node, state: State) -> None:
        """Note what is read in the targets of redirections and in here-documents."""
        for node in statement.get("Redirs", ()):
            body, word = node.get("Hdoc"), node["Word"]
            if body and not re.search(r"[\"'\\]", self.raw(word)):
                self.expand(body.get("Parts", ()), state, "quoted")
            self.value(word, state)

    def _note_command(self, node: Node, statement: Node, words: Sequence[Word]) -> None:
        redirects = statement.get("Redirs", ())
        start = min(item["Pos"] for item in (node, *redirects))
        end = max(item["End"] for item in (node, *(item["Word"] for item in redirects)))
        self.commands.append(
            self.here._replace(
                words=tuple(words),
                raw=self.source.text[start:end],
                place=self.source.place(start),
                end=self.source.place(end),
            )
        )

    # Functions

    def _call(self, name: str, inner: State, state: State) -> Status:
        """Follow a function in a state of its own; what it changes may be changed."""
        self._called.add(name)
        if self.here.reach != "never" and self.steps > 0:
            with self.maybe(), self.within(**_ALONE):
                self.statement(self.functions[name]["Body"], inner)
            state.meet(inner)
            state.ended = inner.ended
        return None

    def run_uncalled(self, state: State) -> None:
        """Note what is in functions that nobody calls."""
        for name, node in sorted(self.functions.items()):
            if name not in self._called:
                self.pass_over([node["Body"]], state)

    # Branches

    def _either(
        self,
        status: Status,
        body: Sequence[Node],
        otherwise: Follow,
        state: State,
        condition: Node | None = None,
    ) -> Status:
        """Follow the body or what comes otherwise; both where the condition is unknown."""
        if status is None:
            other = state.copy()
            with self.maybe():
                self.run(body, state)
                otherwise(other)
            given = self._default_of(condition, state, other) if condition else {}
            state.meet(other)
            state.variables |= given
        elif status:
            self.run(body, state)
            with self.within(reach="never"):
                otherwise(state.copy())
        else:
            self.pass_over(body, state)
            otherwise(state)
        return None

    def _if(self, node: Node | None, state: State) -> Status:
        if node is None:
            return None
        condition = node.get("Cond")
        status = self._condition(condition, state) if condition else True
        otherwise = partial(self._if, node.get("Else"))
        asked = condition[0] if condition else None
        return self._either(status, node["Then"], otherwise, state, asked)

    def _default_of(self, condition: Node, given: State, without: State) -> dict[str, Variable]:
        """The variable that `[ -z "$NAME" ]` asks for and its body sets: as `${NAME:-…}` does.

        Nothing where the script itself has set it before.
        """
        asked = _IS_EMPTY.fullmatch(self.raw(condition))
        name = asked["name"] if asked else ""
        before, found = without.variables.get(name), given.variables.get(name)
        own = before and not (isinstance(before.content, Value) and before.content.default)
        if not found or own or given.ended or not isinstance(found.content, Value):
            return {}
        parts = (part._replace(default=True) for part in found.content.parts)
        return {name: found._replace(content=Value(tuple(parts)))}

    def _condition(self, statements: Sequence[Node], state: State) -> Status:
        with self.within(in_condition=True):
            return self.run(statements, state)

    def _case(self, node: Node, state: State) -> Status:
        text = decided(self.value(node["Word"], state))
        return self._clauses(node.get("Items", ()), text, state)

    def _clauses(self, items: Sequence[Node], text: str | None, state: State) -> Status:
        """The clauses of a `case` of which the first that matches is followed."""
        if not items:
            return None
        found = [
            True if self.raw(word) == "*" else self._matches(text, word, state)
            for word in items[0]["Patterns"]
        ]
        status = True if True in found else None if None in found else False
        otherwise = partial(self._clauses, items[1:], text)
        return self._either(status, items[0].get("Stmts", ()), otherwise, state)

    # Loops

    def _for(self, node: Node, state: State) -> Status:
        loop = node["Loop"]
        if loop["Type"] == "CStyleLoop":
            self.number(loop.get("Init"), state, [])
            return self._loop(partial(self._step, loop), node["Do"], state)
        for word in loop.get("Items", ()):
            self.words(word, state)
        return self._loop(partial(self._set_name, loop["Name"]), node["Do"], state)

    def _step(self, loop: Node, state: State) -> None:
        """The condition and the step of a loop over numbers."""
        self.number(loop.get("Cond"), state, [])
        self.number(loop.get("Post"), state, [])

    def _set_name(self, node: Node, state: State) -> None:
        name, place = self.raw(node), self.place(node)
        state.set(name, lost(place, f"${{{name}}}", unsure=True), place)
        value = lost(place, f"${{{name}}}")
        self.note(Assignment(name, value, name, place, self.here.reach, "for"))

    def _while(self, node: Node, state: State) -> Status:
        """A loop over arguments changes nothing, as the script is read without any."""
        over_arguments = any("$#" in self.raw(condition) for condition in node["Cond"])
        after = state.copy() if over_arguments else state
        return self._loop(partial(self._condition, node["Cond"]), node["Do"], after)

    def _loop(self, begin: Follow, body: Sequence[Node], state: State) -> Status:
        """A loop that runs any number of times: only what no turn changes stays known."""
        noted = self.commands, self.assignments, self.references, self.options
        self.commands, self.assignments, self.references, self.options = [], {}, {}, []
        before = None
        while before != state.variables and self.steps > 0:
            before = state.variables
            state.meet(self._turn(begin, body, state))
        self.commands, self.assignments, self.references, self.options = noted
        state.meet(self._turn(begin, body, state))
        return None

    def _turn(self, begin: Follow, body: Sequence[Node], state: State) -> State:
        """The state after a turn that may be taken."""
        once = state.copy()
        with self.maybe():
            begin(once)
            self.run(body, once)
        return once

    # Assignments

    def _assign(
        self, node: Node, state: State, kind: AssignmentKind = "plain", exported: bool = False
    ) -> Value:
        """Make one assignment and note it; the text that it assigns."""
        name, place, elements = node["Name"]["Value"], self.place(node), None
        value = self.value(node["Value"], state) if node.get("Value") else Value()
        if node.get("Array"):
            items = node["Array"].get("Elems", ())
            words = (self.words(item["Value"], state) for item in items if item.get("Value"))
            elements = tuple(chain.from_iterable(words))
        state.set(name, self._content(node, value, elements, state), place)
        raw, reach = self.raw(node), self.here.reach
        self.note(Assignment(name, value, raw, place, reach, kind, elements, exported))
        return value

    def _content(
        self, node: Node, value: Value, elements: Sequence[Word] | None, state: State
    ) -> Content:
        """What the variable has after `NAME=value`, `NAME+=value`, as an array or with a key."""
        name, items = node["Name"]["Value"], (node.get("Array") or {}).get("Elems", ())
        outside = lost(self.place(node), f"${{{name}}}", name)
        self.number(node.get("Index"), state, [])  # for the references in it
        if node.get("Index") or any(item.get("Index") for item in items):
            return outside
        new = value if elements is None else tuple(word.value for word in elements)
        if not node.get("Append"):
            return new
        old = state.variables[name].content if name in state.variables else outside
        if isinstance(new, tuple):
            return (*((old,) if isinstance(old, Value) else old or ()), *new)
        return outside if isinstance(old, tuple) else bounded([*(old or Value()).parts, *new.parts])

    # Builtins

    def _builtin(self, name: str, arguments: Sequence[Word], state: State) -> Status:
        """Do what a builtin does; its status, `None` also for any other command."""
        if name == "printf" and arguments and arguments[0].text == "-v":
            return self._read(arguments[1:2], state)
        if name in (":", "true", "echo", "printf"):
            return True
        if name in ("test", "["):
            values = [word.value for word in arguments]
            return test(values if name == "test" else values[:-1])
        if name == "exit":
            state.ended = True
        method = {
            **{"set": self._set, "unset": self._unset, "eval": self._eval, "read": self._read},
            **dict.fromkeys(("mapfile", "readarray", "getopts"), self._read),
        }.get(name)
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
                self.options.append(Option(name, flags[0] == "-", word.place))
        return True

    def _unset(self, arguments: Sequence[Word], state: State) -> Status:
        for word in arguments:
            name = word.text or ""
            if name.isidentifier():
                state.set(name, None, word.site)
        return True

    def _read(self, arguments: Sequence[Word], state: State) -> Status:
        """`read`, `mapfile` and others: what they assign to the names among their words."""
        for word in arguments:
            name = word.text or ""
            if name.isidentifier():
                state.lose(name, word.site)
                value = lost(word.site, f"${{{name}}}")
                reach = self.here.reach
                self.note(Assignment(name, value, word.raw, word.site, reach, "read"))
        return None

    def _eval(self, arguments: Sequence[Word], state: State) -> Status:
        """What is run is not followed; what it may assign is unknown."""
        for word in arguments:
            for name in _ASSIGNED.findall(word.value.shown):
                state.lose(name, word.place)
        return None


def _piped(node: Node) -> list[Node]:
    """The commands of a pipeline in order."""
    inner = node["X"].get("Cmd") or {}
    nested = inner.get("Op") in ("|", "|&") and not node["X"].get("Redirs")
    return [*(_piped(inner) if nested else [node["X"]]), node["Y"]]
