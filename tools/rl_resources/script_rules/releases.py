"""Settings of other releases.

Settings are written as the framework's latest release accepts them.

A script of last year is not wrong because a later release renamed a key: with the release of its
time it does what it says. So these are warnings that name the releases. The tables are what verl
itself says of its keys, where, and from which release on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.script import Place
from rl_resources.script.framework.composition import Composition, Rejection, is_since
from rl_resources.script.framework.shipped import history, shipped, support
from rl_resources.script.launch import Launch
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.script_rules.variables import dollars_missing
from rl_resources.text import misspelt, shown


class RejectedArgument(NamedTuple):
    """An argument of a launch that the framework's configuration rejects."""

    target: ScriptText
    launch: Launch
    composition: Composition
    rejection: Rejection

    @property
    def place(self) -> Place:
        """Where it is written."""
        index = self.rejection.index
        if index < 0:
            return self.launch.command.place
        return self.launch.overrides[index].place

    @property
    def is_dated(self) -> bool:
        """Whether the newest release rejects it and others do not: a checkout has one framework."""
        if self.target.tree:
            return False
        return self.rejection.kind == "existing-key" or self.release is not None

    @property
    def release(self) -> str | None:
        """The last release that accepts it, if any does."""
        past = history(FRAMEWORK)
        key = self.rejection.key
        return past.modules.get(key) or past.last_with(key)

    @property
    def is_of_a_fork(self) -> bool:
        """Whether no release has its key."""
        return _is_of_no_release(self.rejection.key)


def _is_of_no_release(key: str) -> bool:
    newest = shipped(FRAMEWORK).engines.values()
    if any(key in engine.values for engine in newest):
        return False
    return history(FRAMEWORK).last_with(key) is None


def rejections(target: ScriptText) -> Iterator[RejectedArgument]:
    """Rejected arguments, except those that a missing `$` explains and those of other programs."""
    for launch, composition in target.composed:
        if composition.problem:  # such as that of another program
            continue
        for rejection in composition.rejected:
            if not _lacks_dollar(target, launch, rejection):
                yield RejectedArgument(target, launch, composition, rejection)


@lru_cache(maxsize=64)
def fork(target: ScriptText) -> Sequence[RejectedArgument]:
    """What a run has that no release has: a module of a fork, or several keys that are no slips.

    One such key is a mistake like others. A checkout has its own keys.
    """
    if target.tree:
        return ()
    own: list[RejectedArgument] = []
    for item in rejections(target):
        kind = item.rejection.kind
        is_slip = misspelt(item.rejection.key, shipped(FRAMEWORK).modules)
        if kind == "no-module" and not item.release and not is_slip:
            return [item]
        if kind == "unknown-key" and item.is_of_a_fork and not meant(item):
            own.append(item)
    if len(own) < _FEWEST:
        return ()
    return own


@lru_cache(maxsize=64)
def is_of_fork(target: ScriptText) -> bool:
    """Whether a run has keys of a fork, in a checkout of the fork, too.

    A checkout that is newer than all releases may have keys of the next one.
    """
    if target.tree is None:
        return bool(fork(target))
    if is_since(target.tree.version, shipped(FRAMEWORK).version):
        return False
    overrides = chain.from_iterable(launch.overrides for launch in target.of_framework)
    keys = {item.key for item in overrides if not item.prefix}
    return len(list(filter(_is_of_no_release, keys))) >= _FEWEST


def fork_name(own: Sequence[RejectedArgument]) -> str:
    """The name of the fork with these keys."""
    names = [support(FRAMEWORK).fork(item.rejection.key) for item in own]
    return next(filter(None, names), "a fork")


_FEWEST = 2
"""Keys of a fork that cannot be one mistake."""


