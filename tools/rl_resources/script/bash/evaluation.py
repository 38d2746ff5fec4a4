"""Follows a script statement by statement, on every branch that may be taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rl_resources.script.bash import condition
from rl_resources.script.bash.condition import both, negated
from rl_resources.script.bash.expansion import Expander
from rl_resources.script.bash.log import Budget
from rl_resources.script.bash.loops import run_arithmetic_for, run_for, run_while
from rl_resources.script.bash.script import Assignment, AssignmentKind, Option, Word
from rl_resources.script.bash.simple import redirections, run_simple
from rl_resources.script.bash.state import State, joined
from rl_resources.script.bash.surroundings import Links, Status, weaker
from rl_resources.script.bash.syntax import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    CaseItem,
    DoubleBracket,
    For,
    FunctionDefinition,
    Group,
    If,
    Pipeline,
    Simple,
    Statements,
    While,
)
from rl_resources.script.bash.syntax import Command as CommandNode
from rl_resources.script.bash.value import Source, Value, unknown

DEEPEST = 24


class Evaluator(Expander):
    """Runs nothing: it keeps what is known of the variables and notes commands as it meets them."""

    def __init__(self, source: Source, budget: Budget) -> None:
        super().__init__(source, budget, self._run_substitution)
        self._depth = 0
        self.frames: list[tuple[str, list[State]]] = []
        self.links = Links()
        self.unreached: set[int] = set()
        self.exports: dict[str, Value] = {}
        self.homes: dict[int, tuple[FunctionDefinition, Source]] = {}
        self._evaluated: list[Statements] = []

    def _run_substitution(self, body: Statements, state: State) -> None:
        kept, self.links = self.links, Links()
        self.run(body, state)
        self.links = kept

    # Statements

    def run(self, statements: Statements, state: State) -> Status:
        """Follow statements in order; the status of the last one."""
        status: Status = True
        self._depth += 1
        if self._depth > DEEPEST:
            self.budget.exhaust()
        else:
            for index, item in enumerate(statements):
                if state.flow:
                    self.pass_over(statements[index:], state)
                    break
                status = self._and_or(item, state)
        self._depth -= 1
        return status

    def evaluate(self, source: Source, statements: Statements, state: State) -> Status:
        """Follow what the command noted last, an `eval`, has read in `source`."""
        self._evaluated.append(statements)  # `unreached` and `homes` go by identity
        outer, commands, links = self.source, self.log.commands, self.links
        self.source, self.log.commands, self.links = source, [], Links()
        status = self.run(statements, state)
        commands[-1] = commands[-1]._replace(inner=tuple(self.log.commands))
        self.source, self.log.commands, self.links = outer, commands, links
        return status

    def pass_over(self, statements: Statements, state: State) -> None:
        """Note what stands in statements that are not reached."""
        if not statements or id(statements[0]) in self.unreached:
            return
        self.unreached.add(id(statements[0]))
        beyond = state.copy()
        beyond.flow = ""
        with self.within(reach="never"):
            self.run(statements, beyond)

    @contextmanager
    def maybe(self) -> Iterator[None]:
        """For a while, nothing is certain to be reached."""
        with self.within(reach=weaker(self.here.reach)):
            yield

    def _and_or(self, item: AndOr, state: State) -> Status:
        self.budget.spend()
        if item.background:
            with self.within(in_subshell=True):
                self._chain(item, state.copy())
            return True
        return self._chain(item, state)

    def _chain(self, item: AndOr, state: State) -> Status:
        status: Status = None
        for index, pipeline in enumerate(item.pipelines):
            before = item.operators[index - 1] if index else ""
            after = item.operators[index] if index < len(item.operators) else ""
            self.links = Links(before, after, item.background, (0, 1), pipeline.negated)
            if index == 0:
                status = self._pipeline(pipeline, state)
            elif state.flow or status is (before == "||"):
                self._pass_over_pipeline(pipeline, state)
            elif status is None:
                status = self._maybe_pipeline(pipeline, state, before)
            else:
                status = self._pipeline(pipeline, state)
        self.links = Links()
        return status

    def _pass_over_pipeline(self, pipeline: Pipeline, state: State) -> None:
        beyond = state.copy()
        beyond.flow = ""
        with self.within(reach="never"):
            self._pipeline(pipeline, beyond)

    def _maybe_pipeline(self, pipeline: Pipeline, state: State, before: str) -> Status:
        branch = state.copy()
        with self.maybe():
            status = self._pipeline(pipeline, branch)
        self.meet(state, [branch, state.copy()])
        if status is None:
            return None
        # `unknown && false` is false, `unknown || true` is true
        return status if status is (before == "||") else None

    def _pipeline(self, pipeline: Pipeline, state: State) -> Status:
        links = self.links
        count = len(pipeline.commands)
        status: Status = None
        for index, command in enumerate(pipeline.commands):
            self.links = links._replace(pipeline=(index, count))
            if count == 1:
                status = self.command(command, state)
            else:
                with self.within(in_subshell=True):
                    last = self.command(command, state.copy())
                    status = last if "pipefail" not in state.options else None
        return negated(status) if pipeline.negated else status

    def command(self, node: CommandNode, state: State) -> Status:
        """Follow one command of any kind."""
        if isinstance(node.body, Simple):
            return run_simple(self, node, node.body, state)
        redirections(self, node.redirects, state)
        kept, self.links = self.links, Links()
        status = self._compound(node, state)
        self.links = kept
        return status

    def _compound(self, node: CommandNode, state: State) -> Status:
        body = node.body
        if isinstance(body, If):
            return self._if(body, state)
        if isinstance(body, For):
            return run_for(self, body, state)
        if isinstance(body, ArithmeticFor):
            return run_arithmetic_for(self, body, state)
        if isinstance(body, While):
            return run_while(self, body, state)
        if isinstance(body, Case):
            return self._case(body, state)
        if isinstance(body, Group):
            return self._group(body, state)
        if isinstance(body, FunctionDefinition):
            state.functions = {**state.functions, body.name: body}
            self.homes[id(body)] = body, self.source
            return True
        if isinstance(body, DoubleBracket):
            return condition.double_bracket(body, self, state)
        if isinstance(body, ArithmeticCommand):
            number = self.number(body.word.pieces, state, self.source.place(body.word.start))
            return None if number is None else number != 0
        return None

    def _group(self, body: Group, state: State) -> Status:
        if not body.subshell:
            return self.run(body.body, state)
        with self.within(in_subshell=True):
            return self.run(body.body, state.copy())

    # Branches

    def meet(self, state: State, branches: Sequence[State]) -> None:
        """Go on with what is known wherever the branches came from.

        A branch that leaves the script is a guard and says nothing of what follows. One that leaves
        a loop or function is met again at its end.
        """
        alive = [branch for branch in branches if not branch.flow]
        doubt = any(self._escape(branch) for branch in branches if branch.flow)
        if not alive:
            state.become(branches[0])
            state.flow = "exit" if all(branch.flow == "exit" for branch in branches) else "gone"
            return
        met = alive[0]
        for branch in alive[1:]:
            self.budget.spend(len(branch.variables) // 64)
            met = joined(met, branch)
        met.doubt = met.doubt or doubt
        state.become(met)

    def _escape(self, branch: State) -> bool:
        """Keep a branch that leaves a loop or function for its end; whether it does."""
        kind = "function" if branch.flow == "return" else "loop"
        if branch.flow not in ("return", "break", "continue"):
            return branch.flow == "gone"
        frames = [states for frame, states in self.frames if frame == kind]
        if frames:
            frames[-min(branch.levels if kind == "loop" else 1, len(frames))].append(branch)
        return True

    def meet_escaped(self, state: State, escaped: Sequence[State], doubt: bool) -> None:
        """At the end of a loop or function, meet those who left it early."""
        for branch in escaped:
            branch.flow = ""
        if escaped:
            alive = [] if state.flow else [state.copy()]
            self.meet(state, [*alive, *escaped])
        if not state.flow:
            state.doubt = doubt

    def _if(self, body: If, state: State) -> Status:
        outcomes: list[State] = []
        surroundings = self.here
        reached = True
        for test, branch in body.branches:
            if not reached:
                self.pass_over(test or (), state)
                self.pass_over(branch, state)
                continue
            status = True if test is None else self.condition(test, state)
            if state.flow:
                break
            if status is False:
                self.pass_over(branch, state)
            elif status is True:
                self.run(branch, state)
                reached = False
            else:
                taken = state.copy()
                with self.maybe():
                    self.run(branch, taken)
                outcomes.append(taken)
                # what follows is tried only if this branch is not taken
                self.here = self.here._replace(reach=weaker(self.here.reach))
        self.here = surroundings
        if outcomes:
            self.meet(state, [*outcomes, state.copy()])
        return None

    def condition(self, statements: Statements, state: State) -> Status:
        """Follow the condition of a statement; its status."""
        with self.within(in_condition=True):
            return self.run(statements, state)

    def _case(self, body: Case, state: State) -> Status:
        text = condition.decided(self.value(body.word, state))
        outcomes: list[State] = []
        surroundings = self.here
        reached = True
        falls = False  # a `;&` before goes on here whatever the pattern
        for item in body.items:
            if not reached:
                self.pass_over(item.body, state)
                continue
            status = self._pattern_status(item, text, state)
            entered = falls or status is not False
            if item.terminator != ";;" or (falls and status is False):
                status = None
            falls = entered and item.terminator == ";&"
            if status is False:
                self.pass_over(item.body, state)
            elif status is True:
                self.run(item.body, state)
                reached = False
            else:
                taken = state.copy()
                with self.maybe():
                    self.run(item.body, taken)
                outcomes.append(taken)
                if item.terminator != ";;":
                    state.become(joined(state, taken))
                self.here = self.here._replace(reach=weaker(self.here.reach))
        self.here = surroundings
        if outcomes:
            self.meet(state, [*outcomes, state.copy()])
        return None

    def _pattern_status(self, item: CaseItem, text: str | None, state: State) -> Status:
        status: Status = False
        for word in item.patterns:
            pattern = self.pattern(word.pieces, state)
            if pattern is not None and pattern.always:
                return True
            match: Status = None
            if pattern is not None and text is not None and self.affordable(pattern, text):
                match = pattern.matches(text)
            status = negated(both(negated(status), negated(match)))
        return status

    # What others note

    def unwritten(self, name: str, value: Value, start: int, kind: AssignmentKind) -> Assignment:
        """The assignment that a loop or a builtin makes to the name at `start`."""
        return Assignment(
            name=name,
            value=value,
            elements=None,
            key=None,
            operator="=",
            raw=name,
            place=self.source.place(start),
            kind=kind,
            exported=False,
            reach=self.here.reach,
            function=self.here.function,
        )

    def note_option(self, option: Option) -> None:
        """Note that an option is turned on or off."""
        self.log.options.append(option)

    def note_read(self, word: Word) -> None:
        """Note that a builtin assigns the variable that a word names."""
        if word.text:
            lost = unknown(word.site, f"${{{word.text}}}", "special")
            start = word.site.offset
            self.log.assignment(self.unwritten(word.text, Value((lost,)), start, "read"))

    def let(self, word: Word, state: State) -> int | None:
        """Do the arithmetic of one argument of `let`."""
        if word.text is None:
            return None
        return self.number_of(word.text, state, word.place)
