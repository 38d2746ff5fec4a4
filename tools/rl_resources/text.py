"""Texts in messages: the nearest known words, printable text; what is a URL."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

MOST_LISTED = 15
MOST_COMPARED = 100
"""Characters of a word that are compared; from 200 on difflib would leave out what is frequent."""

_WEB = re.compile(
    r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][\w.~:/?#@!$&'()*+,;=%-]*)?", re.A
)


class Nearest(NamedTuple):
    """Known words like an unknown one, best first; `known` are all of them."""

    words: tuple[str, ...]
    known: tuple[str, ...]

    def sentence(self) -> str:
        """What to write instead: the nearest, else all when they are few."""
        if self.words:
            return f"Did you mean {quoted(self.words, 'or')}?"
        if 0 < len(self.known) <= MOST_LISTED:
            known = ", ".join(map(_in_backticks, self.known))
            return f"Known values are {known}."
        return ""


def only(texts: Collection[str]) -> str:
    """The one text; empty if there is none, or more than one."""
    if len(texts) != 1:
        return ""
    (text,) = texts
    return text


def nearest(word: str, known: Iterable[str]) -> Nearest:
    """The known words that begin with `word` and have one more part (`a100-40g` for `a100`).

    If there is none, up to three that look like it. Case is ignored. The opposite of a word, the
    one with `un` before it, is never suggested.
    """
    wanted = word[:MOST_COMPARED].lower()
    return _nearest(wanted, tuple(known))


@lru_cache(maxsize=4096)
def _nearest(wanted: str, known: tuple[str, ...]) -> Nearest:
    """Cached, because a word that is wrong in one row is often wrong in many."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    best = _best(wanted, by_lower)
    words = [by_lower[candidate] for candidate in best]
    return Nearest(tuple(words), known)


def _best(wanted: str, known: Collection[str]) -> Sequence[str]:
    """The words of `_nearest`, all in lower case."""
    if wanted in known:
        return [wanted]
    longer = [one for one in known if one.rpartition("-")[0] == wanted]
    if longer:
        return longer
    close = difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)
    opposite = f"un{wanted}"
    return [one for one in close if one != opposite]


def misspelt(word: str, known: Collection[str]) -> bool:
    """Whether an unknown word is a known one with two characters swapped, one missing or one added.

    A word in which another character stands may be a name of its own: `gspo` and `gdpo`. Digits
    are no slip.
    """
    if word in known:
        return False
    slips = _slips(word)
    if not slips.isdisjoint(known):
        return True
    return any(word in _slips(one) for one in known)


def _slips(word: str) -> set[str]:
    """The words with one letter of this one left out, or two swapped; the first one stays."""
    found = set()
    for at in range(1, len(word)):
        before = word[:at]
        letter = word[at]
        after = word[at + 1 :]
        if not letter.isdigit():
            found.add(f"{before}{after}")
        if not re.search(r"[0-9]", letter + after[:1]):
            found.add(f"{before}{after[:1]}{letter}{after[1:]}")
    return found


def shown(value: str, most: int = 60) -> str:
    """A cell's text inside a message: printable, on one line, no longer than `most`."""
    if len(value) > most:
        value = value[:most] + "…"
    return printable(value)


def _in_backticks(word: str) -> str:
    return f"`{shown(word, 200)}`"


def figure(value: float) -> str:
    """A number as people write it: `80` of 80.0."""
    return f"{value:g}"


def quoted(words: Iterable[str], joined: str = "and") -> str:
    """Words in backticks, as a list in a sentence."""
    *others, last = map(_in_backticks, words)
    if not others:
        return last
    before = ", ".join(others)
    return f"{before} {joined} {last}"


def printable(text: str) -> str:
    """The text with every character that a terminal would not show, or would obey, as JSON has it.

    GitHub's runner obeys what follows `##[` anywhere in a line of a log.
    """
    if not text.isprintable():
        text = "".join(map(_escaped, text))
    return text.replace("##[", "#\\u0023[")


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    in_quotes = json.dumps(character)
    return in_quotes[1:-1]


def unobeyed(line: str) -> str:
    """A line of text that begins with no command to GitHub's runner (`::error::`)."""
    return re.sub(r"^(\s*):(?=:)", r"\1\\u003a", line)


def json_text(value: object, indent: int) -> str:
    """JSON in lines of printable characters, so that a terminal or a runner's log shows it all."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return "".join(f"{printable(line)}\n" for line in text.split("\n"))


def is_web_address(text: str) -> bool:
    """Whether a text may become a link: a URL as a whole, made of its characters alone."""
    return _WEB.fullmatch(text) is not None
