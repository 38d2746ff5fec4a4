"""Follows a script statement by statement, on every branch that may be taken. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from rl_resources.script.bash.builtins import Builtins
from rl_resources.script.bash.conditions import Status, decided, either, matches, negated
from rl_resources.script.bash.parser import Node, Tree
from rl_resources.script.bash.script import AssignmentKind, Command, Redirection, Word
from rl_resources.script.bash.state import State, Variable, joined, weaker
from rl_resources.script.bash.value import Source, Value, literal, lost

_ALONE = {"pipeline": (0, 1), "background": False, "after": ""}
_LEAVING = re.compile(r"\b(?:break|continue|return)\b")
Follow = Callable[[State], object]


class Evaluator(Builtins):
    """Follows statements, and notes commands as it meets them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.called: set[str] = set()
        self._frames: list[tuple[Sequence[str], list[State]]] = []
        """The calls and turns of loops around, what ends them, and the states that may have."""

    # Statements

    def run(self, statements: Sequence[Node], state: State) -> Status:
        """Follow statements in order; the status of the last one."""
        status: Status = True
        for index, statement in enumerate(statements):
            if state.flow:
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
            with self.within(background=True):
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
        state.functions = {**state.functions, node["Name"]["Value"]: (node, self.source)}
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
        if state.flow or status is (operator == "||"):
            self.pass_over([node["Y"]], state)
            return status
        if status is not None:
            return self.statement(node["Y"], state)
        branch = state.copy()
        with self.maybe():
            second = self.statement(node["Y"], branch)
        self._meet(state, [branch, state.copy()])
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
        words = [word for arg in args for word in self.words_of(arg, state)]
        redirections = self._redirections(statement, state)
        target = state.copy() if words else state
        kind: AssignmentKind = "prefix" if words else "plain"
        made = [self.assign(item, target, kind) for item in node.get("Assigns", ())]
        exports = {item.name: item.value for item in made} if words else {}
        self._note_command(node, statement, words, redirections, state, exports)
        if not words:
            return None if any(item.value.text is None for item in made) else True
        name = words[0].text
        if name is None:
            return None
        if name in state.functions:
            return self._call(name, words[1:], state, {n: target.variables[n] for n in exports})
        if name == "exec" and len(words) > 1:
            state.flow = "exit"
        return self.builtin(name, words[1:], state)

    def _declaration(self, node: Node, statement: Node, state: State) -> Status:
        words = [self._as_written(node["Variant"])]
        for item in node.get("Args", ()):
            named = item.get("Name") or not item.get("Value")
            if named:
                words.append(self._as_written(item))
            else:
                words += self.words_of(item["Value"], state)
        redirections = self._redirections(statement, state)
        self._note_command(node, statement, words, redirections, state, {})
        self.declare(node, words, state)
        return True

    def _as_written(self, node: Node) -> Word:
        raw, place = self.raw(node), self.place(node)
        return Word(Value((literal(raw, place),)), raw, place)

    def _redirections(self, statement: Node, state: State) -> tuple[Redirection, ...]:
        return tuple(self._redirection(item, state) for item in statement.get("Redirs", ()))

    def _redirection(self, node: Node, state: State) -> Redirection:
        body, word = node.get("Hdoc"), node["Word"]
        if body and not re.search(r"[\"'\\]", self.raw(word)):
            self.expand(body.get("Parts", ()), state, "quoted")
        target = Word(self.value(word, state), self.raw(word), self.place(word))
        return Redirection(node["Op"], target)

    def _note_command(
        self,
        node: Node,
        statement: Node,
        words: Sequence[Word],
        redirections: tuple[Redirection, ...],
        state: State,
        exports: Mapping[str, Value],
    ) -> None:
        redirects = statement.get("Redirs", ())
        start = min(item["Pos"] for item in (node, *redirects))
        end = max(item["End"] for item in (node, *(item["Word"] for item in redirects)))
        here = self.here
        self.commands.append(
            Command(
                words=tuple(words),
                redirections=redirections,
                environment={**state.exports(), **exports},
                raw=self.source.text[start:end],
                place=self.source.place(start),
                end=self.source.place(end),
                reach=weaker(here.reach) if any(left for _, left in self._frames) else here.reach,
                in_substitution=here.in_substitution,
                in_condition=here.in_condition,
                pipeline=here.pipeline,
                background=here.background,
                after=here.after,
            )
        )

    def evaluate(self, source: Source, tree: Tree, state: State) -> Status:
        """Follow what the command noted last, an `eval`, has read."""
        outer, commands = self.source, self.commands
        self.source, self.commands = source, []
        with self.within(**_ALONE):
            status = self.run(tree.statements, state)
        commands[-1] = commands[-1]._replace(inner=tuple(self.commands))
        self.source, self.commands = outer, commands
        return status

    # Functions

    def _call(
        self, name: str, arguments: Sequence[Word], state: State, exports: Mapping[str, Variable]
    ) -> Status:
        self.called.add(name)
        if self.here.reach == "never" or self.exhausted:
            return None
        node, source = state.functions[name]
        outer, before, positional = self.source, dict(state.variables), state.positional
        self.source = source
        state.positional = tuple(word.value for word in arguments)
        self.locals.append(set(exports))
        for other, variable in exports.items():
            state.variables[other] = variable._replace(exported=True)
        with (
            self.within(in_loop=False, **_ALONE),
            self._frame(("return",), state) as left,
        ):
            status = self.statement(node["Body"], state)
        for other in self.locals.pop():
            state.variables.pop(other, None)
            state.variables |= {other: before[other]} if other in before else {}
        self.source, state.positional = outer, positional
        return None if left else status

    def run_uncalled(self, state: State) -> None:
        """Note what is in functions that nobody calls."""
        for name, (node, source) in sorted(state.functions.items()):
            if name not in self.called:
                self.source = source
                self.pass_over([node["Body"]], state)

    # Branches

    @contextmanager
    def _frame(self, ends: Sequence[str], state: State) -> Iterator[list[State]]:
        """A call or a turn of a loop: at its end, those states are met that have left it early."""
        left: list[State] = []
        self._frames.append((ends, left))
        yield left
        self._frames.pop()
        state.flow = "" if state.flow in ends else state.flow
        if left:
            self._meet(state, [state.copy(), *(branch.running() for branch in left)])

    def _meet(self, state: State, branches: Sequence[State]) -> None:
        """Continue with what is known wherever the branches came from.

        A branch that leaves the script is a guard and says nothing of what follows. One that leaves
        a loop or function is met again at its end.
        """
        for branch in branches:
            frames = [left for ends, left in self._frames if branch.flow in ends]
            if frames:
                frames[-1].append(branch)
        left_early = [branch for branch in branches if branch.flow not in ("", "exit")]
        alive = [branch for branch in branches if not branch.flow] or left_early[:1] or branches[:1]
        met = alive[0]
        for branch in alive[1:]:
            met = joined(met, branch)
        state.become(met)

    def _either(
        self, status: Status, body: Sequence[Node], otherwise: Follow, state: State
    ) -> Status:
        """Follow the body or what comes otherwise; both where the condition is unknown."""
        if status is None:
            other = state.copy()
            with self.maybe():
                self.run(body, state)
                otherwise(other)
            self._meet(state, [state.copy(), other])
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
        items = node.get("Items", ())
        if any(item["Op"] != ";;" for item in items):
            self.give_up()
        return self._clauses(items, decided(self.value(node["Word"], state)), state)

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
        loop, body = node["Loop"], node["Do"]
        if loop["Type"] == "CStyleLoop":
            self.number(loop.get("Init"), state)
            return self._loop(partial(self._step, loop), body, state)
        values = None if node.get("Select") else self._loop_values(loop, state)
        if values is None or _LEAVING.search(self.raw(node)):
            name = loop["Name"]
            missing = lost(self.place(name), f"${{{name['Value']}}}", "conditional")
            return self._loop(partial(self._set_name, name, missing), body, state)
        for value in values:
            self.spend()
            self._set_name(loop["Name"], value, state)
            self.run(body, state)
        return None

    def _step(self, loop: Node, state: State) -> None:
        """The condition and the step of a loop over numbers."""
        self.number(loop.get("Cond"), state)
        self.number(loop.get("Post"), state)

    def _loop_values(self, loop: Node, state: State) -> Sequence[Value] | None:
        """The values to run over, `None` where they are unknown."""
        words = loop.get("Items")
        if words is None:
            values = state.positional if "InPos" not in loop else ()
        else:
            values = tuple(value for word in words for value in self.words(word, state))
        return None if values is None or any(value.many for value in values) else values

    def _set_name(self, name: Node, value: Value, state: State) -> None:
        state.set(name["Value"], value, self.place(name))
        self.note_assignment(name["Value"], value, name, "for")

    def _while(self, node: Node, state: State) -> Status:
        return self._loop(partial(self._condition, node["Cond"]), node["Do"], state)

    def _loop(self, begin: Follow, body: Sequence[Node], state: State) -> Status:
        """A loop that runs any number of times: only what no turn changes stays known."""
        with self.unnoted():
            before = None
            while before != state.variables and not self.exhausted:
                before = state.variables
                once = self._turn(begin, body, state)
                state.become(state if once.flow else joined(state, once))
        self._meet(state, [state.copy(), self._turn(begin, body, state)])
        return None

    def _turn(self, begin: Follow, body: Sequence[Node], state: State) -> State:
        """The state after a turn that may be taken."""
        once = state.copy()
        with (
            self.maybe(),
            self.within(in_loop=True),
            self._frame(("break", "continue"), once),
        ):
            begin(once)
            self.run(body, once)
        return once


def _piped(node: Node) -> list[Node]:
    """The commands of a pipeline in order."""
    inner = node["X"].get("Cmd") or {}
    nested = inner.get("Op") in ("|", "|&") and not node["X"].get("Redirs")
    return [*(_piped(inner) if nested else [node["X"]]), node["Y"]]
