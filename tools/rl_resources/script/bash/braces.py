"""Brace expansion: `a{b,c}d` and `{1..3}`, before every other expansion."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rl_resources.script.bash.syntax import Literal, Parameter, Piece, Pieces

MOST_WORDS = 512
LONGEST_SEQUENCE = 40
_NUMBERS = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.(-?[0-9]{1,9}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]{1,9}))?")
_POSSIBLE = re.compile(r"[{,}]")


class _TooMany(Exception):  # noqa: N818
    pass


def alternatives(pieces: Pieces) -> tuple[Pieces, ...]:
    """The words that one word stands for; none where they are more than anyone means to write."""
    signs = {
        sign
        for piece in pieces
        if isinstance(piece, Literal) and not piece.quoted
        for sign in _POSSIBLE.findall(piece.text)
    }
    if not {"{", "}"} <= signs:
        return (pieces,)
    try:
        return tuple(map(_merged, _words(_characters(pieces), 0)))
    except _TooMany:
        return ()


def _characters(pieces: Pieces) -> list[Piece]:
    """Unquoted literals cut to single characters."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Literal) and not piece.quoted:
            found += [Literal(c, piece.start + i, False) for i, c in enumerate(piece.text)]
        else:
            found.append(piece)
    return found


def _sign(piece: Piece) -> str:
    return piece.text if isinstance(piece, Literal) and not piece.quoted else ""


def _words(items: Sequence[Piece], depth: int) -> list[list[Piece]]:
    """All combinations, the leftmost brace varying slowest."""
    if depth > 12:
        raise _TooMany
    words: list[list[Piece]] = [[]]
    at = 0
    closings = _closings(items)
    while at < len(items):
        close = closings.get(at)
        choices = _choices(items[at : close + 1], depth) if close else None
        if choices is None or close is None:
            for word in words:
                word.append(items[at])
            at += 1
            continue
        if len(words) * len(choices) > MOST_WORDS:
            raise _TooMany
        words = [[*word, *choice] for word in words for choice in choices]
        at = close + 1
    return words


def _closings(items: Sequence[Piece]) -> dict[int, int]:
    """Where the braces close that may offer something: a comma of their own, or a sequence."""
    open_at: list[int] = []
    found: dict[int, int] = {}
    with_comma: set[int] = set()
    for at, item in enumerate(items):
        sign = _sign(item)
        if sign == "{":
            open_at.append(at)
        elif sign == "," and open_at:
            with_comma.add(open_at[-1])
        elif sign == "}" and open_at:
            start = open_at.pop()
            if start in with_comma or at - start <= LONGEST_SEQUENCE:
                found[start] = at
    return found


def _choices(items: Sequence[Piece], depth: int) -> list[list[Piece]] | None:
    """What the braces around `items` offer, or `None` where they are only characters."""
    inner = items[1:-1]
    fields: list[list[Piece]] = [[]]
    level = 0
    for item in inner:
        sign = _sign(item)
        level += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and level == 0:
            fields.append([])
        else:
            fields[-1].append(item)
    if len(fields) > 1:
        return [word for field in fields for word in _words(field, depth + 1)]
    return _sequence(inner)


def _sequence(inner: Sequence[Piece]) -> list[list[Piece]] | None:
    text = "".join(map(_sign, inner))
    match = _NUMBERS.fullmatch(text) or _LETTERS.fullmatch(text)
    if match is None or not all(map(_sign, inner)):
        return None
    numeric = match[1].lstrip("-").isdigit()
    first, last = (int(match[i]) if numeric else ord(match[i]) for i in (1, 2))
    step = abs(int(match[3] or 1)) or 1
    if abs(last - first) // step >= MOST_WORDS:
        raise _TooMany
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    width = _width(match[1], match[2]) if numeric else 0
    start = inner[0].start
    return [
        [Literal(f"{number:0{width}d}" if numeric else chr(number), start, False)]
        for number in numbers
    ]


def _width(first: str, last: str) -> int:
    """Numbers are padded to one width where either is written with a leading zero."""
    padded = any(re.match(r"-?0[0-9]", text) for text in (first, last))
    return max(len(first), len(last)) if padded else 0


def _name_characters(last: Parameter, item: Piece) -> str:
    """What a brace has put behind `$NAME` and so belongs to the name."""
    bare = last.end - last.start == len(last.name) + 1 and last.name[0].isidentifier()
    if not bare or not isinstance(item, Literal) or item.quoted or item.start == last.end:
        return ""
    return item.text if re.fullmatch(r"[A-Za-z0-9_]+", item.text) else ""


def _merged(items: Sequence[Piece]) -> Pieces:
    """Neighbouring characters as one literal again."""
    found: list[Piece] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(last, Parameter) and (more := _name_characters(last, item)):
            found[-1] = last._replace(name=last.name + more)
        elif (
            isinstance(last, Literal)
            and isinstance(item, Literal)
            and not (last.quoted or item.quoted)
            and last.start + len(last.text) == item.start
        ):
            found[-1] = Literal(last.text + item.text, last.start, False)
        else:
            found.append(item)
    return tuple(found)
