"""What a release starts from, and its configuration with the overrides of a launch.

Hydra's syntax and its way of applying overrides. Hydra stops at the first override that it rejects.
Here each override runs by itself, so that every rejected one is reported.
"""

from __future__ import annotations

import pickle
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from packaging.version import Version

from rl_resources.errors import UnusableInput
from rl_resources.script.framework.syntax import (
    MISSING,
    STAND_IN,
    ParsedOverride,
    UnclearError,
    disagreement,
    parse,
    resolved,
)

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch

UNKNOWN: Final = object()
"""A value that is not known without running something."""

_OUTSIDE = re.compile(r"/|\.\.|\w+:/")
_OF_HYDRA = re.compile(r"hydra(?:[./]|$)")
_REASONS = {"unknown-key": "no such key", "existing-key": "this key without `+`"}
Kind = Literal[
    "syntax",
    "group",
    "unknown-key",
    "existing-key",
    "type",
    "no-module",
    "no-configuration",
]


@dataclass(frozen=True)
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
    rejected: Sequence[Rejection] = ()
    problem: str = ""

    @cached_property
    def pickled(self) -> bytes:
        """The tree, to be copied."""
        return pickle.dumps(self.config or {})

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Dotted keys to leaves as they are written; lists and empty mappings are leaves."""
        return dict(_leaves(_known(self.config or {}), ""))

    def value(self, key: str) -> Any:
        """What the run uses for `key`: the script's value if it sets one, otherwise the default.

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
    if value == MISSING:
        return None
    return value


def _known(value: Any) -> Any:
    """`value` with `UNKNOWN` for what has the stand-in."""
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    if isinstance(value, str) and STAND_IN in value:
        return UNKNOWN
    return value


