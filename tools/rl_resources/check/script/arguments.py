"""Rules about the arguments of the training program and the framework's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from math import inf

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.composing import (
    Rejected,
    first_release,
    is_frameworks,
    last_release,
    once,
    place_of,
    rejections,
)
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Place
from rl_resources.script.framework import Composition, Rejection, shipped
from rl_resources.script.launch import Launch
from rl_resources.script.override import Override, Stray
from rl_resources.words import shown


@rule()
def stray_argument(subject: ScriptText) -> Iterator[Mistake]:
    """Every argument of the training program is an override `key=value`.

    Hydra stops at a word that is none; it is left over by a lost quote or a space.

    Bad: `python3 -m verl.trainer.main_ppo trainer.total_epochs= 1`
    Good: `python3 -m verl.trainer.main_ppo trainer.total_epochs=1`
    """
    yield from once(
        _stray_mistake(subject, launch, stray)
        for launch in subject.launches
        if is_frameworks(subject, launch)
        for stray in launch.stray
        if not _is_before_lost(subject, stray)
    )
    yield from _handed_to_tee(subject)


def _handed_to_tee(subject: ScriptText) -> Iterator[Mistake]:
    """The first override behind a pipe into `tee`, which takes each for a file to write."""
    pipes = {launch.command.pipeline[1] for launch in subject.launches}
    for command in subject.script.commands:
        index, length = command.pipeline
        if command.name == "tee" and index and length in pipes:
            words = (word for word in command.words if _OVERRIDE.match(word.raw))
            for word in islice(words, 1):
                message = f"`{shown(word.raw)}` goes to `tee`, and not to the training program"
                fix = "Write it before the `|`, and all that follows it too."
                yield subject.mistake(word.place, message, fix)


_OVERRIDE = re.compile(r"[+~]{0,2}[a-z_]\w*(?:\.\w+)+=")


def _is_before_lost(subject: ScriptText, stray: Stray) -> bool:
    """Whether it is the escaped space that cut off a lost line, or a comment behind it."""
    line = subject.script.lines[stray.place.line - 1][: stray.place.column]
    escaped = stray.raw.startswith("\\") or re.search(r"\\\s+#", line) is not None
    return escaped and any(item.cause_line == stray.place.line for item in subject.lost)


def _stray_mistake(subject: ScriptText, launch: Launch, stray: Stray) -> Mistake:
    text = stray.value.text or ""
    if stray.raw.startswith("\\") and not text.strip():
        message = "a space after the backslash makes an argument of its own"
        return subject.mistake(stray.place, message, "Delete what follows the backslash.")
    message = f"`{shown(stray.raw)}` is no override"
    before = [
        item
        for item in launch.overrides
        if item.place.line == stray.place.line and item.place.offset < stray.place.offset
    ]
    if before and before[-1].value == "":
        fix = f"Remove the space after `{before[-1].key}=`."
    elif text.startswith("-"):
        fix = "Remove it: the program knows no such option."
    else:
        fix = "Write it as `key=value`, in quotes where the value holds spaces."
    return subject.mistake(stray.place, message, fix)


@rule()
def contradicting_override(subject: ScriptText) -> Iterator[Mistake]:
    """No key is set to two values in one command.

    The later one wins and nothing says so; a reader sees the first.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`
    """
    yield from once(
        subject.mistake(
            later.place,
            f"`{later.key}` is `{_value(first)}` in line {first.line} and `{_value(later)}` here, "
            "which wins",
            f"Delete one of the two; today the run uses `{_value(later)}`.",
        )
        for first, later in _repeated(subject)
        if _value(first) != _value(later)
    )


@rule("warning")
def repeated_override(subject: ScriptText) -> Iterator[Mistake]:
    """No key is set twice in one command.

    Whoever changes one of the two changes nothing, or makes them contradict.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=2 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`
    """
    yield from once(
        subject.mistake(
            later.place,
            f"`{later.key}` is set in line {first.line} already, to the same value",
            "Delete one of the two.",
        )
        for first, later in _repeated(subject)
        if _value(first) == _value(later)
    )


def _value(override: Override) -> str:
    return shown(override.content.shown) if override.content else ""


def _repeated(subject: ScriptText) -> Iterator[tuple[Override, Override]]:
    """Overrides of one key that are written in one list: in the command, or in one array."""
    for launch in subject.launches:
        seen: dict[str, Override] = {}
        for override in launch.overrides:
            first = seen.get(override.key)
            seen[override.key] = override
            group = "@" in override.key or "/" in override.key or "~" in override.prefix
            if first is None or group or first.place == override.place:
                continue
            if _list_of(subject, launch, first) == _list_of(subject, launch, override):
                yield first, override


def _list_of(subject: ScriptText, launch: Launch, override: Override) -> Place:
    """Where the list begins that an override is written in.

    One that stands in the command after an array replaces on purpose what the array holds.
    """
    at = override.place.offset
    for item in subject.script.assignments:
        if item.place.offset <= at < item.place.offset + len(item.raw):
            return item.place
    return launch.command.place


@rule()
def unknown_key(subject: ScriptText) -> Iterator[Mistake]:
    """Every key exists in the framework's configuration.

    Hydra stops at a key that does not exist, before anything runs.

    Bad: `python3 -m verl.trainer.main_ppo trainer.n_gpu_per_node=8`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`

    What no release ever accepted; `outdated_key` reports what older ones did.

    Keys that another choice of backend has are one mistake: the choice is missing.
    """
    yield from once(_unknown(subject))


def _unknown(subject: ScriptText) -> Iterator[Mistake]:
    chosen: set[str] = set()
    for launch, composition, rejection in rejections(subject):
        if rejection.kind not in _UNKNOWN or _is_of_another_release(
            subject, (launch, composition, rejection)
        ):
            continue
        choice = _other_choice(subject, rejection)
        if choice in chosen:
            continue
        chosen |= {choice} - {""}
        message = f"`{shown(rejection.key, 120)}`: {_reason(rejection)}"
        fix = choice or _key_fix(rejection, composition)
        yield subject.mistake(place_of(launch, rejection), message, fix)


_UNKNOWN = ("unknown-key", "existing-key", "group", "reference", "no-module")


def _is_of_another_release(subject: ScriptText, rejected: Rejected) -> bool:
    past = last_release(subject, rejected), first_release(subject, rejected[-1])
    return past != (None, None)


def _other_choice(subject: ScriptText, rejection: Rejection) -> str:
    """The fix where another choice of backend has the key; empty where none has."""
    known = shipped(subject.framework)
    choice = known.choice_with(rejection.key) if rejection.kind == "unknown-key" else None
    if choice is None or choice == next(iter(known.choices)):
        return ""
    return f"Add `{known.group}={choice}`: this key and others like it belong to that engine."


def _reason(rejection: Rejection) -> str:
    return rejection.reason.partition("; the nearest is")[0]


def _key_fix(rejection: Rejection, composition: Composition) -> str:
    key = rejection.key
    if rejection.kind == "existing-key":
        return f"Write `{key}` without `+`."
    if rejection.kind in ("group", "reference", "no-module"):
        return f"Write one that {composition.framework} {composition.version} has."
    close = get_close_matches(key, [*composition.values, *composition.nodes], 1, 0.85)
    if close:
        return f"Did you mean `{close[0]}`?"
    return f"Remove it, or write `+{key}` if other code reads it."


@rule()
def value_type(subject: ScriptText) -> Iterator[Mistake]:
    """Every value has the type that the framework's configuration has for its key.

    Hydra takes `train_batch_size=abc`; the run fails later, far from the mistake.

    Bad: `python3 -m verl.trainer.main_ppo data.train_batch_size=1k`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=1024`
    """
    for launch, _, rejection in rejections(subject):
        if rejection.kind in ("type", "syntax", "sweep") and rejection.index >= 0:
            override = launch.overrides[rejection.index]
            if override.value == "" and _is_followed_by_stray(launch, override):
                continue
            message = f"`{shown(override.key, 120)}`: {shown(rejection.reason, 200)}"
            fix = f"Fix the value `{_value(override)}`."
            yield subject.mistake(override.origin, message, fix)


def _is_followed_by_stray(launch: Launch, override: Override) -> bool:
    return any(
        item.place.line == override.place.line and item.place.offset > override.place.offset
        for item in launch.stray
    )


_ROLLOUT = "actor_rollout_ref.rollout"


_BOUNDS: Mapping[str, tuple[float, float]] = {
    f"{_ROLLOUT}.gpu_memory_utilization": (0.01, 1),
    f"{_ROLLOUT}.top_p": (0.0001, 1),
    f"{_ROLLOUT}.n": (1, inf),
    f"{_ROLLOUT}.tensor_model_parallel_size": (1, inf),
    "trainer.nnodes": (1, inf),
    "trainer.n_gpus_per_node": (1, inf),
}
"""The least and the largest value that framework and engine accept."""


@rule()
def value_range(subject: ScriptText) -> Iterator[Mistake]:
    """A number is one that the framework accepts.

    The run stops at a share above 1 or a size of 0.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=60`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.rollout.gpu_memory_utilization=0.6`
    """
    yield from once(
        subject.mistake(
            override.origin,
            f"`{override.key}` is `{shown(override.value or '')}`, which is no number "
            f"{_range(*bounds)}",
            "Fix the number.",
        )
        for launch in subject.launches
        if is_frameworks(subject, launch)
        for override in launch.overrides
        if (bounds := _BOUNDS.get(override.key)) is not None
        and (number := _number(override.value or "")) is not None
        and not bounds[0] <= number <= bounds[1]
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _range(least: float, most: float) -> str:
    if most == inf:
        return f"of {least:g} or more"
    return f"between 0 and {most:g}"
