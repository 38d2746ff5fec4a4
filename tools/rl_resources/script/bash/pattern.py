"""Shell patterns (`*`, `?`, `[…]`) and what the operators of `${…}` do with them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

LONGEST_MATCHED = 512
"""Of longer texts, and by longer patterns, the result of a match is unknown."""
_UNSUPPORTED = re.compile(r"[?*+@!]\(|\[\[[:.=]|\[[^]]*/|\\")
_SPECIAL = re.compile(r"[*?\[]")


def compiled(texts: Iterable[tuple[str, bool]]) -> re.Pattern[str] | None:
    """The pattern of texts, each with whether it is quoted; `None` for an unsupported one."""
    found = ""
    for text, quoted in texts:
        if not quoted and _UNSUPPORTED.search(text):
            return None
        found += _SPECIAL.sub(r"[\g<0>]", text) if quoted else text.replace("[^", "[!")
    return re.compile(fnmatch.translate(found)) if len(found) < LONGEST_MATCHED else None


def matches(pattern: re.Pattern[str] | None, text: str | None) -> bool | None:
    """Whether the whole text matches; `None` where that is unknown."""
    if pattern is None or text is None or len(text) > LONGEST_MATCHED:
        return None
    return pattern.match(text) is not None


def trimmed(text: str, pattern: re.Pattern[str], operator: str) -> str:
    """`#`, `##`, `%` and `%%`: without the shortest or longest match at an end."""
    places = range(len(text) + 1)
    longest = len(operator) == 2
    if operator[0] == "#":
        ends = [at for at in places if pattern.match(text[:at])]
        return text[ends[-1 if longest else 0] :] if ends else text
    starts = [at for at in places if pattern.match(text[at:])]
    return text[: starts[0 if longest else -1]] if starts else text


def replaced(text: str, pattern: re.Pattern[str], new: str, operator: str) -> str:
    """`/`, `//`, `/#` and `/%`: the first match, all, or the one at an end replaced."""
    if operator == "/#":
        end = _longest(text, pattern, 0)
        return text if end is None else new + text[end:]
    if operator == "/%":
        trimmed_text = trimmed(text, pattern, "%%")
        return trimmed_text + new if trimmed_text != text or pattern.match("") else text
    found, at = "", 0
    while at < len(text):
        end = _longest(text, pattern, at)
        if not end or end == at:
            found, at = found + text[at], at + 1
            continue
        found, at = found + new, end
        if operator == "/":
            break
    return found + text[at:]


def _longest(text: str, pattern: re.Pattern[str], start: int) -> int | None:
    """Where the longest match that begins at `start` ends."""
    ends = range(len(text), start - 1, -1)
    return next((end for end in ends if pattern.match(text[start:end])), None)


def cased(text: str, pattern: re.Pattern[str] | None, operator: str) -> str:
    """`^`, `^^`, `,` and `,,`: the first character or all that match, in the other case."""
    change = str.upper if operator[0] == "^" else str.lower
    limit = len(text) if len(operator) == 2 else 1
    changed = [
        change(sign) if pattern is None or pattern.match(sign) else sign for sign in text[:limit]
    ]
    return "".join(changed) + text[limit:]
