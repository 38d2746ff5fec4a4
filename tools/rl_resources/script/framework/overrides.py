"""Composing a launch with Hydra's syntax and its way of applying overrides.

Hydra stops at the first override that it rejects. Here each override runs by itself, so that every
rejected one is reported.
"""

from __future__ import annotations

import pickle
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from rl_resources.script.framework.composition import (
    STAND_IN,
    UNKNOWN,
    Composition,
    Kind,
    Override,
    Overrides,
    Rejection,
)
from rl_resources.script.framework.source import CannotComposeError, Entry, Source

if TYPE_CHECKING:
    from hydra.core.override_parser.overrides_parser import OverridesParser

OmegaConf.register_new_resolver("oc.env", lambda *_: STAND_IN, replace=True)

_REFUSED = (OmegaConfBaseException, RecursionError, ValueError, LookupError, TypeError)
"""What OmegaConf raises on an override that it rejects."""

_WORD = r"(?!(?:true|false|null|nan|inf)\b)[a-z_/][\w./-]*"
_ITEM = rf"(?:{_WORD}|'{_WORD}'|\"{_WORD}\")"
_PLAIN = re.compile(
    r"(?P<prefix>\+{0,2})(?P<key>[a-z_]\w*(?:\.[a-z_]\w*)*)="
    r"(?:(?P<int>-?(?:0|[1-9]\d*))|(?P<float>-?(?:0|[1-9]\d*)(?:\.\d+|(?:\.\d+)?e-?\d+))"
    rf"|(?P<constant>true|false|null)|(?P<word>{_WORD})|(?P<list>\[{_ITEM}(?:, ?{_ITEM})*\]))",
    re.ASCII | re.IGNORECASE,
)
_CONSTANTS = {"true": True, "false": False, "null": None}


def plain_override(text: str) -> Override | None:
    """As `parse` for a number, a truth value, a word and words in brackets; else `None`."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    value: Any = match["word"]
    if match["int"]:
        value = int(match["int"])
    elif match["float"]:
        value = float(match["float"])
    elif match["constant"]:
        value = _CONSTANTS[match["constant"].lower()]
    elif match["list"]:
        value = re.findall(r"[\w./-]+", match["list"])
    return Override(match["prefix"], match["key"], value)


@cache
def _grammar() -> OverridesParser:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


@lru_cache(maxsize=20_000)
def parse(text: str) -> Override:
    """One override as Hydra reads it; raises `ValueError` where it does not, or as a sweep."""
    if plain := plain_override(text):
        return plain
    from hydra.errors import HydraException

    try:
        parsed = _grammar().parse_override(text)
    except (HydraException, RecursionError) as error:
        line = str(error).partition("\n")[0]
        raise ValueError(f"is not Hydra's syntax: {line}") from None
    prefix = {"DEL": "~", "ADD": "+", "FORCE_ADD": "++"}.get(parsed.type.name, "")
    key = parsed.key_or_group + (f"@{parsed.package}" if parsed.package else "")
    sweep = parsed.is_sweep_override()
    return Override(prefix, key, None if sweep else parsed.value(), sweep)


@lru_cache(maxsize=32)
def composed(
    source: Source, entry: Entry, overrides: tuple[tuple[str, str | None], ...]
) -> Composition:
    """The configuration of one launch; raises what `Source.start` raises.

    A preview composes the same launches again and again.
    """
    return _Launch(source, entry, overrides).composition()


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
    override: Override, config: DictConfig, base: Composition, *, unknown: bool
) -> Kind | None:
    """Apply one override as Hydra does; the kind of its rejection where it does not.

    `config` is `base` with the overrides before.
    """
    key, value, exists = override.key, override.value, False
    if unknown or override.prefix == "+" or isinstance(value, dict | list):
        node = _select(config, key)
        exists = override.prefix == "+" and node is not None
        if unknown and OmegaConf.is_dict(node):  # what it makes of a section is not known
            return "existing-key" if exists else None
        if {type(node), type(value)} in ({DictConfig, list}, {ListConfig, dict}):
            return "type"
    if base.has(key) or _has_room(override, config):
        with suppress(*_REFUSED):
            _change(override, config)
            return None
    return "existing-key" if exists else "unknown-key"


def _change(override: Override, config: DictConfig) -> None:
    """Change a configuration as Hydra does (`ConfigLoaderImpl._apply_overrides_to_config`).

    Raises one of `_REFUSED` where Hydra rejects the override.
    """
    key, value = override.key, override.value
    if "@" in key:
        raise LookupError(key)
    now = OmegaConf.select(config, key, throw_on_missing=False) if override.prefix else None
    if override.prefix == "~":
        if now is None or value not in (None, now):
            raise LookupError(key)
        above, _, name = key.rpartition(".")
        with open_dict(config):
            del (OmegaConf.select(config, above) if above else config)[name]
        return
    if override.prefix == "+" and now is not None and not isinstance(value, dict | list):
        raise LookupError(key)
    OmegaConf.update(config, key, value, merge=True, force_add=bool(override.prefix))


def _has_room(override: Override, config: DictConfig) -> bool:
    """Whether what is above the key of a plain override is a section or a list.

    Where it is not, Hydra would reject the override after it has made room for it.
    """
    above = override.key.rpartition(".")[0]
    return bool(override.prefix) or not above or OmegaConf.is_config(_select(config, above))


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
