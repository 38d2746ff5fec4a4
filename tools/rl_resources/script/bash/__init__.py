"""Reads a bash script and tells what it would do, as far as that can be told without running it.

`read` follows the script as it is shipped: started without arguments, with none of its settings
exported. Whatever depends on anything else is unknown, and says why.
"""

from rl_resources.script.bash.reading import read, reread
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
from rl_resources.script.bash.value import Part, Place, Value

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
