"""Follows a script statement by statement, on every branch that may be taken. Nothing is run.

The body of a function or a loop is a branch: what it changes is unknown where it may not have run.
`break`, `continue` and `return` are taken for guards, after which the body may still go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rl_resources.script.bash.conditions import (
    Conditions,
    Status,
    decided,
    either,
    matches,
    negated,
    test,
)
from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    AssignmentKind,
    Command,
    Option,
    Source,
    Value,
    Word,
    bounded,
    literal,
    lost,
)
from rl_resources.script.bash.state import Content, State, Variable, any_number, joined

_ALONE = {"pipeline": (0, 1), "after": ""}
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
Follow = Callable[[State], object]


class Evaluator(Conditions):
    """Follows statements, and notes commands as it meets them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._called: set[str] = set()

    # Statements

    def run(self, statements: Sequence[Node], state: State) -> Status:
        """Follow statements in order; the status of the last one."""
        status: Status = True
        for index, statement in enumerate(statements):
            if state.ended:
                self.pass_over(statements[index:], state)
                break
            if self.exhausted:
                return None
            status = self.statement(statement, state)
        return status

    def substitute(self, statements: Sequence[Node], state: State) -> None:
        """Follow the commands of `$(…)`."""
        self.run(statements, state)

    def pass_over(self, statements: Sequence[Node], state: State) -> None:
        """Note what is in statements that are not reached."""
        if self.noting:
            with self.within(reach="never"):
                self.run(statements, state.running())

    def statement(self, node: Node, state: State) -> Status:
        """Follow one statement with its redirections."""
        self.spend()
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
            "TestClause": lambda node, state: self.double_bracket(node["X"], state),
            "ArithmCmd": lambda node, state: self._arithmetic([node["X"]], state),
            "LetClause": lambda node, state: self._arithmetic(node["Exprs"], state),
        }.get(kind)
        if method is None:
            self.give_up()
        return method(node, state) if method else None

    def _define(self, node: Node, state: State) -> Status:
        state.functions = {**state.functions, node["Name"]["Value"]: node}
        return True

    def _arithmetic(self, expressions: Sequence[Node], state: State) -> Status:
        number = [self.number(expression, state) for expression in expressions][-1]
        return None if number is None else number != 0

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
        _meet(state, branch)
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
        words = [word for arg in args for word in self._words_of(arg, state)]
        self._redirections(statement, state)
        target = state.copy() if words else state
        kind: AssignmentKind = "prefix" if words else "plain"
        made = [self._assign(item, target, kind) for item in node.get("Assigns", ())]
        self._note_command(node, statement, words)
        if not words:
            return None if any(item.value.text is None for item in made) else True
        name = words[0].text
        if name is None:
            return None
        if name in state.functions:
            return self._call(name, target, state)
        return self._builtin(name, words[1:], state)

    def _declaration(self, node: Node, statement: Node, state: State) -> Status:
        words = [self._as_written(node["Variant"])]
        for item in node.get("Args", ()):
            named = item.get("Name") or not item.get("Value")
            if named:
                words.append(self._as_written(item))
            else:
                words += self._words_of(item["Value"], state)
        self._redirections(statement, state)
        self._note_command(node, statement, words)
        self._declare(node, words, state)
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
        here = self.here
        self.commands.append(
            Command(
                words=tuple(words),
                raw=self.source.text[start:end],
                place=self.source.place(start),
                end=self.source.place(end),
                reach=here.reach,
                in_substitution=here.in_substitution,
                in_condition=here.in_condition,
                pipeline=here.pipeline,
                after=here.after,
            )
        )

    # Functions

    def _call(self, name: str, inner: State, state: State) -> Status:
        """Follow a function in a state of its own; what it changes may be changed."""
        self._called.add(name)
        if self.here.reach != "never" and not self.exhausted:
            with self.maybe(), self.within(**_ALONE):
                self.statement(state.functions[name]["Body"], inner)
            _meet(state, inner)
            state.ended = inner.ended
        return None

    def run_uncalled(self, state: State) -> None:
        """Note what is in functions that nobody calls."""
        for name, node in sorted(state.functions.items()):
            if name not in self._called:
                self.pass_over([node["Body"]], state)

    # Branches

    def _either(
        self, status: Status, body: Sequence[Node], otherwise: Follow, state: State
    ) -> Status:
        """Follow the body or what comes otherwise; both where the condition is unknown."""
        if status is None:
            other = state.copy()
            with self.maybe():
                self.run(body, state)
                otherwise(other)
            _meet(state, other)
        elif status:
            self.run(body, state)
            with self.within(reach="never"):
                otherwise(state.running())
        else:
            self.pass_over(body, state)
            otherwise(state)
        return None

    def _if(self, node: Node | None, state: State) -> Status:
        if node is None:
            return None
        condition = node.get("Cond")
        status = self._condition(condition, state) if condition else True
        return self._either(status, node["Then"], partial(self._if, node.get("Else")), state)

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
        status: Status = False
        for word in items[0]["Patterns"]:
            match = True if self.raw(word) == "*" else matches(self.pattern(word, state), text)
            status = either(status, match)
        otherwise = partial(self._clauses, items[1:], text)
        return self._either(status, items[0].get("Stmts", ()), otherwise, state)

    # Loops

    def _for(self, node: Node, state: State) -> Status:
        loop = node["Loop"]
        if loop["Type"] == "CStyleLoop":
            self.number(loop.get("Init"), state)
            return self._loop(partial(self._step, loop), node["Do"], state)
        for word in loop.get("Items", ()):
            self.words(word, state)
        return self._loop(partial(self._set_name, loop["Name"]), node["Do"], state)

    def _step(self, loop: Node, state: State) -> None:
        """The condition and the step of a loop over numbers."""
        self.number(loop.get("Cond"), state)
        self.number(loop.get("Post"), state)

    def _set_name(self, name: Node, state: State) -> None:
        value = lost(self.place(name), f"${{{name['Value']}}}", "conditional")
        state.set(name["Value"], value, self.place(name))
        self.note_assignment(name["Value"], value, name, "for")

    def _while(self, node: Node, state: State) -> Status:
        """A loop over arguments changes nothing, as the script is read without any."""
        over_arguments = any("$#" in self.raw(condition) for condition in node["Cond"])
        after = state.copy() if over_arguments else state
        return self._loop(partial(self._condition, node["Cond"]), node["Do"], after)

    def _loop(self, begin: Follow, body: Sequence[Node], state: State) -> Status:
        """A loop that runs any number of times: only what no turn changes stays known."""
        with self.unnoted():
            before = None
            while before != state.variables and not self.exhausted:
                before = state.variables
                _meet(state, self._turn(begin, body, state))
        _meet(state, self._turn(begin, body, state))
        return None

    def _turn(self, begin: Follow, body: Sequence[Node], state: State) -> State:
        """The state after a turn that may be taken."""
        once = state.copy()
        with self.maybe():
            begin(once)
            self.run(body, once)
        return once

    # Assignments

    def _assign(self, node: Node, state: State, kind: AssignmentKind = "plain") -> Assignment:
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
        return tuple(word for item in nodes for word in self._words_of(item, state))

    def _words_of(self, node: Node, state: State) -> list[Word]:
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

    def _declare(self, node: Node, words: Sequence[Word], state: State) -> None:
        """Do what `export`, `declare`, `local` or `readonly` does with its names."""
        command, given = node["Variant"]["Value"], [word.text or "" for word in words[1:]]
        flags = {flag for text in given if text.startswith("-") for flag in text[1:]}
        if flags - set("aAgrx"):
            self.give_up()
        kind: AssignmentKind = "export" if "x" in flags else _KINDS.get(command, "declare")
        for item in node.get("Args", ()):
            if item.get("Name"):
                if not item.get("Naked"):
                    self._assign(item, state, kind)
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

    def _builtin(self, name: str, arguments: Sequence[Word], state: State) -> Status:
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


def _meet(state: State, branch: State) -> None:
    """Continue with what is known with and without the branch.

    One that leaves the script is a guard and says nothing of what follows.
    """
    if state.ended:
        state.become(branch)
    elif not branch.ended:
        state.become(joined(state, branch))


def _piped(node: Node) -> list[Node]:
    """The commands of a pipeline in order."""
    inner = node["X"].get("Cmd") or {}
    nested = inner.get("Op") in ("|", "|&") and not node["X"].get("Redirs")
    return [*(_piped(inner) if nested else [node["X"]]), node["Y"]]
