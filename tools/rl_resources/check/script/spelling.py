"""Commands that are spelt so that their reader does not see what they run."""

from __future__ import annotations

import re

from rl_resources.check.script.calls import name_of
from rl_resources.schema.letters import look_alike
from rl_resources.script.shell import Word

_ODD_NAME = re.compile(
    r"\w(?:''|\"\"|\\|\$['@*]|['\"]\w|\$\{?IFS)|^\$'|^['\"]\w+['\"]['\"]?\w"
    r"|^/[\w/]*[?*\[]|^\"?(?:\$\(|`) *(?:echo|printf|tr|rev|sed|awk|cut|xxd|base64)\b"
)
_CHANGED = re.compile(r"\$\{!\w+\}|^\"?\$\{(?:\w+(?:\[[^]]*\])?(?:/|:\d|: *-\d|[,^]{1,2}|@))")
"""A variable of which something else is run than what it holds."""
_ESCAPED = re.compile(r"\$'(?:[^'\\]*\\(?:x[0-9a-fA-F]{2}|[0-7]{3})){3}")
"""A text of which letters are written as numbers."""
_BETWEEN_LETTERS = re.compile(r"(?<=\w)\$(?:\{\w+\}|\w+)(?=\w)")
_HOT = frozenset({"rm", "curl", "wget", "bash", "sh", "eval", "sudo", "nc", "dd", "cat", "python3"})
"""Names that nobody has a reason to put together."""


def is_odd_name(first: Word) -> bool:
    """Whether the name of a program is put together where a plain word would do."""
    if look_alike(name_of([first])):
        return True
    if _ODD_NAME.search(first.raw) and first.raw.strip("\"'") != first.text:
        return True
    if _CHANGED.search(first.raw) and name_of([first]) in _HOT:
        return True
    without = _BETWEEN_LETTERS.sub("", first.raw)
    return without != first.raw and without in _HOT


def is_odd_text(word: Word) -> bool:
    """Whether a text that is run is another one than a variable holds, or written in numbers."""
    return bool(_CHANGED.search(word.raw) or _ESCAPED.search(word.raw))
