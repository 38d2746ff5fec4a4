"""Commands that stand in a text which something else runs in the end.

A prompt that the shell expands, an index that arithmetic evaluates, a pager, an option of a
program: whoever runs the text, the script shows what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.script.calls import INTERPRETERS, SAYERS, bare, name_of, names
from rl_resources.script.shell import Command

_COMMAND = re.compile(
    r"(?:^|[;&|({!=\"'`]|:(?! )|^\.(?:shell|system) )\s*"
    r"(?=(?:/[\w/]*/)?(?:rm|shred|dd|curl|wget|nc|ncat|socat|base64|(?:ba|da|z)?sh|python3?|perl)\s)"
)
"""Where a command begins, by programs whose names begin no sentence."""
_OTHER_TEXTS = SAYERS | names("cat git grep jq logger rg sed")
"""What takes texts that are no commands; those of interpreters are read as programs."""


def carried(command: Command) -> Iterator[str]:
    """What the texts of a command say, to be read as commands."""
    for text in _texts(command):
        if begins := _COMMAND.search(text):
            yield text[begins.end() :]


def _texts(command: Command) -> Iterator[str]:
    yield from (item.value.text or "" for item in command.assignments)
    name = name_of(bare(command))
    if name in _OTHER_TEXTS or INTERPRETERS.fullmatch(name):
        return
    yield from (text for word in command.words[1:] if " " in (text := word.text or ""))
    yield from (item.target.text or "" for item in command.redirections if item.operator == "<<<")
