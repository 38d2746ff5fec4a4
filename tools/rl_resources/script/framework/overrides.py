"""Composing a launch with Hydra's own parser and its own way of applying overrides.

Hydra stops at the first override that it rejects. Here each override runs by itself, so that every
rejected one is reported.
"""

from __future__ import annotations

import pickle
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rl_resources.script.framework.composition import (
    STAND_IN,
    UNKNOWN,
    Composition,
    Kind,
    Overrides,
    Rejection,
)
from rl_resources.script.framework.source import CannotComposeError, Entry, MissingError, Source
from rl_resources.script.framework.value_types import disagreement

OmegaConf.register_new_resolver("oc.env", lambda *_: STAND_IN, replace=True)

_REFUSED = (
    *(HydraException, OmegaConfBaseException, RecursionError),
    *(ValueError, LookupError, TypeError, AssertionError),
)
"""What Hydra and OmegaConf raise on an override that they reject."""


@cache
def _parser() -> OverridesParser:
    return OverridesParser.create()


@lru_cache(maxsize=20_000)
def parse(text: str) -> Override:
    """One override as Hydra reads it; raises `ValueError` where it does not, or as a sweep."""
    try:
        return _parser().parse_override(text)
    except (HydraException, RecursionError) as error:
        line = str(error).partition("\n")[0]
        raise ValueError(f"is not Hydra's syntax: {line}") from None


def compose(source: Source, entry: Entry, overrides: Overrides) -> Composition:
    """The configuration of one launch; raises what `Source.start` raises."""
    return _Launch(source, entry, overrides).composition()


class _Launch:
    """One launch while its overrides are applied one after the other."""

    def __init__(self, source: Source, entry: Entry, overrides: Overrides) -> None:
        self.source = source
        self.entry = entry
        self.rejected: list[Rejection] = []
        self.parsed: dict[int, Override] = {}
        self.unknown = {at for at, (key, value) in enumerate(overrides) if value is None}
        for at, (key, value) in enumerate(overrides):
            self._parse(at, key, value)

    def _reject(self, index: int, key: str, kind: Kind, reason: str) -> None:
        self.rejected.append(Rejection(index, key, kind, reason))

    def _parse(self, index: int, key: str, value: str | None) -> None:
        plain = key.lstrip("+~")
        if value is None and not key.startswith("~"):
            value = STAND_IN
        try:
            override = parse(key if value is None else f"{key}={value}")
        except ValueError as error:
            self._reject(index, plain, "syntax", str(error))
            return
        if override.is_sweep_override():
            reason = "holds several values, separated by commas outside brackets"
            self._reject(index, plain, "sweep", reason)
        elif not re.match(r"hydra(?:[./]|$)", override.key_or_group):
            self.parsed[index] = override

    def composition(self) -> Composition:
        """The composed configuration with every override that it accepts."""
        base = self._chosen()
        config = pickle.loads(base.pickled)  # noqa: S301 (pickled by this process)
        applied: dict[int, Override] = {}
        for at, override in self.parsed.items():
            kind = _apply(override, config, base, unknown=at in self.unknown)
            if kind is None:
                applied[at] = override
            else:
                key = override.key_or_group
                self._reject(at, key, kind, _reason(kind, base))
        result = replace(base, config=config)
        for at, override in applied.items():
            if at not in self.unknown and not override.is_delete():
                self._object(at, override, base, result)
        self.rejected.sort(key=lambda item: item.index)
        return replace(result, rejected=tuple(self.rejected))

    def _chosen(self) -> Composition:
        """The configuration with every choice of a config group that it has."""
        taken: list[Override] = []
        base = self.source.start(self.entry, taken)
        groups = self.source.groups(self.entry)
        for at, override in list(self.parsed.items()):
            group = override.key_or_group.partition("/")[0]
            if group not in groups or isinstance(override.value(), dict):
                continue
            del self.parsed[at]
            if at in self.unknown:
                reason = f"the choice of `{group}` is not known without running the script"
                raise CannotComposeError(reason)
            try:
                base = self.source.start(self.entry, [*taken, override])
                taken.append(override)
            except MissingError as error:
                self._reject(at, override.key_or_group, "group", error.reason)
        return base

    def _object(
        self, index: int, override: Override, base: Composition, result: Composition
    ) -> None:
        """Reject a value of another type than the default's, or that refers to no key."""
        key, value = override.key_or_group, override.value()
        if isinstance(value, str) and "${" in value:
            try:
                value = result.value(key)
            except KeyError as error:
                reason = f"refers to `{error.args[0]}`, which does not exist"
                self._reject(index, key, "reference", reason)
                return
        try:
            default = base.value(key)
        except KeyError:
            return  # an added key has no default
        if UNKNOWN not in (default, value) and (wrong := disagreement(key, default, value)):
            self._reject(index, key, "type", wrong)


def _apply(
    override: Override, config: DictConfig, base: Composition, *, unknown: bool
) -> Kind | None:
    """Apply one override as Hydra does; the kind of its rejection where it does not.

    `config` is `base` with the overrides before.
    """
    key, value, exists = override.key_or_group, override.value(), False
    if unknown or override.is_add() or isinstance(value, dict | list):
        node = _select(config, key)
        exists = override.is_add() and node is not None
        if unknown and OmegaConf.is_dict(node):  # what it makes of a section is not known
            return "existing-key" if exists else None
        if {type(node), type(value)} in ({DictConfig, list}, {ListConfig, dict}):
            return "type"
    if base.has(key) or _has_room(override, config):
        with suppress(*_REFUSED):
            ConfigLoaderImpl._apply_overrides_to_config([override], config)
            return None
    return "existing-key" if exists else "unknown-key"


def _has_room(override: Override, config: DictConfig) -> bool:
    """Whether what is above the key of a plain override is a section or a list.

    Where it is not, Hydra would reject the override after it has made room for it.
    """
    above = override.key_or_group.rpartition(".")[0]
    adds = override.is_delete() or override.is_add() or override.is_force_add()
    return adds or not above or OmegaConf.is_config(_select(config, above))


def _select(config: DictConfig, key: str) -> Any:
    """What is at `key`; `None` for nothing and for what cannot be resolved."""
    try:
        return OmegaConf.select(config, key, throw_on_resolution_failure=False)
    except (TypeError, ValueError):
        return None  # a name into a list


def _reason(kind: Kind, base: Composition) -> str:
    if kind == "existing-key":
        return "the configuration has this key already: leave out the `+`"
    if kind == "type":
        return "a list and a group of settings do not replace each other"
    return f"{base.framework} {base.version} has no such key"
