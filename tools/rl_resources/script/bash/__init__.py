"""Reads a bash script and reports what it would do, without running it.

`read` follows the script as it is shipped: started without arguments, with none of its settings
exported. What depends on anything else is unknown.
"""

from __future__ import annotations

from operator import attrgetter

from rl_resources.script.bash.evaluate import Evaluator
from rl_resources.script.bash.parser import parse
from rl_resources.script.bash.script import Script, SourceText

LONGEST_SCRIPT = 1 << 17  # three times the longest launch script that we know of


def read(text: str) -> Script:
    """Read a script; nothing in it is executed.

    What bash would refuse is in `problems`; `commands` are then those above it. Of a text beyond
    `LONGEST_SCRIPT` characters only the beginning is read, and `complete` is false. Raises
    UnusableInput if shfmt is not installed.
    """
    source = SourceText(text[:LONGEST_SCRIPT])
    tree = parse(source.text)
    evaluator = Evaluator(source)
    try:
        evaluator.run(tree.statements)
        evaluator.run_functions()
    except RecursionError:
        evaluator = Evaluator(source)
        evaluator.steps = 0
    assignments = sorted(evaluator.assignments, key=attrgetter("place"))
    problems = [(source.place(at), message) for at, message in tree.problems]
    return Script(
        text=text,
        commands=evaluator.commands,
        assignments=assignments,
        functions=evaluator.function_names,
        options=evaluator.options,
        problems=problems,
        complete=evaluator.steps > 0 and len(text) <= LONGEST_SCRIPT,
    )
