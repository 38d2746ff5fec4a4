"""Composing a launch with Hydra's syntax and its way of applying overrides.

Hydra stops at the first override that it rejects. Here each override runs by itself, so that every
rejected one is reported.
"""

from __future__ import annotations

import pickle
import re
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rl_resources.script.framework.composition import (
    UNKNOWN,
    Composition,
    Kind,
    Overrides,
    Rejection,
)
from rl_resources.script.framework.source import (
    CannotComposeError,
    Entry,
    Source,
    module_name,
)
from rl_resources.script.framework.syntax import (
    MISSING,
    STAND_IN,
    Override,
    UnclearError,
    found,
    parse,
    resolved,
)

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch

_REFUSED = (LookupError, RecursionError, TypeError, ValueError)
"""What a change that Hydra rejects raises."""


def compose_module(
    source: Source,
    module: str,
    config_name: str | None,
    config_path: str | None,
    overrides: Overrides,
) -> Composition:
    """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`."""
    try:
        entry = source.entry(module_name(module), config_name, config_path)
        return _Launch(source, entry, overrides).composition()
    except CannotComposeError as error:
        rejected = (error.rejection,) if error.rejection else ()
        problem = "" if rejected else str(error)
        return Composition(source.framework, source.version, None, rejected, problem)


