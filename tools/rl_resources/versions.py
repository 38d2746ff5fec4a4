"""Release numbers in order."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version


def in_order(versions: Iterable[str]) -> list[str]:
    """Versions, oldest first; one that PEP 440 does not know comes before all others."""
    return sorted(versions, key=_key)


def is_version(text: str) -> bool:
    """Whether PEP 440 knows a text as the number of a release."""
    return _key(text)[0]


def _key(text: str) -> tuple[bool, Version, str]:
    try:
        return True, Version(text), text
    except InvalidVersion:
        return False, Version("0"), text
