"""The values that a script sets or hands to a program, and where in them something stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Part, Value

_NO_USES = frozenset({"echo", "printf", "export", "declare", "typeset", "local", "readonly"})
"""Commands whose words are only shown, or are assignments, which are looked at as such."""


def values(subject: ScriptText) -> Iterator[Value]:
    """Every value that the script sets or hands to a program."""
    for item in subject.script.assignments:
        if item.reach != "never" and item.elements is None:
            yield item.value
    for command in subject.script.commands:
        if command.reach != "never" and command.name not in _NO_USES:
            for word in command.words:
                yield word.value


def places(pattern: re.Pattern[str], value: Value) -> Iterator[tuple[str, Part, int]]:
    """Where a pattern matches: the text, and the part and the offset in it.

    What is not known stands as NUL.
    """
    text = "".join("\0" if part.text is None else part.text for part in value.parts)
    for match in pattern.finditer(text):
        at = match.start()
        for part in value.parts:
            length = 1 if part.text is None else len(part.text)
            if at < length:
                yield match[0].partition("\0")[0], part, at
                break
            at -= length