def _leaves(node: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Every leaf below a section with its dotted key."""
    for name, item in node.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{above}{name}.")
        else:
            yield f"{above}{name}", item


def is_since(version: str, release: str) -> bool:
    """Whether a version is this release or a later one; not if it is empty, and so not known."""
    if not version:
        return False
    return Version(version) >= Version(release)


class CannotComposeError(UnusableInput):
    """A launch, or in `compat` a release, cannot be composed; the message says why.

    If the release has no such module, configuration or choice, `rejection` says which, otherwise
    nothing is known about the launch.
    """

    def __init__(self, reason: str, kind: Kind | None = None, name: str = "") -> None:
        super().__init__(reason)
        self.rejection = kind and Rejection(-1, name, kind, reason)


class Entry(NamedTuple):
    """Where a module's configuration lies: a directory inside the wheel, and a name in it."""

    folder: str
    config_name: str

    @property
    def file(self) -> str:
        """The path of its file."""
        return f"{self.folder}/{self.config_name}.yaml"


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
    def start(self, entry: Entry, choices: Sequence[ParsedOverride]) -> Composition:
        """The configuration with these choices of config groups, before any other override.

        Raises `CannotComposeError`.
        """

    @property
    @abstractmethod
    def engines(self) -> Mapping[str, Composition]:
        """What a training starts from by what chooses it; the usual one comes first, by nothing."""

    def entry(self, module: str, name: str | None, path: str | None) -> Entry:
        """What `module` starts from, with these names on its command line or its own.

        Raises `CannotComposeError`.
        """
        entry = self.modules.get(module)
        if entry is None:
            raise self._no_module(module)
        folder = entry.folder
        if path:
            above = posixpath.dirname(module.replace(".", "/"))
            folder = posixpath.normpath(posixpath.join(above, path))
        config_name = name or entry.config_name
        if _OUTSIDE.match(folder) or _OUTSIDE.match(config_name):
            raise CannotComposeError(
                f"`{path or name}` lies outside the framework's package"
            )
        return Entry(folder, re.sub(r"\.ya?ml$", "", config_name))

    def _no_module(self, module: str) -> CannotComposeError:
        """Why there is nothing to start from; of another package all is open."""
        packages = {entry.folder.partition("/")[0] for entry in self.modules.values()}
        if module.partition(".")[0] in packages:
            return CannotComposeError(
                f"{self.framework} {self.version} has no such module to start",
                "no-module",
                module,
            )
        return CannotComposeError(f"the framework's package has no `{module}`")


def compose_module(
    source: Source,
    module: str,
    config_name: str | None,
    config_path: str | None,
    overrides: Sequence[ParsedOverride],
) -> Composition:
    """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`.

    Their values are texts. One of `None` is not known statically; after `~` there is none.
    """
    try:
        return _composed(
            source, source.entry(module, config_name, config_path), overrides
        )
    except CannotComposeError as error:
        nothing = Composition(source.framework, source.version)
        if error.rejection:
            return replace(nothing, rejected=(error.rejection,))
        return replace(nothing, problem=str(error))


def compose_launch(source: Source, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` if an argument that matters is not known statically.
    """
    if _may_start_elsewhere(launch):
        return Composition(
            source.framework,
            source.version,
            problem="its configuration is not known, or lies outside the framework's package",
        )
    overrides = [
        ParsedOverride(item.prefix, item.key, item.value) for item in launch.overrides
    ]
    return compose_module(
        source,
        launch.module,
        launch.text_of("config-name"),
        launch.text_of("config-path"),
        overrides,
    )


def _may_start_elsewhere(launch: Launch) -> bool:
    """Whether a launch may start from a configuration of its own, or once for each of several."""
    if launch.flags.keys() & {"config-dir", "multirun"}:
        return True
    if any(override.key == "hydra.searchpath" for override in launch.overrides):
        return True
    given = launch.flags.keys() & {"config-name", "config-path"}
    return any(launch.text_of(name) is None for name in given)


def _rejection(given: ParsedOverride, kind: Kind, reason: str) -> Rejection:
    return Rejection(given.at, given.key, kind, reason)


def _read(written: ParsedOverride) -> ParsedOverride:
    """An override as Hydra reads it; raises `ValueError` if it does not."""
    value = written.value
    if value:
        return written._replace(value=parse(value))
    if value is None and written.prefix != "~":
        return written._replace(value=STAND_IN, unknown=True)
    return written


def _composed(
    source: Source, entry: Entry, overrides: Sequence[ParsedOverride]
) -> Composition:
    """The configuration with every override that it accepts."""
    given: list[ParsedOverride] = []
    rejected: list[Rejection] = []
    for at, override in enumerate(overrides):
        written = override._replace(at=at)
        try:
            given.append(_read(written))
        except ValueError as error:
            rejected.append(_rejection(written, "syntax", str(error)))
    base, given = _chosen(source, entry, given, rejected)
    config = pickle.loads(base.pickled)  # noqa: S301 (a fast copy)
    for item in given:
        kind = _change(config, item)
        reason: str | None
        if kind:
            reason = f"{base.framework} {base.version} has {_REASONS[kind]}"
        else:
            kind = "type"
            reason = _wrong_value(item, base)
        if reason:
            rejected.append(_rejection(item, kind, reason))
    rejected.sort(key=attrgetter("index"))
    return replace(base, config=config, rejected=rejected)


def _chosen(
    source: Source, entry: Entry, given: list[ParsedOverride], rejected: list[Rejection]
) -> tuple[Composition, list[ParsedOverride]]:
    """The configuration with every choice of a config group that it has, and other overrides."""
    taken: list[ParsedOverride] = []
    others: list[ParsedOverride] = []
    base = source.start(entry, taken)
    groups = source.groups(entry)
    for item in given:
        group = re.split("[/@]", item.key)[0]
        if group not in groups or isinstance(item.value, dict):
            if not _OF_HYDRA.match(item.key):
                others.append(item)
            continue
        if item.unknown or item.prefix == "~":
            raise CannotComposeError(
                f"the choice of `{group}` is not known without running the script"
            )
        try:
            base = source.start(entry, [*taken, item])
            taken.append(item)
        except CannotComposeError as error:
            if error.rejection is None:
                raise
            rejected.append(_rejection(item, "group", str(error)))
    return base, others


def _wrong_value(given: ParsedOverride, base: Composition) -> str | None:
    """Why a value is of another type than the default's."""
    if given.unknown or given.prefix == "~" or "${" in str(given.value):
        return None
    default = base.value(given.key)
    if default is UNKNOWN:
        return None
    return disagreement(given.key, default, given.value)


def _change(config: dict[str, Any], given: ParsedOverride) -> Kind | None:
    """Make one override in a configuration; the kind of its rejection if it is not accepted.

    As `ConfigLoaderImpl._apply_overrides_to_config` of Hydra, but items of lists are not looked at.
    """
    if "@" in given.key:
        return "unknown-key"
    now: Any = None
    if given.prefix or given.unknown:  # for most there is no need to look
        now = _value(config, given.key)
    kind = _wrong_prefix(given, now)
    if kind:
        return kind
    *above, name = given.key.split(".")
    section = _section(config, above, adds=given.prefix != "")
    if isinstance(section, list):
        return None
    if given.unknown and isinstance(now, dict):
        return None  # what an unknown value makes of a section is not known
    is_known = section is not None and (given.prefix or name in section)
    if not is_known:
        return "unknown-key"
    if given.prefix == "~":
        section.pop(name, None)
    else:
        section[name] = _merged(section.get(name), given.value)
    return None


def _section(config: dict[str, Any], path: Sequence[str], *, adds: bool) -> Any:
    """The section at a path, or a list on the way; `None` if it is missing, unless `adds`."""
    section = config
    for name in path:
        inner = section.get(name)
        if isinstance(inner, list):
            return inner
        if not isinstance(inner, dict):
            if not adds:
                return None
            inner = {}
            section[name] = inner
        section = inner
    return section


def _wrong_prefix(override: ParsedOverride, now: Any) -> Kind | None:
    """Why a key that is `now` so cannot be deleted with `~`, or added with `+`."""
    absent = now is None or now is UNKNOWN
    if override.prefix == "~" and (absent or override.value not in (None, now)):
        return "unknown-key"
    replaces_value = not absent and not isinstance(override.value, dict | list)
    if override.prefix == "+" and replaces_value:
        return "existing-key"
    return None


def _merged(old: Any, new: Any) -> Any:
    """A value in place of another; other keys of a section stay."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return deepcopy(new)  # what is parsed is cached
    return old | {name: _merged(old.get(name), item) for name, item in new.items()}
