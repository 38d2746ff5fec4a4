"""Follows a script statement by statement, on every branch that may be taken. Nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from rl_resources.script.bash.builtins import Builtins
from rl_resources.script.bash.condition import Status, decided, either, negated
from rl_resources.script.bash.parser import Node, Tree
from rl_resources.script.bash.pattern import matches
from rl_resources.script.bash.script import AssignmentKind, Command, Redirection, Word
from rl_resources.script.bash.state import State, Variable, joined
from rl_resources.script.bash.trace import weaker
from rl_resources.script.bash.value import Source, Value, literal, lost

_MOST_PASSES = 4
_DEEPEST = 24
_ALONE = {"pipeline": (0, 1), "background": False, "after": ""}
Test = Callable[[State], Status]


class Branch(NamedTuple):
    """What decides whether a branch is taken, its body, and the statements of its condition."""

    test: Test
    body: Sequence[Node]
    condition: Sequence[Node] = ()


class Loop(NamedTuple):
    """What begins each turn, the body, and what follows it."""

    begin: Callable[[State], object]
    body: Sequence[Node]
    step: Callable[[State], object] = lambda state: None


class Evaluator(Builtins):
    """Keeps what is known of the variables and notes commands as it meets them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.called: set[str] = set()
        self._depth = 0
        self._frames: list[tuple[str, list[State]]] = []
        """Loops and functions being followed, each with the states that may have left it."""
        self._passed: set[tuple[int, int]] = set()

    # Statements

    def run(self, statements: Sequence[Node], state: State) -> Status:
        """Follow statements in order; the status of the last one."""
        status: Status = True
        self._depth += 1
        if self._depth > _DEEPEST:
            self.steps = 0
        for index, statement in enumerate(statements if not self.exhausted else ()):
            if state.flow:
                self.pass_over(statements[index:], state)
                break
            status = self.statement(statement, state)
        self._depth -= 1
        return status

    def substitute(self, statements: Sequence[Node], state: State) -> None:
        """Follow the commands of `$(…)`."""
        self.run(statements, state)

    def pass_over(self, statements: Sequence[Node], state: State) -> None:
        """Note what is in statements that are not reached, once."""
        first = (id(self.source), statements[0]["Pos"]) if statements else None
        if first is not None and first not in self._passed:
            self._passed.add(first)
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
        if kind in ("Block", "Subshell"):
            return self.run(node.get("Stmts", ()), state if kind == "Block" else state.copy())
        if kind == "FuncDecl":
            state.functions = {**state.functions, node["Name"]["Value"]: (node, self.source)}
            return True
        if kind in ("TimeClause", "CoprocClause"):
            inner = state if kind == "TimeClause" else state.copy()
            return self.statement(node["Stmt"], inner) if node.get("Stmt") else True
        method: Callable[[Node, State], Status] | None = {
            "BinaryCmd": self._chain,
            "IfClause": self._if,
            "CaseClause": self._case,
            "ForClause": self._for,
            "WhileClause": self._while,
            "TestClause": lambda node, state: self.double_bracket(node["X"], state),
            "ArithmCmd": lambda node, state: self._arithmetic(node["X"], state),
            "LetClause": self._let,
        }.get(kind)
        return method(node, state) if method else None

    def _arithmetic(self, node: Node | None, state: State) -> Status:
        number = self.number(node, state)
        return None if number is None else number != 0

    def _let(self, node: Node, state: State) -> Status:
        return [self._arithmetic(expression, state) for expression in node["Exprs"]][-1]

    # Chains and pipelines

    def _chain(self, node: Node, state: State) -> Status:
        sign = node["Op"]
        if sign in ("|", "|&"):
            return self._pipeline(node, state)
        with self.within(after=sign):
            status = self.statement(node["X"], state)
        if state.flow or status is (sign == "||"):
            self.pass_over([node["Y"]], state)
            return status
        if status is not None:
            return self.statement(node["Y"], state)
        branch = state.copy()
        with self.maybe():
            second = self.statement(node["Y"], branch)
        self._meet(state, [branch, state.copy()])
        # `unknown && false` is false, `unknown || true` is true
        return second if second is (sign == "||") else None

    def _pipeline(self, node: Node, state: State) -> Status:
        parts = _piped(node)
        status: Status = None
        for index, part in enumerate(parts):
            with self.within(pipeline=(index, len(parts)), after=self.here.after):
                status = self.statement(part, state.copy())
        return None if "pipefail" in state.options else status

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
            return True if all(item.value.known for item in made) else None
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
        if body and not any(sign in self.raw(word) for sign in "\"'\\"):
            self.fragments(body.get("Parts", ()), state, "quoted")
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
        self.spend(len(state.variables) // 256)
        here = self.here
        self.commands.append(
            Command(
                words=tuple(words),
                redirections=redirections,
                environment={} if self.exhausted else {**state.exports(), **exports},
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
        if len(self._frames) > _DEEPEST:
            self.steps = 0
        if self.here.reach == "never" or self.exhausted:
            return None
        node, source = state.functions[name]
        outer, before, positional = self.source, dict(state.variables), state.positional
        self.source = source
        state.positional = tuple(word.value for word in arguments)
        self.locals.append(set(exports))
        for other, variable in exports.items():
            state.variables[other] = variable._replace(exported=True)
        with self.within(in_function=True, in_loop=False, **_ALONE):
            status = self._body(node["Body"], state)
        for other in self.locals.pop():
            state.variables.pop(other, None)
            state.variables |= {other: before[other]} if other in before else {}
        self.source, state.positional = outer, positional
        return status

    def _body(self, node: Node, state: State) -> Status:
        with self._frame("function", state) as left:
            status = self.statement(node, state)
        return None if left else status

    def run_uncalled(self, state: State) -> None:
        """Note what is in functions that nobody calls."""
        for name, (node, source) in sorted(state.functions.items()):
            if name not in self.called:
                self.source = source
                with self.within(reach="never", in_function=True):
                    self.statement(node["Body"], state.running())

    # Branches

    @contextmanager
    def _frame(self, kind: str, state: State) -> Iterator[list[State]]:
        """A loop or function: at its end, those states are met that may have left it early."""
        left: list[State] = []
        self._frames.append((kind, left))
        yield left
        self._frames.pop()
        ends = ("return",) if kind == "function" else ("break", "continue")
        state.flow = "" if state.flow in ends else state.flow
        if left:
            self._meet(state, [state.copy(), *(branch.running() for branch in left)])

    def _meet(self, state: State, branches: Sequence[State]) -> None:
        """Continue with what is known wherever the branches came from.

        A branch that leaves the script is a guard and says nothing of what follows. One that leaves
        a loop or function is met again at its end.
        """
        for branch in branches:
            kind = "function" if branch.flow == "return" else "loop"
            frames = [left for frame, left in self._frames if frame == kind]
            if branch.flow in ("return", "break", "continue") and frames:
                frames[-1].append(branch)
        alive = [branch for branch in branches if not branch.flow]
        if not alive:
            same = all(branch.flow == "exit" for branch in branches)
            state.become(replace(branches[0], flow="exit" if same else "gone"))
            return
        met = alive[0]
        for branch in alive[1:]:
            self.spend(len(branch.variables) // 64)
            met = joined(met, branch)
        state.become(met)

    def _if(self, node: Node, state: State) -> Status:
        branches: list[Branch] = []
        branch: Node | None = node
        while branch:
            test = branch.get("Cond")
            begin = partial(self._condition, test) if test else _always
            branches.append(Branch(begin, branch["Then"], test or ()))
            branch = branch.get("Else")
        return self._branches(branches, state)

    def _condition(self, statements: Sequence[Node], state: State) -> Status:
        with self.within(in_condition=True):
            return self.run(statements, state)

    def _branches(self, branches: Sequence[Branch], state: State) -> Status:
        """Take the first branch whose test holds, and note all that may be or are not taken."""
        outcomes: list[State] = []
        outer, open_ = self.here, True
        for test, body, condition in branches:
            status: Status = False
            if open_ and not state.flow:
                status = test(state)
            else:
                self.pass_over(condition, state)
            if status is False:
                self.pass_over(body, state)
            elif status is True:
                self.run(body, state)
                open_ = False
            else:
                taken = state.copy()
                with self.maybe():
                    self.run(body, taken)
                outcomes.append(taken)
                # what follows is tried only if this branch is not taken
                self.here = self.here._replace(reach=weaker(self.here.reach))
        self.here = outer
        if outcomes:
            self._meet(state, [*outcomes, state.copy()])
        return None

    def _case(self, node: Node, state: State) -> Status:
        text = decided(self.value(node["Word"], state))
        items = node.get("Items", ())
        branches = [
            Branch(partial(self._selects, item, text), item.get("Stmts", ())) for item in items
        ]
        if all(item["Op"] == ";;" for item in items):
            return self._branches(branches, state)
        for branch in branches:  # with `;&` and `;;&` each branch may follow any other
            taken = state.copy()
            with self.maybe():
                self.run(branch.body, taken)
            self._meet(state, [taken, state.copy()])
        return None

    def _selects(self, item: Node, text: str | None, state: State) -> Status:
        """Whether a clause of a `case` is chosen."""
        status: Status = False
        for word in item["Patterns"]:
            always = self.raw(word) == "*"
            match = True if always else matches(self.pattern(word, state), text)
            status = either(status, match)
        return status

    # Loops

    def _for(self, node: Node, state: State) -> Status:
        loop, body = node["Loop"], node["Do"]
        if loop["Type"] == "CStyleLoop":
            self.number(loop.get("Init"), state)
            test = partial(self.number, loop.get("Cond"))
            return self._loop(Loop(test, body, partial(self.number, loop.get("Post"))), state)
        values = None if node.get("Select") else self._loop_values(loop, state)
        if values is None or self.here.reach == "never":
            name = loop["Name"]
            missing = lost(self.place(name), f"${{{name['Value']}}}", "conditional")
            return self._loop(Loop(partial(self._set_name, name, missing), body), state)
        with self._frame("loop", state) as left, self.within(in_loop=True):
            for value in values:
                self._set_name(loop["Name"], value, state)
                if not self._turn(body, state, left):
                    break
        return None

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
        return self._loop(Loop(partial(self._condition, node["Cond"]), node["Do"]), state)

    def _turn(self, body: Sequence[Node], state: State, left: list[State]) -> bool:
        """Follow the body once; whether the loop continues."""
        self.spend()
        self.run(body, state)
        continued = [branch for branch in left if branch.flow == "continue"]
        left[:] = [branch for branch in left if branch.flow != "continue"]
        state.flow = "" if state.flow == "continue" else state.flow
        if continued:
            self._meet(state, [state.copy(), *(branch.running() for branch in continued)])
        return not state.flow and not self.exhausted

    def _loop(self, loop: Loop, state: State) -> Status:
        """A loop that runs any number of times: only what no turn changes stays known."""
        if self.here.reach != "never" and not self.exhausted:
            self._settle(loop, state)
        self._meet(state, [state.copy(), self._after_turn(loop, state)])
        return None

    def _settle(self, loop: Loop, state: State) -> None:
        """Forget what turns change, until one more changes nothing."""
        passed = set(self._passed)
        with self.unnoted():
            for _ in range(_MOST_PASSES):
                once = self._after_turn(loop, state)
                before = state.variables
                state.become(state if once.flow else joined(state, once))
                if before == state.variables:
                    break
        self._passed = passed

    def _after_turn(self, loop: Loop, state: State) -> State:
        """The state after a turn that may be taken."""
        once = state.copy()
        with self.maybe(), self._frame("loop", once) as left, self.within(in_loop=True):
            loop.begin(once)
            self._turn(loop.body, once, left)
            loop.step(once)
        return once


def _always(state: State) -> Status:
    return True


def _piped(node: Node) -> list[Node]:
    """The commands of a pipeline in order."""
    inner = node["X"].get("Cmd") or {}
    nested = inner.get("Op") in ("|", "|&") and not node["X"].get("Redirs")
    return [*(_piped(inner) if nested else [node["X"]]), node["Y"]]
