"""Applying overrides to dotted keys as Hydra applies them to its tree, without Hydra."""

from __future__ import annotations

import re
from typing import Any

from rl_resources.script.framework.composition import UNKNOWN, Composition, Kind, leaves
from rl_resources.script.framework.interpolation import reference_to_group

_KEY = re.compile(r"(?P<prefix>~|\+{0,2})(?P<key>[A-Za-z_$][\w$-]*(?:\.[\w$-]+)*)", re.ASCII)

_MOST_REFERENCES = 10


class Refused(Exception):  # noqa: N818 (it is an answer, not a failure)
    """An override that the configuration does not take; its argument is the kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.kind = kind


def split_prefix(text: str) -> tuple[str, str] | None:
    """Prefix (``, `+`, `++`, `~`) and dotted key; `None` for what is neither, such as `a@b`."""
    match = _KEY.fullmatch(text)
    return (match["prefix"], match["key"]) if match else None


class Overlay:
    """A configuration while overrides change it; `values` maps dotted keys to raw leaves."""

    def __init__(self, base: Composition) -> None:
        self.values = dict(base.values)
        self._inner = set(base.nodes)

    def apply(self, prefix: str, key: str, value: Any) -> None:
        """Apply one override; raises `Refused` and changes nothing where it is not taken."""
        if prefix == "~":
            self._delete(self._target(key), value)
        elif value is UNKNOWN and (key in self._inner or self.values.get(key) == {}):
            if prefix == "+":
                raise Refused("existing-key")
        elif self._mismatched(key, value):
            raise Refused("type")
        elif prefix and self._misses_list(key):
            raise Refused("unknown-key")
        elif prefix == "++" or (prefix == "+" and self._may_add(self._target(key), value)):
            self._put(key, value, merge=True)
        elif prefix == "+":
            raise Refused("existing-key")
        else:
            self._set(key, value)

    def _target(self, key: str) -> str:
        """Where `key` really lies: a group may be a reference to another one."""
        for _ in range(_MOST_REFERENCES):
            parts = key.split(".")
            above = [".".join(parts[:end]) for end in range(1, len(parts))]
            name = next((name for name in above if name in self.values), None)
            other = reference_to_group(self.values[name], name) if name else None
            if name is None or other is None:
                break
            key = other + key.removeprefix(name)
        return key

    def _mismatched(self, key: str, value: Any) -> bool:
        """A list and a group of settings do not take each other's place."""
        old = self.values.get(key)
        if isinstance(value, list):
            return key in self._inner or isinstance(old, dict)
        return isinstance(value, dict) and isinstance(old, list)

    def _misses_list(self, key: str) -> bool:
        """Whether `key` leads into a list where it has no item."""
        parts = key.split(".")
        above = (".".join(parts[:end]) for end in range(1, len(parts)))
        return any(isinstance(self.values.get(name), list) for name in above) and (
            not self._through(key)
        )

    def _may_add(self, key: str, value: Any) -> bool:
        unset = key not in self._inner and self._current(key) in (None, "???")
        return unset or isinstance(value, dict | list)

    def _current(self, key: str) -> Any:
        """What is at `key`, without interpolations; `None` where there is nothing."""
        value = self.values.get(key)
        if key not in self._inner and (not isinstance(value, str) or "${" not in value):
            return value
        try:
            return Composition("", "", self.values).value(key)
        except KeyError:
            raise Refused("unknown-key") from None

    def _set(self, key: str, value: Any) -> None:
        if isinstance(value, dict) and (key in self._inner or self.values.get(key) == {}):
            found = dict(leaves(value, key)) if value else {}
            if not all(self._exists(name) and name not in self._inner for name in found):
                raise Refused("unknown-key")
            self.values |= found
        elif key in self.values and not isinstance(value, dict):
            self.values[key] = value
        elif self._exists(key):
            self._put(key, value, merge=False)
        else:
            raise Refused("unknown-key")

    def _exists(self, key: str) -> bool:
        return key in self.values or key in self._inner or self._through(key)

    def _through(self, key: str) -> bool:
        """Whether `key` is an item of a list."""
        above, _, last = key.rpartition(".")
        value = self.values.get(above)
        return isinstance(value, list) and last.isdecimal() and int(last) < len(value)

    def _put(self, key: str, value: Any, *, merge: bool) -> None:
        above, _, last = key.rpartition(".")
        listed = self.values.get(above)
        if isinstance(listed, list) and last.isdecimal() and int(last) < len(listed):
            at = int(last)
            self.values[above] = [*listed[:at], value, *listed[at + 1 :]]
            return
        self._make_room(key)
        if not (merge and isinstance(value, dict) and key in self._inner):
            self._clear(key)
        flat = dict(leaves(value, key)) if isinstance(value, dict) and value else {key: value}
        if key not in self._inner or flat != {key: {}}:
            self.values |= flat
        for name in flat:
            self._remember(name)

    def _make_room(self, key: str) -> None:
        """A leaf above `key` gives way to a group."""
        above = key.rpartition(".")[0]
        while above:
            self.values.pop(above, None)
            above = above.rpartition(".")[0]

    def _remember(self, key: str) -> None:
        above = key.rpartition(".")[0]
        while above:
            self._inner.add(above)
            above = above.rpartition(".")[0]

    def _clear(self, key: str) -> None:
        self.values.pop(key, None)
        if key not in self._inner:
            return
        below = f"{key}."
        for name in [name for name in self.values if name.startswith(below)]:
            del self.values[name]
        self._inner = {name for name in self._inner if name != key and not name.startswith(below)}

    def _delete(self, key: str, value: Any) -> None:
        current = self._current(key)
        if current in (None, "???"):
            raise Refused("unknown-key")
        if value is not None and value != current:
            raise Refused("unknown-key")
        self._clear(key)
        above = key.rpartition(".")[0]
        if above and not any(name.startswith(f"{above}.") for name in self.values):
            self._inner.discard(above)
            self.values[above] = {}
