"""Composing a launch with Hydra itself, from the configuration files of one release.

Hydra stops at the first override that it does not take. Here its own parser and its own way of
applying overrides run for each override alone, so that every rejected one is told.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    Kind,
    Overrides,
    Rejection,
    leaves,
)
from rl_resources.script.framework.entry import Entry, find_entry
from rl_resources.script.framework.judgement import (
    choice_unknown,
    is_hydras_own,
    objections,
    refusal,
)

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_SAFE_CHOICE = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_STAND_IN = "a-value-that-only-a-run-can-tell"
_SEARCH_PATH = "hydra.searchpath"


@dataclass(frozen=True)
class _Base:
    """The composed configuration before any override of a value, and Hydra's own form of it."""

    composition: Composition
    pickled: bytes


@dataclass(frozen=True)
class Configuration:
    """The configuration files of one release, below `folder`, and where each module starts."""

    framework: str
    version: str
    folder: Path
    modules: Mapping[str, Entry] = field(repr=False)
    _bases: dict[tuple[str, ...], _Base | str] = field(default_factory=dict, repr=False)

    def compose(
        self, module: str, config_name: str | None, config_path: str | None, overrides: Overrides
    ) -> Composition:
        """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`."""
        entry = find_entry(self.modules, module, config_name, config_path)
        if isinstance(entry, str):
            return self._nothing(problem=entry)
        if entry is None:
            return self._nothing(self._refusal_of_launch("no-module", module))
        if not (self.folder / entry.folder / f"{entry.config_name}.yaml").is_file():
            return self._nothing(self._refusal_of_launch("no-configuration", entry.config_name))
        return _Launch(self, entry, overrides).composition()

    def _nothing(self, *rejected: Rejection, problem: str = "") -> Composition:
        return Composition(self.framework, self.version, {}, rejected, problem)

    def _refusal_of_launch(self, kind: Kind, name: str) -> Rejection:
        return Rejection(
            -1, name, kind, f"{self.framework} {self.version} has nothing of this name"
        )

    def base(self, entry: Entry, choices: Sequence[str] = ()) -> _Base | str:
        """The configuration with these choices of config groups, or why Hydra refuses it."""
        key = (entry.folder, entry.config_name, *choices)
        if key not in self._bases:
            self._bases[key] = self._compose_base(entry, choices)
        return self._bases[key]

    def _compose_base(self, entry: Entry, choices: Sequence[str]) -> _Base | str:
        from hydra import compose, initialize_config_dir
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException
        from yaml import YAMLError

        folder = str((self.folder / entry.folder).resolve())
        try:
            with warnings.catch_warnings(), initialize_config_dir(folder, version_base=None):
                warnings.simplefilter("ignore")
                wanted = [*choices, *self._search_path(entry)]
                composed = compose(entry.config_name, wanted)
            values = _values(composed)
        except (HydraException, OmegaConfBaseException, YAMLError, OSError, ValueError) as error:
            return _first_line(error)
        return _Base(Composition(self.framework, self.version, values), pickle.dumps(composed))

    def _search_path(self, entry: Entry) -> Iterator[str]:
        """The override that lets Hydra find what a configuration names by an installed package."""
        from omegaconf import OmegaConf

        path = self.folder / entry.folder / f"{entry.config_name}.yaml"
        if not path.is_file():
            return
        named = OmegaConf.select(OmegaConf.load(path), _SEARCH_PATH, default=None) or ()
        found = [folder for place in named if (folder := self._place(str(place))) is not None]
        if found:
            yield f"{_SEARCH_PATH}=[{','.join(found)}]"

    def _place(self, place: str) -> str | None:
        scheme, _, rest = place.partition("://")
        inside = rest.replace(".", "/") if scheme == "pkg" else rest or scheme
        pure = PurePosixPath(inside)
        if pure.is_absolute() or ".." in pure.parts or not (self.folder / pure).is_dir():
            return None
        quoted = str((self.folder / pure).resolve()).replace("\\", "\\\\").replace('"', '\\"')
        return f'"file://{quoted}"'

    def is_group(self, entry: Entry, key: str) -> bool:
        """Whether `key` names a config group, whose value chooses one of its files."""
        own = re.fullmatch(r"[\w-]+(?:/[\w-]+)*", key) is not None
        return own and (self.folder / entry.folder / key).is_dir()


def _values(composed: Any) -> dict[str, Any]:
    """Dotted keys and raw leaves of Hydra's result."""
    from omegaconf import OmegaConf

    tree = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(tree, dict)  # noqa: S101 (a primary configuration is always a mapping)
    return {key: _known(value) for key, value in leaves(tree)}


def _known(value: Any) -> Any:
    if isinstance(value, list):
        return [_known(item) for item in value]
    return UNKNOWN if value == _STAND_IN else value


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


