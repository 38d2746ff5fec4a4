"""The settings of a launch: its overrides over the framework's own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from rl_resources.script.bash.script import Place, Value
from rl_resources.script.framework.composition import UNKNOWN, Composition
from rl_resources.script.framework.syntax import parse
from rl_resources.script.launch import Launch, Override
from rl_resources.text import shown


class Setting(NamedTuple):
    """The value of one key.

    `value` is `UNKNOWN` where it is not known. `place` is where the override is written, `origin`
    where its text is defined; both are `None` for a default of the framework.
    """

    key: str
    value: Any
    place: Place | None = None
    origin: Place | None = None

    @property
    def known(self) -> bool:
        """Whether the value is known."""
        return self.value is not UNKNOWN

    @property
    def number(self) -> int | None:
        """The value where it is known and a whole number."""
        whole = isinstance(self.value, int) and not isinstance(self.value, bool)
        return self.value if whole else None

    @property
    def text(self) -> str | None:
        """The value where it is known and text that is not empty."""
        return self.value if isinstance(self.value, str) and self.value else None

    @property
    def flag(self) -> bool | None:
        """The value where it is known and a truth value."""
        return self.value if isinstance(self.value, bool) else None


def in_words(setting: Setting) -> str:
    """What a run uses for a key, and whether its script sets it."""
    verb = "is" if setting.place else "is not set, and the framework then takes"
    return f"`{setting.key}` {verb} `{shown(written(setting.value))}`"


def written(value: Any) -> str:
    """A value as a script writes it."""
    return "null" if value is None else str(value)


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of one launch, from the configuration that follows from it.

    Without `trusts_defaults` nothing is known of a key that the launch does not set: for launches
    of which a part is known to be lost.
    """

    launch: Launch
    composition: Composition
    trusts_defaults: bool = True

    def setting(self, key: str) -> Setting:
        """What the launch uses for a dotted key."""
        index = self.index(key)
        if index is None:
            return Setting(key, self._default(key))
        override = self.launch.overrides[index]
        return Setting(key, self._given(key, index), override.place, override.origin)

    def index(self, key: str) -> int | None:
        """The index of the last override of a dotted key, or of one above it."""
        above = accumulate(key.split("."), "{}.{}".format)
        return max((self._last[name] for name in above if name in self._last), default=None)

    def content(self, key: str) -> Value | None:
        """What the launch gives to a dotted key; `None` where it sets nothing."""
        index = self.index(key)
        return None if index is None else self.launch.overrides[index].content

    @cached_property
    def _last(self) -> Mapping[str, int]:
        """The last override of each key."""
        return {item.key: at for at, item in enumerate(self.launch.overrides)}

    def _given(self, key: str, index: int) -> Any:
        override = self.launch.overrides[index]
        if override.prefix == "~" or override.value is None:
            return UNKNOWN
        rejected = [item.kind for item in self.composition.rejected if item.index == index]
        if not self.composition.problem and not rejected:
            return self._composed(key)
        if "type" in rejected:
            return UNKNOWN
        return _read(override) if override.key == key else UNKNOWN

    def _default(self, key: str) -> Any:
        rejected = [it.key for it in self.composition.rejected if it.kind == "unknown-key"]
        same = any(key.split(".")[-1] == other.split(".")[-1] for other in rejected)
        meant = same or (rejected and get_close_matches(key, rejected, 1, 0.85))  # slow for none
        return self._composed(key) if self.knows_defaults and not meant else UNKNOWN

    @property
    def knows_defaults(self) -> bool:
        """Whether what the launch does not set is the framework's own."""
        return bool(
            self.trusts_defaults and not self.composition.problem and not self.launch.unresolved
        )

    def _composed(self, key: str) -> Any:
        value = self.composition.value(key)
        takes_any = ".override_" in key  # such a section is complete
        return None if value is UNKNOWN and takes_any else value


class Key:
    """A setting under a name of its own, as an attribute of `Settings`."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, settings: Settings, _: type[Settings]) -> Setting:
        return settings.setting(self._key)


def _read(override: Override) -> Any:
    """The value of an override that the configuration rejects, as Hydra reads it."""
    try:
        value = parse(str(override.value))
    except ValueError:
        return UNKNOWN
    return UNKNOWN if "${" in str(override.value) else value
