"""The defaults of one release of a framework, shipped with this package.

`rl-resources compat` writes the file from the newest release. It holds keys and default values of
the configurations that training scripts start from, no comments: the first one whole, the others
as differences from it (`describe.py` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    Kind,
    Overrides,
    Rejection,
)
from rl_resources.script.framework.entry import Entry, find_entry
from rl_resources.script.framework.grammar import SweepError, is_function, read_value
from rl_resources.script.framework.judgement import (
    choice_unknown,
    is_hydras_own,
    objections,
    refusal,
)
from rl_resources.script.framework.overlay import Overlay, Refused, split_prefix

DEFAULTS = "tools/rl_resources/script/framework"
"""Where a checkout keeps the defaults files, one a framework: `FRAMEWORK.json`."""

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=4)
def shipped(framework: str) -> Shipped:
    """The shipped defaults of `framework`; raises `UnusableInput` where there are none."""
    try:
        return read_shipped((_FOLDER / f"{framework}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnusableInput(
            f"no defaults of {framework!r} are shipped",
            f"Known are: {', '.join(sorted(path.stem for path in _FOLDER.glob('*.json')))}.",
        ) from None


@dataclass(frozen=True)
class Shipped:
    """The configurations of one release that training scripts start from.

    `choices` maps each choice of the config group `group` to dotted keys and raw defaults, `names`
    the name of each configuration to the choice that it makes. `groups` names all config groups.
    """

    framework: str
    version: str
    modules: Mapping[str, Entry]
    folder: str
    names: Mapping[str, str]
    group: str
    groups: frozenset[str]
    choices: Mapping[str, Mapping[str, Any]] = field(repr=False)
    _bases: dict[str, Composition] = field(default_factory=dict, repr=False)

    def compose(
        self, module: str, config_name: str | None, config_path: str | None, overrides: Overrides
    ) -> Composition:
        """The same as `Configuration.compose` gives, for the configurations that are shipped.

        For any other the result has a `problem`.
        """
        entry = find_entry(self.modules, module, config_name, config_path)
        if isinstance(entry, str):
            return Composition(self.framework, self.version, {}, (), entry)
        if entry is None:
            reason = f"{self.framework} {self.version} has no such module to start"
            rejection = Rejection(-1, module, "no-module", reason)
            return Composition(self.framework, self.version, {}, (rejection,))
        if entry.folder != self.folder or entry.config_name not in self.names:
            problem = f"the defaults of `{entry.config_name}` are not shipped"
            return Composition(self.framework, self.version, {}, (), problem)
        return _Launch(self, self.names[entry.config_name], overrides).composition()

    def base(self, choice: str) -> Composition:
        """One shipped configuration without any override."""
        if choice not in self._bases:
            values = self.choices[choice]
            self._bases[choice] = Composition(self.framework, self.version, values)
        return self._bases[choice]


class _Launch:
    """One launch while its overrides are applied one after the other."""

    def __init__(self, known: Shipped, choice: str, overrides: Overrides) -> None:
        self.known = known
        self.choice = choice
        self.problem = ""
        self.rejected: list[Rejection] = []
        read = [self._read(at, *override) for at, override in enumerate(overrides)]
        self.read = [item for item in read if item is not None]

    def _read(
        self, index: int, text: str, value_text: str | None
    ) -> tuple[int, str, str, Any] | None:
        """Index, prefix, key and value of an override of a value, or `None` where it is none."""
        prefix, key = split_prefix(text) or ("", text)
        try:
            value = _value(prefix, value_text)
        except ValueError as error:
            kind: Kind = "sweep" if isinstance(error, SweepError) else "syntax"
            self.rejected.append(Rejection(index, key, kind, str(error)))
            return None
        if is_hydras_own(key):
            return None
        group = key.partition("@")[0].partition("/")[0]
        if group in self.known.groups and not isinstance(value, dict):
            self._choose(index, prefix, key, value)
            return None
        if split_prefix(text) is None:
            reason = "is not Hydra's syntax of a key"
            self.rejected.append(Rejection(index, key, "syntax", reason))
            return None
        return index, prefix, key, value

    def _choose(self, index: int, prefix: str, key: str, value: Any) -> None:
        """Note a choice of a config group; only those that are shipped can be followed."""
        if value is UNKNOWN:
            self.problem = choice_unknown(key)
        elif key == self.known.group and prefix == "":
            if str(value) in self.known.choices:
                self.choice = str(value)
            else:
                reason = f"`{value}` is not the name of a file in the group"
                self.rejected.append(Rejection(index, key, "group", reason))
        else:
            self.problem = f"the choice of `{key}` cannot be followed without Hydra"

    def composition(self) -> Composition:
        """The composed configuration with every override that it takes."""
        if self.problem:
            return Composition(self.known.framework, self.known.version, {}, (), self.problem)
        base = self.known.base(self.choice)
        overlay = Overlay(base)
        applied = [item for item in self.read if self._apply(item, overlay, base)]
        result = Composition(base.framework, base.version, overlay.values)
        set_ = [
            (index, key, value)
            for index, prefix, key, value in applied
            if prefix != "~" and value is not UNKNOWN
        ]
        found = [*self.rejected, *objections(base, result, set_)]
        found.sort(key=lambda rejection: rejection.index)
        return Composition(base.framework, base.version, overlay.values, tuple(found))

    def _apply(self, item: tuple[int, str, str, Any], overlay: Overlay, base: Composition) -> bool:
        index, prefix, key, value = item
        try:
            overlay.apply(prefix, key, value)
        except Refused as refused:
            reason = refusal(refused.kind, key, base)
            self.rejected.append(Rejection(index, key, refused.kind, reason))
            return False
        return True


def _value(prefix: str, text: str | None) -> Any:
    if text is None:
        return None if prefix == "~" else UNKNOWN
    return UNKNOWN if is_function(text) else read_value(text)


def read_shipped(text: str) -> Shipped:
    """The value of a defaults file's text."""
    raw = json.loads(text)
    whole: Mapping[str, Any] = {}
    choices: dict[str, Mapping[str, Any]] = {}
    for choice, change in raw["choices"].items():
        gone = set(change["unset"])
        choices[choice] = {key: whole[key] for key in whole if key not in gone} | change["set"]
        whole = whole or choices[choice]
    return Shipped(
        framework=raw["framework"],
        version=raw["version"],
        modules={name: Entry(**entry) for name, entry in raw["modules"].items()},
        folder=raw["folder"],
        names=raw["names"],
        group=raw["group"],
        groups=frozenset(raw["groups"]),
        choices=choices,
    )
