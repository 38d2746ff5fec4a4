"""What a script starts under the framework's configuration: what several rules share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rl_resources.check.rule import Mistake
from rl_resources.check.script.variables import is_undollared
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Place
from rl_resources.script.framework import UNKNOWN, Composition, Rejection
from rl_resources.script.framework.history import History, history
from rl_resources.script.launch import Launch

Rejected = tuple[Launch, Composition, Rejection]


def is_frameworks(subject: ScriptText, launch: Launch) -> bool:
    """Whether a launch starts a module of the framework, and not somebody's own."""
    return launch.module.partition(".")[0] == subject.framework


def rejections(subject: ScriptText) -> Iterator[Rejected]:
    """What is rejected; not what a lost `$` explains, nor programs of somebody else."""
    for launch, composition in subject.composed:
        known = not composition.problem and is_frameworks(subject, launch)
        for rejection in composition.rejected if known else ():
            if rejection.index >= 0:
                override = launch.overrides[rejection.index]
                if rejection.kind != "unknown-key" and is_undollared(subject, override):
                    continue
            yield launch, composition, rejection


def place_of(launch: Launch, rejection: Rejection) -> Place:
    """Where a rejected argument is written."""
    if rejection.index < 0:
        return launch.command.place
    return launch.overrides[rejection.index].place


def value_of(composition: Composition, key: str) -> Any:
    """The value of a key, `UNKNOWN` also where there is no such key."""
    try:
        return composition.value(key)
    except KeyError:
        return UNKNOWN


def last_release(subject: ScriptText, rejected: Rejected) -> str | None:
    """The last release that had what the newest one has not; `None` where none had it."""
    launch, _, rejection = rejected
    past = history(subject.framework)
    if rejection.kind == "no-module":
        return past.modules.get(rejection.key)
    if rejection.kind != "unknown-key":
        return None
    return past.last_with(_configuration(launch, past), rejection.key)


def first_release(subject: ScriptText, rejection: Rejection) -> str | None:
    """The first release in which a `+` is wrong; `None` where it was so from the beginning."""
    if rejection.kind != "existing-key":
        return None
    return history(subject.framework).since.get(rejection.key)


def _configuration(launch: Launch, past: History) -> str:
    """The configuration that a launch names; that of the choice of a backend has its name."""
    words = [launch.config_name, *(item.value for item in launch.overrides if _chooses(item.key))]
    for name in past.gone:
        if any(word and word.removesuffix(".yaml") in name for word in words):
            return name
    return next(iter(past.gone))


def _chooses(key: str) -> bool:
    return key == "model_engine"


def once(mistakes: Iterator[Mistake]) -> Iterator[Mistake]:
    """Each place once, also where several launches share it."""
    seen: set[tuple[int, int]] = set()
    for found in mistakes:
        if (found.line, found.column) not in seen:
            seen.add((found.line, found.column))
            yield found
