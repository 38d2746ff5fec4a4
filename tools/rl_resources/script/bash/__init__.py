"""Reads a bash script and reports what it would do, without running it.

`read` follows the script as it is shipped: started without arguments, with none of its settings
exported. What depends on anything else is unknown, and says why.
"""

from __future__ import annotations

from rl_resources.script.bash.evaluate import Evaluator
from rl_resources.script.bash.parser import Tree, parse
from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Comment,
    Function,
    Option,
    Part,
    Place,
    Problem,
    Reference,
    Script,
    Source,
    Value,
    Word,
)
from rl_resources.script.bash.state import State

__all__ = [
    "Assignment",
    "Command",
    "Comment",
    "Function",
    "Option",
    "Part",
    "Place",
    "Problem",
    "Reference",
    "Script",
    "Value",
    "Word",
    "read",
]
LONGEST_SCRIPT = 1 << 17  # three times the longest launch script that we know of


def read(script: str | bytes) -> Script:
    """Read a script; nothing in it is executed.

    Bytes that are not UTF-8 are kept as Python's `surrogateescape` writes them. What bash would
    refuse is in `problems`; `commands` are then those above it. Of a text beyond `LONGEST_SCRIPT`
    characters only the beginning is read, and `complete` is false. Raises UnusableInput where shfmt
    is not installed.
    """
    text = script if isinstance(script, str) else script.decode("utf-8", "surrogateescape")
    source = Source(text[:LONGEST_SCRIPT])
    tree, state, evaluator = parse(source.text), State(), Evaluator(source)
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
            Function(name, source.place(node["Pos"])) for name, node in state.functions.items()
        ),
        options=tuple(evaluator.options),
        comments=tuple(_comment(source, node["Pos"]) for node in tree.comments),
        problems=tuple(problems),
        complete=not evaluator.exhausted and len(text) <= LONGEST_SCRIPT,
    )


def _comment(source: Source, start: int) -> Comment:
    return Comment(source.text[start:].partition("\n")[0], source.place(start))
