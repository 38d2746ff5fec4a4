"""What the operators of `${…}` do to a text."""

from __future__ import annotations

from collections.abc import Callable

from rl_resources.script.bash.pattern import Pattern

Change = Callable[[str], str | None]
"""A text to another one; `None` where bash refuses it."""


def substring(bounds: tuple[int, int | None] | None) -> Change | None:
    """`${NAME:offset:length}`; nothing where offset and length are not known."""
    if bounds is None:
        return None
    start, length = bounds

    def change(text: str) -> str | None:
        first = start + len(text) if start < 0 else start
        if not 0 <= first <= len(text):
            return ""
        if length is not None and length < 0:
            last = len(text) + length
            return text[first:last] if last >= first else None
        return text[first : None if length is None else first + length]

    return change


def cased(operator: str, pattern: Pattern) -> Change:
    """`^`, `^^`, `,` and `,,`: the first character or all that match, in the other case."""
    function = str.upper if operator[0] == "^" else str.lower

    def change(text: str) -> str | None:
        limit = len(text) if len(operator) == 2 else 1
        matching = [not pattern.tokens or pattern.matches(character) for character in text[:limit]]
        changed = [
            function(character) if match else character
            for character, match in zip(text, matching, strict=False)
        ]
        return "".join(changed) + text[limit:]

    return change


def trimmed(text: str, pattern: Pattern, operator: str) -> str:
    """`#`, `##`, `%` and `%%`: without the shortest or longest match at an end."""
    longest = len(operator) == 2
    if operator[0] == "#":
        ends = pattern.ends(text, 0)
        return text[(max if longest else min)(ends) :] if ends else text
    starts = pattern.starts(text)
    return text[: (min if longest else max)(starts)] if starts else text


def replaced(text: str, pattern: Pattern, replacement: str, operator: str) -> str | None:
    """`/`, `//`, `/#` and `/%`: the first match, all, or the one at an end replaced."""
    if not pattern.tokens:
        return (
            replacement + text
            if operator == "/#"
            else (text + replacement if operator == "/%" else text)
        )
    if operator == "/#":
        ends = pattern.ends(text, 0)
        return replacement + text[max(ends) :] if ends else text
    if operator == "/%":
        starts = pattern.starts(text)
        return text[: min(starts)] + replacement if starts else text
    return _replaced_anywhere(text, pattern, replacement, once=operator == "/")


def _replaced_anywhere(text: str, pattern: Pattern, replacement: str, once: bool) -> str:
    found: list[str] = []
    at = 0
    while at < len(text):
        ends = pattern.ends(text, at) - {at}
        if not ends:
            found.append(text[at])
            at += 1
            continue
        found.append(replacement)
        at = max(ends)
        if once:
            break
    return "".join(found) + text[at:]
