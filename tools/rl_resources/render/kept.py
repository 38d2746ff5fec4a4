"""Texts that a preview need not render again: nothing that they are made of has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Place = tuple[str, str]
"""The path of a page and the name of its template."""


@dataclass
class _Round:
    """What was rendered at each place, with the values that it was made of.

    `templates` are path, time and size of the files; of an inherited one nobody else knows.
    """

    templates: tuple[object, ...] = ()
    texts: dict[Place, list[tuple[Mapping[str, Any], str]]] = field(default_factory=dict)


_last = _Round()
_now: _Round | None = None


@contextmanager
def keeping(templates: Path) -> Iterator[None]:
    """While it lasts, `rendered` gives back what the last time made of equal values."""
    global _last, _now
    _now = _Round(tuple(_states(templates)))
    if _now.templates != _last.templates:
        _last = _Round()
    try:
        yield
        _last = _now
    finally:
        _now = None


def _states(folder: Path) -> Iterator[object]:
    for path in sorted(folder.rglob("*")):
        state = path.stat()
        yield path, state.st_mtime_ns, state.st_size


def rendered(
    place: Place, made_of: Callable[[], Mapping[str, Any]], make: Callable[[], str]
) -> str:
    """The text at a place; from the last time where what it is `made_of` was equal then."""
    if _now is None:
        return make()
    values = made_of()
    known = (text for told, text in _last.texts.get(place, ()) if told == values)
    text = next(known, None) or make()
    _now.texts.setdefault(place, []).append((values, text))
    return text
