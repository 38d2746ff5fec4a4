"""Reads a bash script and reports what it would do, without running it.

`read` follows the script as it is shipped: started without arguments, with none of its settings
exported. What depends on anything else is unknown, and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rl_resources.script.bash.evaluate import Evaluator
from rl_resources.script.bash.parser import Tree, parse
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Comment,
    Function,
    Option,
    Problem,
    Redirection,
    Reference,
    Script,
    Word,
)
from rl_resources.script.bash.state import State, Variable
from rl_resources.script.bash.value import Part, Place, Quoted, Source, Value

__all__ = [
    "Assignment",
    "Command",
    "Comment",
    "Function",
    "Option",
    "Part",
    "Place",
    "Problem",
    "Redirection",
    "Reference",
    "Script",
    "Value",
    "Word",
    "read",
    "reread",
]
LONGEST_SCRIPT = 1 << 17  # three times the longest launch script that we know of


@lru_cache(maxsize=32)
def read(script: str | bytes) -> Script:
    """Read a script; nothing in it is executed.

    Bytes that are not UTF-8 are kept as Python's `surrogateescape` writes them. What bash would
    refuse is in `problems`; `commands` are then those above it. Of a text beyond `LONGEST_SCRIPT`
    characters only the beginning is read, and `complete` is false. Raises UnusableInput where shfmt
    is not installed.
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
    tree, place = parse(source.text), source.place(0)
    state = State({name: Variable(value, place, True) for name, value in environment.items()})
    evaluator = Evaluator(source)
    try:
        evaluator.run(tree.statements, state)
        evaluator.run_uncalled(state)
    except RecursionError:
        evaluator, state = Evaluator(source), State()
        evaluator.steps = 0
    return _script(text, source, tree, evaluator, state)


def _script(text: str, source: Source, tree: Tree, evaluator: Evaluator, state: State) -> Script:
    run = {command.place.offset for command in evaluator.commands if command.reach != "never"}
    noted = {item.place.offset: item for item in evaluator.commands if item.place.offset not in run}
    problems = [Problem(message, source.place(at)) for at, message in filter(None, [tree.problem])]
    return Script(
        text=text,
        commands=tuple(
            command
            for command in evaluator.commands
            if command.reach != "never" or noted.get(command.place.offset) is command
        ),
        assignments=tuple(item for _, item in sorted(evaluator.assignments.items())),
        references=tuple(item for _, item in sorted(evaluator.references.items())),
        functions=tuple(
            Function(name, home.place(node["Pos"]))
            for name, (node, home) in state.functions.items()
        ),
        options=tuple(evaluator.options),
        comments=tuple(_comment(source, node["Pos"]) for node in tree.comments),
        problems=tuple(problems),
        complete=not evaluator.exhausted and len(text) <= LONGEST_SCRIPT,
    )


def _comment(source: Source, start: int) -> Comment:
    return Comment(source.text[start:].partition("\n")[0], source.place(start))
