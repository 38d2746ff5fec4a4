"""Shell patterns (`*`, `?`, `[…]`), matched in a time bounded by text times pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_CLASSES = {
    "digit": str.isdigit,
    "alpha": str.isalpha,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
}
MOST_STEPS = 1 << 20


class _Set(NamedTuple):
    negated: bool
    characters: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]

    def holds(self, character: str) -> bool:
        inside = character in self.characters
        inside = inside or any(low <= character <= high for low, high in self.ranges)
        inside = inside or any(_CLASSES[name](character) for name in self.classes)
        return inside != self.negated


_ANY, _STAR = object(), object()
Token = object


class Pattern(NamedTuple):
    """A compiled pattern."""

    tokens: tuple[Token, ...]

    def cost(self, text: str) -> int:
        """The steps that one match may take."""
        return (len(self.tokens) + 1) * (len(text) + 1)

    @property
    def always(self) -> bool:
        """Whether it matches any text."""
        return bool(self.tokens) and all(token is _STAR for token in self.tokens)

    def matches(self, text: str) -> bool:
        """Whether it matches the whole text."""
        return len(text) in self.ends(text, 0)

    def ends(self, text: str, start: int) -> set[int]:
        """Where a match that begins at `start` may end."""
        return _ends(self.tokens, text, start)

    def starts(self, text: str) -> set[int]:
        """Where a match that ends with the text may begin."""
        length = len(text)
        return {length - end for end in _ends(self.tokens[::-1], text[::-1], 0)}


def compiled(characters: Iterable[tuple[str, bool]]) -> Pattern | None:
    """The pattern of characters, each with whether it is quoted; `None` for an unsupported one."""
    pairs = list(characters)
    tokens: list[Token] = []
    at = 0
    while at < len(pairs):
        character, quoted = pairs[at]
        at += 1
        if quoted or character not in "*?[(":
            tokens.append(character)
        elif character == "(" and tokens and tokens[-1] in (_ANY, _STAR, "+", "@", "!"):
            return None
        elif character == "[":
            token, at = _set(pairs, at)
            if token is None:
                return None
            tokens.append(token)
        else:
            tokens.append({"*": _STAR, "?": _ANY}.get(character, character))
    return Pattern(tuple(tokens))


def _set(pairs: Sequence[tuple[str, bool]], at: int) -> tuple[Token | None, int]:
    """The set that opens before `at` and what follows it; a bracket never closed is itself."""
    start = at
    negated = at < len(pairs) and pairs[at] in (("!", False), ("^", False))
    at += negated
    members: list[tuple[str, bool]] = []
    classes: list[str] = []
    while at < len(pairs) and (pairs[at] != ("]", False) or not (members or classes)):
        text = "".join(character for character, _ in pairs[at : at + 12])
        if text.startswith(("[.", "[=")) or pairs[at][0] == "/":
            return None, at
        name = text[2:].split(":]")[0] if text.startswith("[:") and ":]" in text else ""
        if name and name not in _CLASSES:
            return None, at
        if name:
            classes.append(name)
            at += len(name) + 4
        else:
            members.append(pairs[at])
            at += 1
    if at >= len(pairs):
        return "[", start
    return _assembled(negated, members, classes), at + 1


def _assembled(negated: bool, members: Sequence[tuple[str, bool]], classes: list[str]) -> _Set:
    characters: set[str] = set()
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(members):
        if at + 2 < len(members) and members[at + 1] == ("-", False):
            ranges.append((members[at][0], members[at + 2][0]))
            at += 3
        else:
            characters.add(members[at][0])
            at += 1
    return _Set(negated, frozenset(characters), tuple(ranges), tuple(classes))


def _ends(tokens: Sequence[Token], text: str, start: int) -> set[int]:
    places = {start}
    for token in tokens:
        if token is _STAR:
            places = set(range(min(places), len(text) + 1))
        else:
            places = {at + 1 for at in places if at < len(text) and _accepts(token, text[at])}
        if not places:
            break
    return places


def _accepts(token: Token, character: str) -> bool:
    if isinstance(token, _Set):
        return token.holds(character)
    return token is _ANY or token == character
