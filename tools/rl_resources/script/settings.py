"""The settings of a launch: its overrides over the framework's own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from rl_resources.script.bash.script import Place, Value
from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    compose_launch,
)
from rl_resources.script.framework.shipped import FRAMEWORK, shipped
from rl_resources.script.framework.syntax import parse
from rl_resources.script.launch import Launch
from rl_resources.text import shown


class Setting(NamedTuple):
    """The value of one key.

    `value` is `UNKNOWN` if it is not known, `choices` are then the values of the branches that set
    it. `place` is where the override is written, `origin` where its text is defined; both are
    `None` for a default of the framework.
    """

    key: str
    value: Any
    place: Place | None = None
    origin: Place | None = None
    choices: tuple[Any, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the value is known."""
        return self.value is not UNKNOWN

    @property
    def number(self) -> int | None:
        """The value if it is known and a whole number."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        return None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The whole numbers that it may be: the value, or those of all branches."""
        numbers: list[int] = []
        for value in self.choices or (self.value,):
            number = self._replace(value=value).number
            if number is None:
                return ()
            numbers.append(number)
        return tuple(numbers)

    @property
    def text(self) -> str | None:
        """The value if it is known and text that is not empty."""
        if isinstance(self.value, str) and self.value:
            return self.value
        return None

    @property
    def flag(self) -> bool | None:
        """The value if it is known and a truth value."""
        if isinstance(self.value, bool):
            return self.value
        return None


LACKING = Setting("", value=False)
"""A setting that a backend does not have."""
OPEN = Setting("", UNKNOWN)
"""A setting that may be on or off."""


def in_words(setting: Setting) -> str:
    """What a run uses for a key, and whether its script sets it."""
    value = shown(written(setting.value))
    if setting.place:
        return f"`{setting.key}` is `{value}`"
    return f"`{setting.key}` is not set, and the framework then takes `{value}`"


def written(value: Any) -> str:
    """A value as a script writes it."""
    if value is None:
        return "null"
    return str(value)


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of one launch, from the configuration that follows from it.

    Without `trusts_defaults` nothing is known of a key that the launch does not set: for launches
    of which a part is known to be lost.
    """

    launch: Launch
    composition: Composition
    trusts_defaults: bool = True

    @cached_property
    def _found(self) -> dict[str, Setting]:
        """What was asked for: rules and estimate ask for most settings several times."""
        return {}

    def setting(self, key: str) -> Setting:
        """What the launch uses for a dotted key."""
        if key not in self._found:
            self._found[key] = self._setting(key)
        return self._found[key]

    def _setting(self, key: str) -> Setting:
        index = self.index(key)
        if index is None:
            return Setting(key, self._default(key))
        override = self.launch.overrides[index]
        value = self._given(key, index)
        choices = self._choices(key, index)
        return Setting(key, value, override.place, override.origin, choices)

    def _default(self, key: str) -> Any:
        """What the framework takes for a key that the launch does not set."""
        if not self.knows_defaults or self._may_be_misspelt(key):
            return UNKNOWN
        return self._composed(key)

    def _choices(self, key: str, index: int) -> tuple[Any, ...]:
        """The values of all branches that set a key; none if one of them is not known."""
        override = self.launch.overrides[index]
        content = override.content
        if content is None or content.text is not None or override.key != key:
            return ()
        choices = tuple(map(_read, content.choices))
        if choices and content.may_lack:
            choices = (*self._values_without(index, key), *choices)
        if UNKNOWN in choices:
            return ()
        return choices

    def _values_without(self, place: int, key: str) -> tuple[Any, ...]:
        """What a key may be in a run that lacks the override at this place.

        What is before it counts then, otherwise the default.
        """
        overrides = list(self.launch.overrides)
        del overrides[place]
        launch = replace(self.launch, overrides=overrides)
        composition = self.composition
        if self.is_composed:
            composition = compose_launch(shipped(FRAMEWORK), launch)
        others = replace(self, launch=launch, composition=composition)
        setting = others.setting(key)
        return setting.choices or (setting.value,)

    def index(self, key: str) -> int | None:
        """The index of the last override of a dotted key, or of one above it."""
        names = accumulate(key.split("."), "{}.{}".format)  # `a`, `a.b`, `a.b.c`
        return max(
            [self._last[name] for name in names if name in self._last], default=None
        )

    def content(self, key: str) -> Value | None:
        """What the launch gives to a dotted key; `None` if it sets nothing."""
        index = self.index(key)
        if index is None:
            return None
        return self.launch.overrides[index].content

    @cached_property
    def _last(self) -> Mapping[str, int]:
        """The last override of each key."""
        return {
            override.key: index for index, override in enumerate(self.launch.overrides)
        }

    def _given(self, key: str, index: int) -> Any:
        override = self.launch.overrides[index]
        if override.prefix == "~" or override.value is None:
            return UNKNOWN
        rejected = [
            item.kind for item in self.composition.rejected if item.index == index
        ]
        if not rejected and self.is_composed:
            return self._composed(key)
        if "type" in rejected or override.key != key:
            return UNKNOWN
        return _read(override.value)

    def _may_be_misspelt(self, key: str) -> bool:
        """Whether a key that the framework does not know may have been meant for this one."""
        _, _, name = key.rpartition(".")
        for unknown in self._unknown_names:
            if unknown.startswith(f"{name}_"):
                return True
            if get_close_matches(name, [unknown], n=1, cutoff=0.85):
                return True
        return False

    @cached_property
    def _unknown_names(self) -> list[str]:
        """The last words of the keys that the framework does not know."""
        keys = [
            item.key for item in self.composition.rejected if item.kind == "unknown-key"
        ]
        return [key.rpartition(".")[2] for key in keys]

    @property
    def knows_defaults(self) -> bool:
        """Whether what the launch does not set is the framework's own."""
        return self.trusts_defaults and self.is_composed and not self.launch.unresolved

    @property
    def is_composed(self) -> bool:
        """Whether the framework has the program: of another one only what is set is known."""
        return self.composition.config is not None

    def _composed(self, key: str) -> Any:
        value = self.composition.value(key)
        if value is UNKNOWN and ".override_" in key:
            return None  # the composition has all keys that are set in such a section
        return value


class Key:
    """A setting under a name of its own, as an attribute of a run.

    `{run.…}` in its key stands for what the run's backend or engine calls it; if that is empty,
    because they have no such setting, it may be anything.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, run: Settings, _: type[Settings]) -> Setting:
        key = self._key.format(run=run)
        if not key:
            return OPEN
        return run.setting(key)


def _read(text: str) -> Any:
    """The value of an override, as Hydra reads it, without what the framework makes of it."""
    if "${" in text:
        return UNKNOWN
    try:
        return parse(text)
    except ValueError:
        return UNKNOWN
