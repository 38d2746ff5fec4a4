"""Loops: followed turn by turn while that can be told, else for any number of turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rl_resources.script.bash.condition import negated
from rl_resources.script.bash.log import Log
from rl_resources.script.bash.state import State, Variable, joined, set_content
from rl_resources.script.bash.surroundings import Status
from rl_resources.script.bash.syntax import ArithmeticFor, For, Statements, While
from rl_resources.script.bash.syntax import Word as WordNode
from rl_resources.script.bash.value import Value, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rl_resources.script.bash.evaluation import Evaluator

_MOST_PASSES = 4
_MOST_DOUBTFUL_TURNS = 16


class _Turn(NamedTuple):
    """One turn of a loop: what decides whether it is taken, the body, and what follows it."""

    begin: Callable[[State], Status]
    body: Statements
    step: Callable[[State], object] = lambda now: None


def run_for(evaluator: Evaluator, body: For, state: State) -> Status:
    """Follow `for NAME in words` and `select`."""
    over = _listed(evaluator, body, state)
    place = evaluator.source.place(body.name_start)
    if over is None or evaluator.here.reach == "never" or evaluator.budget.exhausted or body.select:
        lost = Value((unknown(place, f"${{{body.name}}}", "conditional"),))

        def begin(now: State) -> Status:
            _set_loop_name(evaluator, body, lost, now)
            return None

        return _unknown_loop(evaluator, _Turn(begin, body.body), state)
    with _loop(evaluator, state) as escaped:
        for value in over:
            _set_loop_name(evaluator, body, value, state)
            if not _iterate(evaluator, body.body, state, escaped):
                break
    return None


def _listed(evaluator: Evaluator, body: For, state: State) -> list[Value] | None:
    """The values to run over, `None` where they cannot be known."""
    if body.words is None:
        found = None if state.positional is None else list(state.positional)
    else:
        found = [value for word in body.words for value in evaluator.words(word, state)]
    many = found is None or any(value.many for value in found)
    return None if many else found


def _set_loop_name(evaluator: Evaluator, body: For, value: Value, state: State) -> None:
    place = evaluator.source.place(body.name_start)
    set_content(state, body.name, value, place)
    evaluator.log.assignment(evaluator.unwritten(body.name, value, body.name_start, "for"))


def run_arithmetic_for(evaluator: Evaluator, body: ArithmeticFor, state: State) -> Status:
    """Follow `for ((…))`."""
    _step(evaluator, body.first, state)

    def begin(now: State) -> Status:
        number = _step(evaluator, body.condition, now) if body.condition.pieces else 1
        return None if number is None else number != 0

    turn = _Turn(begin, body.body, lambda now: _step(evaluator, body.step, now))
    return _conditional_loop(evaluator, turn, state)


def _step(evaluator: Evaluator, word: WordNode, state: State) -> int | None:
    return evaluator.number(word.pieces, state, evaluator.source.place(word.start))


def run_while(evaluator: Evaluator, body: While, state: State) -> Status:
    """Follow `while` and `until`."""

    def begin(now: State) -> Status:
        status = evaluator.condition(body.condition, now)
        return negated(status) if body.until else status

    return _conditional_loop(evaluator, _Turn(begin, body.body), state)


def _conditional_loop(evaluator: Evaluator, turn: _Turn, state: State) -> Status:
    """Iterate while the condition is known to hold, then as far as it cannot be known.

    Of the turns after a `break` that may have been taken only the first are told apart.
    """
    doubtful = 0
    with _loop(evaluator, state) as escaped:
        while doubtful <= _MOST_DOUBTFUL_TURNS:
            if evaluator.here.reach == "never" or evaluator.budget.exhausted:
                break
            before = state.copy()
            status = turn.begin(state)
            if state.flow:
                return None
            if status is None:
                state.become(before)
                break
            if status is False:
                evaluator.pass_over(turn.body, state)
                return None
            if not _iterate(evaluator, turn.body, state, escaped):
                return None
            turn.step(state)
            doubtful += bool(escaped)
            if _same(before.variables, state.variables):
                break  # all further turns are alike
    return _unknown_loop(evaluator, turn, state)


@contextmanager
def _loop(evaluator: Evaluator, state: State) -> Iterator[list[State]]:
    """A frame for those who leave the loop; they are met at its end."""
    doubt = state.doubt
    escaped: list[State] = []
    evaluator.frames.append(("loop", escaped))
    with evaluator.within(in_loop=True):
        yield escaped
    evaluator.frames.pop()
    if state.flow in ("break", "continue"):
        state.levels -= 1
        state.flow = "" if state.levels < 1 else state.flow
    evaluator.meet_escaped(state, escaped, doubt)


def _iterate(evaluator: Evaluator, body: Statements, state: State, escaped: list[State]) -> bool:
    """Follow the body once; whether the loop goes on."""
    evaluator.budget.spend()
    evaluator.run(body, state)
    continued = [branch for branch in escaped if branch.flow == "continue" and branch.levels < 2]
    for branch in continued:
        escaped.remove(branch)
        branch.flow = ""
    if state.flow == "continue" and state.levels < 2:
        state.flow = ""
    if continued:
        alive = [] if state.flow else [state.copy()]
        evaluator.meet(state, [*alive, *continued])
    return not state.flow and not evaluator.budget.exhausted


def _unknown_loop(evaluator: Evaluator, turn: _Turn, state: State) -> Status:
    """A loop that runs any number of times: only what no iteration changes stays known."""
    if evaluator.here.reach != "never" and not evaluator.budget.exhausted:
        _settle(evaluator, turn, state)
    once = _after_turn(evaluator, turn, state)
    evaluator.meet(state, [state.copy(), once])
    return None


def _settle(evaluator: Evaluator, turn: _Turn, state: State) -> None:
    """Forget what iterations change, until one more changes nothing."""
    kept, evaluator.log = evaluator.log, Log()
    unreached = set(evaluator.unreached)
    for _ in range(_MOST_PASSES):
        before = state.variables
        once = _after_turn(evaluator, turn, state)
        if once.flow:
            break
        state.become(joined(state, once))
        if _same(before, state.variables):
            break
    evaluator.log = kept
    evaluator.unreached = unreached


def _after_turn(evaluator: Evaluator, turn: _Turn, state: State) -> State:
    """The state after a turn that may be taken."""
    once = state.copy()
    with evaluator.maybe(), _loop(evaluator, once) as escaped:
        turn.begin(once)
        _iterate(evaluator, turn.body, once, escaped)
        turn.step(once)
    return once


def _same(before: Mapping[str, Variable], after: Mapping[str, Variable]) -> bool:
    return before.keys() == after.keys() and all(
        after[name] is variable or after[name] == variable for name, variable in before.items()
    )
