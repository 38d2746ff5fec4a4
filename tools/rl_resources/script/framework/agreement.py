"""Does a value fit the type of the framework's default?

Composing checks names alone. The default is all that a configuration file says about a type, so
only what cannot be meant is refused. `null` says "unset" throughout, and is taken everywhere.
"""

from __future__ import annotations

from typing import Any

_ALSO: dict[str, type] = {
    "resume_from_path": str,
    "reshard_after_forward": int,
    "rollout_is_threshold": str,
}
"""Keys that take a second type: `False` or a path, a truth value or a group size, `0.5_4.0`."""

_FRACTIONS = ("alpha", "horizon", "timeout")
"""Names whose whole-number default stands for any number."""

_TEXT_OF_TRUTH = ("true", "false")


def disagreement(key: str, default: Any, value: Any) -> str | None:
    """Why `value` cannot stand where `default` does, in words that fit after the key and a colon.

    `default` and `value` hold no interpolations. `None` where they agree or nothing can be said.
    """
    if default is None or value is None or default == "???":
        return None
    wanted = _wanted(key, default, value)
    return f"{_shown(value)} where the default is {_shown(default)}: {wanted}" if wanted else None


def _wanted(key: str, default: Any, value: Any) -> str | None:
    """What is wanted in place of `value`; `None` where it will do."""
    last = key.rpartition(".")[2]
    if isinstance(default, bool):
        takes = isinstance(value, _ALSO.get(last, bool)) or value in (0, 1)
        return None if takes else "true or false is wanted"
    if isinstance(default, int | float):
        return _wanted_number(last, default, value)
    if isinstance(default, dict):
        return None if isinstance(value, dict) else "a group of settings is wanted"
    if isinstance(default, list):
        return _wanted_list(default, value)
    if isinstance(default, str):
        return _wanted_text(default, value)
    return None


def _wanted_number(last: str, default: float, value: Any) -> str | None:
    if isinstance(value, bool):
        return None if default in (0, 1) else "a number is wanted"
    if not isinstance(value, int | float):
        return None if _ALSO.get(last) is str else "a number is wanted"
    # A default of 0 or 1 is how a coefficient or a probability is often written.
    any_number = isinstance(default, float) or default in (0, 1) or last.endswith(_FRACTIONS)
    return None if any_number or isinstance(value, int) else "a whole number is wanted"


def _wanted_list(default: list[Any], value: Any) -> str | None:
    """One word may stand for a list of words."""
    wanted = "a list is wanted"
    words = all(isinstance(item, str) for item in default)
    return None if isinstance(value, list) or (words and isinstance(value, str)) else wanted


def _wanted_text(default: str, value: Any) -> str | None:
    """A list may stand for one word, and a name may be a number."""
    if isinstance(value, bool) and default.lower() not in _TEXT_OF_TRUTH:
        return "text is wanted"
    return "text is wanted" if isinstance(value, dict) else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if isinstance(value, int | float | str) else f"`{value!r}`"