@lru_cache(maxsize=20_000)
def _parsed(text: str) -> Override | str:
    """Hydra's reading of one override, or why it has none."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed: Override = _parser(OverridesParser).parse_override(text)
    except (HydraException, RecursionError, ValueError) as error:
        return _first_line(error)
    return parsed


@lru_cache(maxsize=1)
def _parser(kind: Any) -> Any:
    return kind.create()


class _Launch:
    """One launch while its overrides are applied one after the other."""

    def __init__(self, configuration: Configuration, entry: Entry, overrides: Overrides) -> None:
        self.configuration = configuration
        self.entry = entry
        self.rejected: list[Rejection] = []
        self.parsed = [self._parse(at, *override) for at, override in enumerate(overrides)]
        self.unknown = {
            at
            for at, (key, value) in enumerate(overrides)
            if value is None and not key.startswith("~")
        }

    def _reject(self, index: int, key: str, kind: Kind, reason: str) -> None:
        self.rejected.append(Rejection(index, key, kind, reason))

    def _parse(self, index: int, key: str, value: str | None) -> Override | None:
        plain = key.lstrip("+~")
        if value is None and not key.startswith("~"):
            value = _STAND_IN
        parsed = _parsed(key if value is None else f"{key}={value}")
        if isinstance(parsed, str):
            self._reject(index, plain, "syntax", parsed)
        elif parsed.is_sweep_override():
            self._reject(index, plain, "sweep", "several values need --multirun")
        elif not is_hydras_own(parsed.key_or_group):
            return parsed
        return None

    def composition(self) -> Composition:
        """The composed configuration with every override that it takes."""
        base = self._with_choices()
        if isinstance(base, str):
            return self.configuration._nothing(problem=base)
        composed = pickle.loads(base.pickled)  # noqa: S301 (pickled by this process)
        applied = [
            (at, override)
            for at, override in enumerate(self.parsed)
            if override is not None and self._apply(at, override, composed, base.composition)
        ]
        result = replace(base.composition, values=_values(composed))
        known = [
            (at, override.key_or_group, override.value())
            for at, override in applied
            if at not in self.unknown and not override.is_delete()
        ]
        found = [*self.rejected, *objections(base.composition, result, known)]
        return replace(result, rejected=tuple(sorted(found, key=lambda item: item.index)))

    def _is_choice(self, override: Override) -> bool:
        group = self.configuration.is_group(self.entry, override.key_or_group)
        return group and not isinstance(override.value(), dict)

    def _with_choices(self) -> _Base | str:
        """The base with every choice of a config group that Hydra takes."""
        taken: list[str] = []
        base = self.configuration.base(self.entry)
        if isinstance(base, str):
            return f"`{self.entry.config_name}` fails: {base}"
        for at, override in enumerate(self.parsed):
            if override is None or not self._is_choice(override):
                continue
            self.parsed[at] = None
            if at in self.unknown:
                return choice_unknown(override.key_or_group)
            tried = self._choose(override, taken)
            if isinstance(tried, str):
                self._reject(at, override.key_or_group, "group", tried)
            else:
                base = tried
                taken.append(str(override.input_line))
        return base

    def _choose(self, override: Override, taken: Sequence[str]) -> _Base | str:
        chosen = override.value()
        for name in chosen if isinstance(chosen, list) else [chosen]:
            if name is not None and (not _SAFE_CHOICE.fullmatch(str(name)) or ".." in str(name)):
                return f"`{name}` is not the name of a file in the group"
        return self.configuration.base(self.entry, [*taken, str(override.input_line)])

    def _apply(self, index: int, override: Override, composed: Any, base: Composition) -> bool:
        """Apply one override as Hydra does; say whether it was taken."""
        from hydra._internal.config_loader_impl import ConfigLoaderImpl
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException

        refused = (HydraException, OmegaConfBaseException, ValueError, LookupError, TypeError)
        try:
            if index in self.unknown and _node(composed, override.key_or_group) == {}:
                if not override.is_add():
                    return False  # taken, but what it makes of a group cannot be told
            elif _has_place(override, composed):
                ConfigLoaderImpl._apply_overrides_to_config([override], composed)
                return True
        except (*refused, AssertionError):
            pass
        key, kind = override.key_or_group, _kind(override, composed)
        self.rejected.append(Rejection(index, key, kind, refusal(kind, key, base)))
        return False


def _has_place(override: Override, composed: Any) -> bool:
    """Whether what is above the key of a plain override is a group or a list.

    Where it is not, Hydra would refuse the override after it has made room for it.
    """
    above = override.key_or_group.rpartition(".")[0]
    adds = override.is_delete() or override.is_add() or override.is_force_add()
    return adds or not above or isinstance(_node(composed, above), dict | list)


def _select(composed: Any, key: str) -> Any:
    """What is at `key` of Hydra's tree; `None` for nothing and for what cannot be resolved."""
    from omegaconf import OmegaConf

    try:
        return OmegaConf.select(composed, key, throw_on_resolution_failure=False)
    except (TypeError, ValueError):
        return None  # a name into a list


def _node(composed: Any, key: str) -> Any:
    """An empty dictionary or list for a group or a list in Hydra's tree, else `None`."""
    from omegaconf import OmegaConf

    node = _select(composed, key)
    return {} if OmegaConf.is_dict(node) else [] if OmegaConf.is_list(node) else None


def _kind(override: Override, composed: Any) -> Kind:
    """What is wrong with an override that Hydra refused."""
    if override.is_delete():
        return "unknown-key"
    kinds = {type(override.value()), type(_node(composed, override.key_or_group))}
    if kinds == {dict, list}:
        return "type"
    exists = _select(composed, override.key_or_group) is not None
    return "existing-key" if override.is_add() and exists else "unknown-key"