def compose_launch(source: Source, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` where an argument that matters is not known statically.
    """
    overrides = [(f"{item.prefix}{item.key}", item.value) for item in launch.overrides]
    composed = compose_module(
        source, launch.module, launch.config_name, launch.config_path, overrides
    )
    if launch.multirun:
        kept = tuple(item for item in composed.rejected if item.kind != "sweep")
        composed = replace(composed, rejected=kept)
    problem = _hidden(launch)
    return replace(composed, config=None, problem=problem) if problem else composed


def _hidden(launch: Launch) -> str:
    """Why it is not known from what configuration the launch starts; empty where it is."""
    for flag in launch.flags:
        if flag.name == "config-dir":
            return "`--config-dir` adds configurations from outside the framework's package"
        if flag.name.startswith("config-") and (flag.value is None or flag.value.text is None):
            return f"the value of `--{flag.name}` is not known without running the script"
    if any(item.key == "hydra.searchpath" for item in launch.hydra):
        return "`hydra.searchpath` adds configurations from outside the framework's package"
    return ""


class _Launch:
    """One launch while its overrides are applied one after the other."""

    def __init__(self, source: Source, entry: Entry, overrides: Overrides) -> None:
        self.source = source
        self.entry = entry
        self.rejected: list[Rejection] = []
        self.parsed: dict[int, Override] = {}
        self.unknown = {
            at
            for at, (key, value) in enumerate(overrides)
            if value is None and not key.startswith("~")
        }
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
        if override.sweep:
            reason = "holds several values, separated by commas outside brackets"
            self._reject(index, plain, "sweep", reason)
        elif not re.match(r"hydra(?:[./]|$)", override.key):
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
                self._reject(at, override.key, kind, _reason(kind, base))
        result = replace(base, config=config)
        for at, override in applied.items():
            if at not in self.unknown and override.prefix != "~":
                self._object(at, override, base, result)
        self.rejected.sort(key=lambda item: item.index)
        return replace(result, rejected=tuple(self.rejected))

    def _chosen(self) -> Composition:
        """The configuration with every choice of a config group that it has."""
        taken: list[Override] = []
        base = self.source.start(self.entry, taken)
        groups = self.source.groups(self.entry)
        for at, override in list(self.parsed.items()):
            group = re.split("[/@]", override.key)[0]
            if group not in groups or isinstance(override.value, dict):
                continue
            del self.parsed[at]
            if at in self.unknown or override.prefix == "~":
                reason = f"the choice of `{group}` is not known without running the script"
                raise CannotComposeError(reason)
            try:
                base = self.source.start(self.entry, [*taken, override])
                taken.append(override)
            except CannotComposeError as error:
                if error.rejection is None:
                    raise
                self._reject(at, override.key, "group", str(error))
        return base

    def _object(
        self, index: int, override: Override, base: Composition, result: Composition
    ) -> None:
        """Reject a value of another type than the default's, or that refers to no key."""
        key, value = override.key, override.value
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
    override: Override, config: dict[str, Any], base: Composition, *, unknown: bool
) -> Kind | None:
    """Apply one override as Hydra does; the kind of its rejection where it does not.

    `config` is `base` with the overrides before.
    """
    key, value, exists = override.key, override.value, False
    if unknown or override.prefix == "+" or isinstance(value, dict | list):
        node = _select(config, key)
        exists = override.prefix == "+" and node is not None
        if unknown and isinstance(node, dict):  # what it makes of a section is not known
            return "existing-key" if exists else None
        if {type(node), type(value)} == {dict, list}:
            return "type"
    if base.has(key) or _has_room(override, config):
        with suppress(*_REFUSED):
            _change(override, config)
            return None
    return "existing-key" if exists else "unknown-key"


def _change(override: Override, config: dict[str, Any]) -> None:
    """Change a configuration as Hydra does (`ConfigLoaderImpl._apply_overrides_to_config`).

    Raises one of `_REFUSED` where Hydra rejects the override.
    """
    key, value, add = override.key, override.value, bool(override.prefix)
    now = _now(config, key) if add else None
    above, _, name = key.rpartition(".")
    if override.prefix == "~":
        if now is None or value not in (None, now):
            raise LookupError(key)
        del found(config, above)[name]
        return
    if "@" in key or (override.prefix == "+" and now is not None and _is_plain(value)):
        raise LookupError(key)
    node: Any = config
    for part in above.split(".") if above else ():
        if _is_plain(_child(node, part)):
            _set(node, part, {}, add=add)
        node = _child(node, part)
    _merge(node, name, deepcopy(value), add=add)


def _now(config: dict[str, Any], key: str) -> Any:
    """The value at a key, `None` for nothing; raises what `found` raises of a reference."""
    try:
        value = resolved(config, key)
    except KeyError as error:
        if error.args != (key,):
            raise
        return None
    return None if value == MISSING else value


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _child(node: Any, name: str) -> Any:
    return node[int(name)] if isinstance(node, list) else node.get(name)


def _merge(node: Any, name: str, value: Any, *, add: bool) -> None:
    """Set an item of a section or a list; other keys of a section stay."""
    child = _child(node, name)
    if {type(child), type(value)} == {dict, list}:
        raise TypeError(name)
    if isinstance(child, dict) and isinstance(value, dict):
        for inner, item in value.items():
            _merge(child, inner, item, add=add)
    else:
        _set(node, name, value, add=add)


def _set(node: Any, name: str, value: Any, *, add: bool) -> None:
    if isinstance(node, list):
        node[int(name)] = value
    elif add or name in node:
        node[name] = value
    else:
        raise LookupError(name)


def _has_room(override: Override, config: dict[str, Any]) -> bool:
    """Whether what is above the key of a plain override is a section or a list.

    Where it is not, Hydra would reject the override after it has made room for it.
    """
    above = override.key.rpartition(".")[0]
    return bool(override.prefix) or not above or not _is_plain(_select(config, above))


def _select(config: dict[str, Any], key: str) -> Any:
    """What is at `key`; `None` for nothing and for what cannot be resolved."""
    try:
        node = found(config, key)
    except (KeyError, UnclearError, RecursionError):
        return None
    return None if node == MISSING else node


def _reason(kind: Kind, base: Composition) -> str:
    if kind == "existing-key":
        return "the configuration has this key already: leave out the `+`"
    if kind == "type":
        return "a list and a group of settings do not replace each other"
    return f"{base.framework} {base.version} has no such key"


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
