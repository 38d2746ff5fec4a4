"""What a release starts from, and its configuration with the overrides of a launch.

Hydra's syntax and its way of applying overrides. Hydra stops at the first override that it rejects.
Here each override runs by itself, so that every rejected one is reported.
"""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rl_resources.errors import UnusableInput
from rl_resources.script.framework.syntax import (
    MISSING,
    STAND_IN,
    Override,
    UnclearError,
    parse,
    resolved,
)

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch

UNKNOWN: Final = object()
"""A value that is not known without running something."""

Kind = Literal[
    "syntax", "group", "unknown-key", "existing-key", "type", "no-module", "no-configuration"
]


@dataclass(frozen=True, slots=True)
class Rejection:
    """One override that is not accepted.

    `index` is its place among the overrides, -1 for the launch itself; `reason` fits after the
    key and a colon.
    """

    index: int
    key: str
    kind: Kind
    reason: str


@dataclass(frozen=True, eq=False)
class Composition:
    """The configuration of one launch under one release, a tree with interpolations.

    `problem` says why nothing could be composed at all; there is no tree then, and neither
    acceptance nor rejection is known.
    """

    framework: str
    version: str
    config: dict[str, Any] | None = field(default=None, repr=False)
    rejected: tuple[Rejection, ...] = ()
    problem: str = ""

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Dotted keys to leaves as they are written; lists and empty mappings are leaves."""
        return dict(_leaves(_known(self.config or {}), ""))

    def value(self, key: str) -> Any:
        """What the run uses for `key`: the script's value or else the framework's default.

        Interpolations are resolved; a section gives a dictionary. A mandatory key that nothing
        sets is `None`; what is not known, or not in the configuration, is `UNKNOWN`.
        """
        return _known(_value(self.config or {}, key))


def _value(config: dict[str, Any], key: str) -> Any:
    """The value at a key, with the stand-in for what is not known."""
    try:
        value = resolved(config, key)
    except (KeyError, UnclearError, RecursionError):
        return UNKNOWN
    return None if value == MISSING else value


def _known(value: Any) -> Any:
    """`value` with `UNKNOWN` for what has the stand-in."""
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return UNKNOWN if isinstance(value, str) and STAND_IN in value else value


def _leaves(node: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Every leaf below a section with its dotted key."""
    for name, item in node.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{above}{name}.")
        else:
            yield f"{above}{name}", item


class CannotComposeError(UnusableInput):
    """A launch, or in `compat` a release, cannot be composed; the message says why.

    Where the release has no such module, configuration or choice, `rejection` says which; else
    nothing is known about the launch.
    """

    def __init__(self, reason: str, kind: Kind | None = None, name: str = "") -> None:
        super().__init__(reason)
        self.rejection = Rejection(-1, name, kind, reason) if kind else None


class Entry(NamedTuple):
    """Where a module's configuration lies: a directory inside the wheel, and a name in it."""

    folder: str
    config_name: str


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """The configurations of one release, and the one that each of its modules starts from."""

    framework: str
    version: str
    modules: Mapping[str, Entry] = field(repr=False)

    @abstractmethod
    def groups(self, entry: Entry) -> Sequence[str]:
        """The config groups of a configuration."""

    @abstractmethod
    def start(self, entry: Entry, choices: Sequence[Override]) -> Composition:
        """The configuration with these choices of config groups, before any other override.

        Raises `CannotComposeError`.
        """

    def entry(self, module: str, name: str | None, path: str | None) -> Entry:
        """What `module` starts from, with these names on its command line or its own.

        Raises `CannotComposeError`.
        """
        entry = self.modules.get(module)
        if entry is None:
            packages = {found.folder.partition("/")[0] for found in self.modules.values()}
            if module.partition(".")[0] in packages:
                reason = f"{self.framework} {self.version} has no such module to start"
                raise CannotComposeError(reason, "no-module", module)
            raise CannotComposeError(f"the framework's package has no `{module}`")
        above = posixpath.dirname(module.replace(".", "/"))
        folder = posixpath.normpath(posixpath.join(above, path)) if path else entry.folder
        outside = any(place.startswith(("/", "..")) for place in (folder, name or ""))
        if outside or "://" in (path or ""):
            raise CannotComposeError(f"`{path or name}` lies outside the framework's package")
        return Entry(folder, re.sub(r"\.ya?ml$", "", name or entry.config_name))


# Composing


def compose_module(
    source: Source,
    module: str,
    config_name: str | None,
    config_path: str | None,
    overrides: Sequence[Override],
) -> Composition:
    """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`.

    Their values are texts. One of `None` is not known statically; after `~` there is none.
    """
    try:
        entry = source.entry(module, config_name, config_path)
        return _composed(source, entry, overrides)
    except CannotComposeError as error:
        rejected = (error.rejection,) if error.rejection else ()
        problem = "" if rejected else str(error)
        return Composition(source.framework, source.version, None, rejected, problem)


