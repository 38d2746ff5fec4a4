"""Word splitting: what expansions yield, cut into the words that a command gets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rl_resources.script.bash.value import Part, Place, Source, Value, bounded, literal, unknown

BLANKS = " \t\n"
_PATTERN = re.compile(r"[*?]|\[[^\]]+\]|[+@!]\(")


class Fragment(NamedTuple):
    """A part with its quoting; only an `expanded` one is split into words."""

    part: Part
    quoted: bool
    expanded: bool = False


# `None` separates words, as the elements of "${ARRAY[@]}" are separate.
Fragments = list[Fragment | None]


def split(fragments: Fragments, separators: str, source: Source, paths: bool) -> list[Value]:
    """The words of fragments.

    `separators` is the text of IFS; `paths` says whether patterns are replaced by file names, in
    which case a word that is such a pattern is unknown.
    """
    return list(_Splitter(separators, source, paths).words(fragments))


class _Splitter:
    def __init__(self, separators: str, source: Source, paths: bool) -> None:
        self._separators = separators
        self._source = source
        self._paths = paths
        self._current: list[Fragment] = []
        self._present = False

    def words(self, fragments: Fragments) -> Iterator[Value]:
        for fragment in fragments:
            if fragment is None:
                yield from self._finish()
            elif fragment.expanded and fragment.part.text is not None:
                yield from self._expanded(fragment)
            else:
                if fragment.expanded:
                    fragment = Fragment(fragment.part._replace(many=True), fragment.quoted, True)
                self._current.append(fragment)
                text = fragment.part.text
                self._present = self._present or fragment.quoted or text != ""
        yield from self._finish()

    def _expanded(self, fragment: Fragment) -> Iterator[Value]:
        at = 0
        text = fragment.part.text or ""
        for match in _delimiters(self._separators).finditer(text):
            self._add(fragment, at, match.start())
            hard = any(character not in BLANKS for character in match[0])
            if self._present or hard:
                yield self._word()
            at = match.end()
        self._add(fragment, at, len(text))

    def _add(self, fragment: Fragment, start: int, end: int) -> None:
        text = (fragment.part.text or "")[start:end]
        if text:
            part = piece_of(fragment.part, start, text, self._source)
            self._current.append(Fragment(part, quoted=False))
            self._present = True

    def _finish(self) -> Iterator[Value]:
        if self._present:
            yield self._word()

    def _word(self) -> Value:
        fragments, self._current, self._present = self._current, [], False
        if self._paths and _is_path_pattern(fragments):
            whole = Value(tuple(fragment.part for fragment in fragments))
            first = fragments[0].part
            return Value((unknown(first.place, whole.shown, "pathname", many=True),))
        return bounded(fragment.part for fragment in fragments)


def piece_of(part: Part, start: int, text: str, source: Source) -> Part:
    """The stretch `text` of a part from `start`, with its own place where it is written there."""
    if len(text) == len(part.text or ""):
        return part
    offset = part.origin.offset + start
    if not source.whole.startswith(text, offset):
        return part._replace(text=text)
    place = source.place(offset)
    return part._replace(text=text, place=place, origin=place)


@lru_cache(maxsize=8)
def _delimiters(separators: str) -> re.Pattern[str]:
    blank = "".join(character for character in separators if character in BLANKS)
    other = "".join(character for character in separators if character not in BLANKS)
    if not separators:
        return re.compile(r"(?!)")
    blanks = f"[{re.escape(blank)}]" if blank else "(?!)"
    if not other:
        return re.compile(f"{blanks}+")
    return re.compile(f"(?:{blanks})*[{re.escape(other)}](?:{blanks})*|{blanks}+")


def _is_path_pattern(fragments: Sequence[Fragment]) -> bool:
    """Whether bash would look for files of that name.

    An override such as `data.files=a*` is one only in a folder that has such a name with its `=`,
    so it is taken as it stands.
    """
    before = ""
    for fragment in fragments:
        text = fragment.part.text or ""
        match = None if fragment.quoted else _PATTERN.search(text)
        if match:
            return "=" not in before + text[: match.start()]
        before += text
    return False


def joined(fragments: Fragments) -> Value:
    """Fragments as one value, as an assignment takes them: separate words joined by a blank."""
    lists: list[list[Part]] = [[]]
    for fragment in fragments:
        if fragment is None:
            lists.append([])
        else:
            lists[-1].append(fragment.part)
    first = lists[0][0].place if lists[0] else Place(0, 1, 1)
    return bounded(glued(lists, literal(" ", first)))


def glued(lists: Sequence[Sequence[Part]], separator: Part) -> list[Part]:
    """Words as one; a separator beside an unknown number of words is part of what is unknown."""
    found: list[Part] = []
    before = True
    for parts in lists:
        uncertain = any(part.many for part in parts)
        if not before and not uncertain:
            found.append(separator)
        found += [part._replace(many=False) for part in parts]
        before = uncertain
    return found