def meant(item: RejectedArgument) -> str:
    """The key that an unknown one was meant to be: its like in the same section, or a key of none.

    The one key of that name further down is meant, too. Empty if there is none: words of another
    section mean something else, and so does a name with one more word, as `val_temperature`.
    """
    section, dot, name = item.rejection.key.rpartition(".")
    known = item.composition.values
    if dot and name in known:
        return name
    prefix = f"{section}{dot}"
    names = [key.removeprefix(prefix) for key in known if key.startswith(prefix)]
    deeper = [key for key in names if key.endswith(f".{name}")]
    if len(deeper) == 1:
        return f"{prefix}{deeper[0]}"
    for near in get_close_matches(name, names, 1, 0.8):
        if f"_{near}_" not in f"_{name}_":
            return f"{prefix}{near}"
    return ""


def _lacks_dollar(target: ScriptText, launch: Launch, rejection: Rejection) -> bool:
    """Whether a value is rejected because a `$` is lost in it."""
    if rejection.kind == "unknown-key" or rejection.index < 0:
        return False
    return any(dollars_missing(target, launch.overrides[rejection.index]))


class Deprecated(NamedTuple):
    """What a release changed about a setting, where it says so, and what to write."""

    since: str
    what: str
    fix: str


def _changes(name: str) -> Mapping[str, Deprecated]:
    return {word: Deprecated(**change) for word, change in _TABLE[name].items()}


_TABLE = table_beside(__file__)
DEPRECATED = _changes("deprecated")
"""By key or option."""
REFUSED = _changes("refused")
"""Values that a release takes no more: its run stops there."""
REMOVED: Mapping[str, str] = _TABLE["removed"]


@rule("warning")
def outdated_key(target: ScriptText) -> Iterator[Mistake]:
    """A script uses the settings of the framework's latest release.

    With the current release of the framework, the script does not start: its settings are from
    older releases.

    Bad: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.grad_offload=True`
    Good: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.param_offload=True`
    """
    if fork(target):
        return
    newest = history(FRAMEWORK).releases[-1]
    exempt = target.or_exempt("outdated-key")
    for item in rejections(target):
        if not item.is_dated:
            continue
        key = item.rejection.key
        last = f"{item.release} is the last release of {FRAMEWORK}"
        message = f"`{shown(key, 120)}`: {last} that accepts it"
        fix = f"Remove it, or write what {FRAMEWORK} {newest} has in its place{exempt}."
        if item.rejection.kind == "existing-key":
            message = f"`+{shown(key, 120)}`: {item.rejection.reason}"
            fix = f"Leave out the `+`{exempt}."
        yield target.mistake(item.place, message, REMOVED.get(key, fix))


@rule("warning", follows=["unknown-key", "outdated-key", "value-type"])
def deprecated_key(target: ScriptText) -> Iterator[Mistake]:
    """No setting is deprecated, and none is rejected after the configuration is composed.

    The next release may reject it; the replacement works today.

    Bad: `python3 -m verl.trainer.main_ppo data.val_batch_size=64`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=64`
    """
    if is_of_fork(target):
        return
    yield from _changed(target, DEPRECATED)
    if not target.tree:
        yield from _changed(target, REFUSED)


def refused_values(target: ScriptText) -> Iterator[Mistake]:
    """The values that the framework of the script's checkout refuses after composing."""
    if target.tree:
        yield from _changed(target, REFUSED)


def _changed(
    target: ScriptText, changed: Mapping[str, Deprecated]
) -> Iterator[Mistake]:
    """The settings of a script that the framework has changed since."""
    version = target.source.version
    for launch in target.of_framework:
        for place, word in _uses(launch):
            found = changed.get(word)
            if found and is_since(version, found.since):
                yield target.mistake(
                    place,
                    f"`{word}` {found.what.format(found.since)}",
                    found.fix,
                )


def _uses(launch: Launch) -> Iterator[tuple[Place, str]]:
    """The keys of a launch, its keys with their values, and its options."""
    for item in launch.overrides:
        if item.prefix != "~" and item.value != "null":
            yield item.place, item.key
            yield item.origin, f"{item.key}={item.value}"
    for name, flag in launch.flags.items():
        value = (flag.text or "").removesuffix(".yaml")
        yield flag.place, f"--{name}={value}"
