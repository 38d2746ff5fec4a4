"""Texts in messages: the nearest known words, printable text; what is a URL."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

MOST_LISTED = 15
MOST_COMPARED = 100
"""Characters of a word that are compared; from 200 on difflib would leave out what is frequent."""

_WEB = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][\w.~:/?#@!$&'()*+,;=%-]*)?", re.A)


class Nearest(NamedTuple):
    """Known words like an unknown one, best first; `known` are all of them."""

    words: tuple[str, ...]
    known: tuple[str, ...]

    def sentence(self) -> str:
        """What to write instead: the nearest, else all when they are few."""
        if self.words:
            return f"Did you mean {quoted(self.words, 'or')}?"
        if 0 < len(self.known) <= MOST_LISTED:
            return f"Known are {', '.join(f'`{shown(word, 200)}`' for word in self.known)}."
        return ""


def nearest(word: str, known: Iterable[str]) -> Nearest:
    """The `known` that begin with `word` and have one part more (`a100-40g` for `a100`), else up to
    three that look like it; upper and lower case regardless. None is its opposite with `un`.
    """
    return _nearest(word[:MOST_COMPARED].lower(), tuple(known))


@lru_cache(maxsize=4096)
def _nearest(wanted: str, known: tuple[str, ...]) -> Nearest:
    """Cached, because a word that is wrong in one row is often wrong in many."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    longer = [one for one in by_lower if one.rpartition("-")[0] == wanted]
    close = difflib.get_close_matches(wanted, by_lower, n=3, cutoff=0.6)
    other = [one for one in close if one != f"un{wanted}"]
    best = [wanted] if wanted in by_lower else longer or other
    return Nearest(tuple(by_lower[candidate] for candidate in best), known)


def misspelt(word: str, known: Collection[str]) -> bool:
    """Whether an unknown word is a known one with a character swapped, missing or added.

    With another character it may be a name of its own: `gspo` and `gdpo`. Digits are no slip.
    """
    return word not in known and any(_is_slip(one, word) for one in known)


def _is_slip(first: str, second: str) -> bool:
    start = _alike(first, second)
    end = _alike(first[start:][::-1], second[start:][::-1])
    one, other = first[start : len(first) - end], second[start : len(second) - end]
    if not start or any(character.isdigit() for character in one + other):
        return False
    return len(one + other) == 1 or (len(one) == 2 and one == other[::-1])


def _alike(first: str, second: str) -> int:
    """With how many characters both begin."""
    pairs = zip(first, second, strict=False)
    return len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])


def shown(value: str, most: int = 60) -> str:
    """A cell's text inside a message: printable, on one line, no longer than `most`."""
    return printable(value if len(value) <= most else value[:most] + "…")


def quoted(words: Iterable[str], joined: str = "and") -> str:
    """Words in backticks, as a list in a sentence."""
    *others, last = (f"`{shown(word, 200)}`" for word in words)
    return f"{', '.join(others)} {joined} {last}" if others else last


def printable(text: str) -> str:
    """The text with every character that a terminal would not show, or would obey, as JSON has it.

    GitHub's runner obeys what follows `##[` anywhere in a line of a log.
    """
    if not text.isprintable():
        text = "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)
    return text.replace("##[", "#\\u0023[")


def unobeyed(line: str) -> str:
    """A line of text that begins with no command to GitHub's runner (`::error::`)."""
    return re.sub(r"^(\s*):(?=:)", r"\1\\u003a", line)


def json_text(value: object, indent: int) -> str:
    """JSON in lines of printable characters, so that a terminal or a runner's log shows it all."""
    lines = json.dumps(value, indent=indent, ensure_ascii=False, default=str).split("\n")
    return "".join(f"{printable(line)}\n" for line in lines)


def is_web_address(text: str) -> bool:
    """Whether a text may become a link: a URL as a whole, made of its characters alone."""
    return _WEB.fullmatch(text) is not None
