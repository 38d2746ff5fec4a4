"""Simple commands: expanded, noted, and followed where they are builtins or functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rl_resources.script.bash import builtin, declaration
from rl_resources.script.bash.commands import DECLARATIONS
from rl_resources.script.bash.script import (
    Assignment,
    AssignmentKind,
    Command,
    Redirection,
    Word,
)
from rl_resources.script.bash.state import State
from rl_resources.script.bash.surroundings import Links, Status, weaker
from rl_resources.script.bash.syntax import (
    AssignmentWord,
    FunctionDefinition,
    Redirect,
    Simple,
)
from rl_resources.script.bash.syntax import Command as CommandNode
from rl_resources.script.bash.value import Value, literal

if TYPE_CHECKING:
    from rl_resources.script.bash.evaluation import Evaluator

_KINDS: Mapping[str, AssignmentKind] = {
    "export": "export",
    "readonly": "readonly",
    "local": "local",
    "declare": "declare",
    "typeset": "declare",
}

_MOST_FRAMES = 24
"""Functions and loops inside each other: a function without braces may call itself for ever."""


def run_simple(evaluator: Evaluator, node: CommandNode, body: Simple, state: State) -> Status:
    """Expand a simple command, note it and do what it does to the state."""
    links = evaluator.links
    words, assigning = _words(evaluator, body, state)
    redirected = redirections(evaluator, node.redirects, state)
    evaluator.links = links
    if not words:
        assignments = tuple(declaration.assign(evaluator, item, state) for item in body.assignments)
        # tell also what does nothing but redirect or assign
        _record(evaluator, node, body, (), assignments, redirected, state)
        return True if all(a.value.known for a in assignments) else None
    environment = state.copy() if body.assignments else state
    assignments = tuple(
        declaration.assign(evaluator, item, environment, "prefix") for item in body.assignments
    )
    exports = {item.name: item.value for item in assignments}
    _record(evaluator, node, body, words, assignments, redirected, state, exports)
    if words[0].text in DECLARATIONS and words[0].text not in state.functions:
        _declare(evaluator, words, assigning, state)
        return True
    return _call(evaluator, words, state, environment, exports)


_Assigning = Mapping[int, AssignmentWord]


def _words(evaluator: Evaluator, body: Simple, state: State) -> tuple[tuple[Word, ...], _Assigning]:
    """The words, and which of them are assignments that a declaration makes."""
    found: list[Word] = []
    assigning: dict[int, AssignmentWord] = {}
    for item in body.words:
        raw = evaluator.source.text[item.start : item.end]
        site = evaluator.source.place(item.start)
        if isinstance(item, AssignmentWord):
            assigning[len(found)] = item
            found.append(Word(Value((literal(raw, site),)), raw, site))
        else:
            found += [Word(value, raw, site) for value in evaluator.words(item, state)]
    return tuple(found), assigning


def redirections(
    evaluator: Evaluator, redirects: Sequence[Redirect], state: State
) -> tuple[Redirection, ...]:
    """Expand the redirections of a command."""
    return tuple(_redirection(evaluator, redirect, state) for redirect in redirects)


def _redirection(evaluator: Evaluator, redirect: Redirect, state: State) -> Redirection:
    site = evaluator.source.place(redirect.target.start)
    raw = evaluator.source.text[redirect.target.start : redirect.target.end]
    body = None
    if redirect.body is not None:
        body = evaluator.text_of(redirect.body, state, "quoted")
    target = Word(evaluator.value(redirect.target, state), raw, site)
    place = evaluator.source.place(redirect.start)
    return Redirection(redirect.operator, redirect.descriptor, target, body, place)


def _record(
    evaluator: Evaluator,
    node: CommandNode,
    body: Simple,
    words: tuple[Word, ...],
    assignments: tuple[Assignment, ...],
    redirections: tuple[Redirection, ...],
    state: State,
    exports: Mapping[str, Value] | None = None,
) -> None:
    links, here = evaluator.links, evaluator.here
    evaluator.log.commands.append(
        Command(
            words=words,
            assignments=assignments,
            redirections=redirections,
            environment=_environment(evaluator, state, exports or {}),
            raw=evaluator.source.text[body.start : body.end],
            place=evaluator.source.place(node.start),
            end=evaluator.source.place(body.end),
            reach=weaker(here.reach) if state.doubt else here.reach,
            function=here.function,
            in_loop=here.in_loop,
            in_subshell=here.in_subshell,
            in_substitution=here.in_substitution,
            in_condition=here.in_condition,
            pipeline=links.pipeline,
            negated=links.negated,
            background=links.background,
            before=links.before,
            after=links.after,
        )
    )


def _environment(
    evaluator: Evaluator, state: State, exports: Mapping[str, Value]
) -> Mapping[str, Value]:
    evaluator.budget.spend(len(state.variables) // 256)
    if evaluator.budget.exhausted:
        return exports
    found = {**state.exports(), **exports}
    if found != evaluator.exports:
        evaluator.exports = found
    return evaluator.exports


def _call(
    evaluator: Evaluator,
    words: tuple[Word, ...],
    state: State,
    environment: State,
    exports: Mapping[str, Value],
) -> Status:
    name = words[0].text
    if name is None:
        return None
    if name in state.functions:
        return _call_function(
            evaluator, state.functions[name], words[1:], state, environment, exports
        )
    if name == "exec" and len(words) > 1:
        state.flow = "exit"
        return None
    return builtin.run(name, evaluator, words[1:], state)[1]


def _declare(
    evaluator: Evaluator, words: tuple[Word, ...], assigning: _Assigning, state: State
) -> None:
    arguments = [assigning.get(index, word) for index, word in enumerate(words)][1:]
    kind = _KINDS[words[0].text or "declare"]
    declaration.declare(evaluator, kind, arguments, state, bool(evaluator.here.function))


def _call_function(
    evaluator: Evaluator,
    function: FunctionDefinition,
    arguments: tuple[Word, ...],
    state: State,
    environment: State,
    exports: Mapping[str, Value],
) -> Status:
    evaluator.log.called.add(function.name)
    if len(evaluator.frames) > _MOST_FRAMES:
        evaluator.budget.exhaust()
    if evaluator.here.reach == "never" or evaluator.budget.exhausted:
        return None
    positional = state.positional
    state.positional = tuple(word.value for word in arguments)
    state.saved = (*state.saved, {})
    for name in exports:
        state.hide(name, evaluator.source.place(0))
        state.variables[name] = environment.variables[name]._replace(exported=True)
    status = _function_body(evaluator, function, state)
    state.leave_function()
    state.positional = positional
    return status


def _function_body(evaluator: Evaluator, function: FunctionDefinition, state: State) -> Status:
    doubt = state.doubt
    escaped: list[State] = []
    evaluator.frames.append(("function", escaped))
    kept, evaluator.links = (evaluator.links, evaluator.source), Links()
    evaluator.source = evaluator.homes[id(function)][1]
    with evaluator.within(function=function.name, in_loop=False):
        status = evaluator.command(function.body, state)
    evaluator.links, evaluator.source = kept
    evaluator.frames.pop()
    if state.flow == "return":
        state.flow = ""
    if escaped:
        status = None
    evaluator.meet_escaped(state, escaped, doubt)
    return status


def run_uncalled(evaluator: Evaluator, state: State) -> None:
    """Note what stands in functions that nobody calls."""
    for name, function in sorted(state.functions.items()):
        if name in evaluator.log.called:
            continue
        beyond = state.copy()
        beyond.flow = ""
        beyond.saved = (*beyond.saved, {})
        with evaluator.within(reach="never", function=name):
            evaluator.command(function.body, beyond)