def compose_launch(source: Source, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` where an argument that matters is not known statically.
    """
    if problem := _hidden(launch):
        return Composition(source.framework, source.version, problem=problem)
    overrides = [Override(item.prefix, item.key, item.value) for item in launch.overrides]
    given = launch.text_of("config-name"), launch.text_of("config-path")
    return compose_module(source, launch.module, *given, overrides)


def _hidden(launch: Launch) -> str:
    """Why it is not known from what configuration the launch starts; empty where it is."""
    if "multirun" in launch.flags:
        return "it runs once for each of several values"
    given = [name for name in launch.flags if name.startswith("config-")]
    outside = any(name == "config-dir" or launch.text_of(name) is None for name in given)
    if outside or any(item.key == "hydra.searchpath" for item in launch.overrides):
        return "its configuration is not known, or lies outside the framework's package"
    return ""


class _Given(NamedTuple):
    """An override as Hydra reads it; `unknown` says that its value is not known statically."""

    at: int
    override: Override
    unknown: bool

    def rejected(self, kind: Kind, reason: str) -> Rejection:
        return Rejection(self.at, self.override.key, kind, reason)


def _read(index: int, written: Override) -> _Given | Rejection:
    unknown = written.value is None and written.prefix != "~"
    text = STAND_IN if unknown else written.value
    try:
        value = text and parse(text)
    except ValueError as error:
        return Rejection(index, written.key, "syntax", str(error))
    return _Given(index, written._replace(value=value), unknown)


def _composed(source: Source, entry: Entry, overrides: Sequence[Override]) -> Composition:
    """The configuration with every override that it accepts."""
    read = [_read(at, override) for at, override in enumerate(overrides)]
    rejected = [item for item in read if isinstance(item, Rejection)]
    given = [item for item in read if isinstance(item, _Given)]
    base, given = _chosen(source, entry, given, rejected)
    config, applied = base.config or {}, []
    for item in given:
        changed = _changed(item, config)
        if isinstance(changed, dict):
            config = changed
            applied.append(item)
        else:
            what = "no such key" if changed == "unknown-key" else "this key without `+`"
            rejected.append(item.rejected(changed, f"{base.framework} {base.version} has {what}"))
    rejected += filter(None, (_wrong_value(item, base) for item in applied))
    rejected.sort(key=lambda item: item.index)
    return replace(base, config=config, rejected=tuple(rejected))


def _chosen(
    source: Source, entry: Entry, given: list[_Given], rejected: list[Rejection]
) -> tuple[Composition, list[_Given]]:
    """The configuration with every choice of a config group that it has, and other overrides."""
    taken: list[Override] = []
    base, groups, others = source.start(entry, taken), source.groups(entry), []
    for item in given:
        group = re.split("[/@]", item.override.key)[0]
        if group not in groups or isinstance(item.override.value, dict):
            if not re.match(r"hydra(?:[./]|$)", item.override.key):
                others.append(item)
            continue
        if item.unknown or item.override.prefix == "~":
            reason = f"the choice of `{group}` is not known without running the script"
            raise CannotComposeError(reason)
        try:
            base = source.start(entry, [*taken, item.override])
            taken.append(item.override)
        except CannotComposeError as error:
            if error.rejection is None:
                raise
            rejected.append(item.rejected("group", str(error)))
    return base, others


def _wrong_value(given: _Given, base: Composition) -> Rejection | None:
    """A value of another type than the default's."""
    prefix, key, value = given.override
    if given.unknown or prefix == "~" or "${" in str(value):
        return None
    default = base.value(key)
    wrong = None if default is UNKNOWN else disagreement(key, default, value)
    return given.rejected("type", wrong) if wrong else None


def _changed(given: _Given, config: dict[str, Any]) -> dict[str, Any] | Kind:
    """The configuration after one override, or the kind of its rejection.

    As `ConfigLoaderImpl._apply_overrides_to_config` of Hydra, but items of lists are not looked at.
    Only what is above the key is copied: many launches start from one configuration.
    """
    prefix, key, value = given.override
    now = _value(config, key) if prefix or given.unknown else None
    absent = now is None or now is UNKNOWN
    if "@" in key or (prefix == "~" and (absent or value not in (None, now))):
        return "unknown-key"
    if prefix == "+" and not absent and not isinstance(value, dict | list):
        return "existing-key"
    if given.unknown and isinstance(now, dict):
        return config  # what it makes of a section is not known
    *above, name = key.split(".")
    root = node = dict(config)
    for part in above:
        child = node.get(part)
        if isinstance(child, list):
            return config
        if not (prefix or isinstance(child, dict)):
            return "unknown-key"
        node[part] = dict(child) if isinstance(child, dict) else {}
        node = node[part]
    if prefix == "~":
        node.pop(name, None)
        return root
    if not prefix and name not in node:
        return "unknown-key"
    node[name] = _merged(node.get(name), value)
    return root


def _merged(old: Any, new: Any) -> Any:
    """A value in place of another; other keys of a section stay."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {name: _merged(old.get(name), item) for name, item in new.items()}


# Types: the default is all that a configuration file says about one, so only what cannot be meant
# is rejected. `null` says "unset" throughout, and is accepted everywhere.

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
    unset = default is None or value is None or default == MISSING
    if unset or isinstance(value, _ALSO.get(name, ())):
        return None
    wanted = _wanted(name, default, value)
    return f"{_shown(value)} where the default is {_shown(default)}: {wanted}" if wanted else None


def _wanted(name: str, default: Any, value: Any) -> str | None:
    """What is wanted in place of `value`; `None` where it will do.

    A default of 0 or 1 is how a coefficient, a probability or a switch is often written. A list may
    stand for one word, and a name may be a number.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match default:
        case bool():
            return None if value in (0, 1) else "true or false is wanted"
        case int() | float() if not number:
            return None if isinstance(value, bool) and default in (0, 1) else "a number is wanted"
        case int() if isinstance(value, float):
            fraction = default in (0, 1) or name.endswith(_FRACTIONS)
            return None if fraction else "a whole number is wanted"
        case dict():
            return None if isinstance(value, dict) else "a group of settings is wanted"
        case list():
            words = isinstance(value, str) and all(isinstance(item, str) for item in default)
            return None if words or isinstance(value, list) else "a list is wanted"
        case str():
            switch = isinstance(value, bool) and default.lower() not in ("true", "false")
            return "text is wanted" if switch or isinstance(value, dict) else None
    return None


def _shown(value: Any) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
