"""Whether a value has the type of the framework's default.

Composing checks names alone. The default is all that a configuration file says about a type, so
only what cannot be meant is rejected. `null` says "unset" throughout, and is accepted everywhere.
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


def disagreement(key: str, default: Any, value: Any) -> str | None:
    """Why `value` cannot replace `default`, in words that fit after the key and a colon.

    `default` and `value` have no interpolations. `None` where they agree or nothing can be said.
    """
    name = key.rpartition(".")[2]
    if default is None or value is None or default == "???":
        return None
    wanted = None if isinstance(value, _ALSO.get(name, ())) else _wanted(name, default, value)
    return f"{_shown(value)} where the default is {_shown(default)}: {wanted}" if wanted else None


def _wanted(name: str, default: Any, value: Any) -> str | None:
    """What is wanted in place of `value`; `None` where it will do."""
    if isinstance(default, bool):
        return None if value in (0, 1) else "true or false is wanted"
    if isinstance(default, int | float):
        return _wanted_number(name, default, value)
    if isinstance(default, dict):
        return None if isinstance(value, dict) else "a group of settings is wanted"
    if isinstance(default, list):
        words = isinstance(value, str) and all(isinstance(item, str) for item in default)
        return None if words or isinstance(value, list) else "a list is wanted"
    return _wanted_text(default, value)


def _wanted_number(name: str, default: float, value: Any) -> str | None:
    """A default of 0 or 1 is how a coefficient or a probability is often written."""
    if isinstance(value, bool):
        return None if default in (0, 1) else "a number is wanted"
    if not isinstance(value, int | float):
        return "a number is wanted"
    fraction = isinstance(default, float) or default in (0, 1) or name.endswith(_FRACTIONS)
    return None if fraction or isinstance(value, int) else "a whole number is wanted"


def _wanted_text(default: str, value: Any) -> str | None:
    """A list may stand for one word, and a name may be a number."""
    switch = isinstance(value, bool) and default.lower() not in ("true", "false")
    return "text is wanted" if switch or isinstance(value, dict) else None


def _shown(value: Any) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
