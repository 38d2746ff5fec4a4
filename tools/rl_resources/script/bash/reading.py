"""From the text of a script to what can be told of it."""

from __future__ import annotations

from collections.abc import Mapping

from rl_resources.script.bash import statements
from rl_resources.script.bash.evaluation import Evaluator
from rl_resources.script.bash.log import Budget
from rl_resources.script.bash.script import Comment, Function, Problem, Script
from rl_resources.script.bash.simple import run_uncalled
from rl_resources.script.bash.state import State, Variable
from rl_resources.script.bash.syntax import FunctionDefinition, Tree
from rl_resources.script.bash.value import Quoted, Source, Value

LONGEST_SCRIPT = 1 << 17  # three times the longest launch script that we know of


def read(script: str | bytes) -> Script:
    """Read a script; nothing in it is executed.

    Bytes that are not UTF-8 are kept as Python's `surrogateescape` writes them. Never raises: what
    bash would refuse is told in `problems`. Of a text beyond `LONGEST_SCRIPT` characters only the
    beginning is read, and `complete` is false.
    """
    text = script if isinstance(script, str) else script.decode("utf-8", "surrogateescape")
    return _evaluated(Source(text[:LONGEST_SCRIPT]), text, {})


def reread(script: Script, value: Value, environment: Mapping[str, Value] | None = None) -> Script:
    """Read a value of a script, such as the argument of `bash -c`, as a script of its own.

    It is followed with only the variables of the environment set. Places are those of the outer
    script.
    """
    return _evaluated(Quoted(value, script.text), script.text, environment or {})


def _evaluated(source: Source, text: str, environment: Mapping[str, Value]) -> Script:
    tree = statements.read(source.text)
    budget = Budget()
    evaluator = Evaluator(source, budget)
    place = source.place(0)
    variables = {name: Variable(value, place, True) for name, value in environment.items()}
    state = State(variables)
    evaluator.run(tree.statements, state)
    run_uncalled(evaluator, state)
    return _told(text, source, tree, evaluator, state, not budget.exhausted)


def _told(
    text: str, source: Source, tree: Tree, evaluator: Evaluator, state: State, complete: bool
) -> Script:
    log = evaluator.log
    return Script(
        text=text,
        commands=log.told(),
        assignments=tuple(log.assignments[offset] for offset in sorted(log.assignments)),
        references=tuple(log.references[offset] for offset in sorted(log.references)),
        functions=tuple(
            _function(source, definition, definition.name in log.called)
            for definition in state.functions.values()
        ),
        options=tuple(log.options),
        comments=tuple(
            Comment(text[start:end], source.place(start)) for start, end in sorted(tree.comments)
        ),
        problems=tuple(
            Problem(problem.kind, source.place(problem.start)) for problem in tree.problems
        ),
        complete=complete and len(text) <= LONGEST_SCRIPT,
    )


def _function(source: Source, definition: FunctionDefinition, called: bool) -> Function:
    return Function(definition.name, source.place(definition.start), called)
