"""One script as text and what follows from it: launches, their configuration, the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from rl_resources.rule import Mistake
from rl_resources.script.bash import read
from rl_resources.script.bash.script import Part, Place, Script
from rl_resources.script.framework.composition import Composition, compose_launch
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.header import HeaderLine, header_lines
from rl_resources.script.launch import TRAINER, Launch, Lost, Override, launches, lost
from rl_resources.script.run import Run
from rl_resources.text import shown

FRAMEWORK = "verl"
_NO_TRAINER = ("main_generation", "print_cfg", "merge", "main_eval", "sft_trainer")


@dataclass(frozen=True, eq=False)
class ScriptText:
    """One script as text, and what follows from it; each is found out when it is first asked for.

    `ours` are scripts of the dataset, which readers are asked to run.
    """

    path: str
    text: str
    ours: bool = True

    @cached_property
    def script(self) -> Script:
        """The script, evaluated without running it; with ends of lines as bash needs them."""
        return read(self.text.replace("\\\r\n", " \\\n").replace("\r\n", " \n"))

    @cached_property
    def header(self) -> tuple[HeaderLine, ...]:
        """The labeled lines of the comment at its top."""
        return header_lines(self.text)

    def labeled(self, label: str) -> list[HeaderLine]:
        """The lines of the header with a label."""
        return [line for line in self.header if line.label == label]

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """What it starts."""
        return launches(self.script)

    @cached_property
    def of_framework(self) -> tuple[Launch, ...]:
        """What it starts of the framework, and not of somebody else."""
        return tuple(it for it in self.launches if it.module.partition(".")[0] == FRAMEWORK)

    @cached_property
    def lost(self) -> tuple[Lost, ...]:
        """Commands that were meant to be arguments of the one before."""
        return lost(self.script)

    @cached_property
    def composed(self) -> tuple[tuple[Launch, Composition], ...]:
        """Every launch with the configuration that follows from it."""
        known = shipped(FRAMEWORK)
        return tuple((launch, compose_launch(known, launch)) for launch in self.launches)

    @cached_property
    def trainings(self) -> tuple[Launch, ...]:
        """What it starts that trains; other programs with overrides only where none is known."""
        some = [launch for launch in self.launches if trains(launch)]
        return tuple([item for item in some if TRAINER.fullmatch(item.module)] or some)

    @cached_property
    def run(self) -> Run | None:
        """Its first training, or else its first launch; `None` where it starts nothing known."""
        first = next(iter(self.trainings or self.launches), None)
        return next((Run(*both) for both in self.composed if both[0] is first), None)

    @cached_property
    def training(self) -> Run | None:
        """What it does; `None` where it starts no training, or several that differ."""
        run = self.run
        if run is None or len({settings_of(launch) for launch in self.trainings}) != 1:
            return None
        unsure = run.launch.stray or self.lost or self.script.problems
        return replace(run, trusts_defaults=False) if unsure else run

    def or_exempt(self, rule: str) -> str:
        """The way out for a script that ran as it is; a page that is kept by hand has none."""
        row = f"{shown(self.path.rpartition('/')[2], 120)},{rule},REASON"
        way = f"; if it ran as it is, say why with a row `{row}` in records/exemptions.csv"
        return way if self.ours else ""

    def mistake(self, place: Place, message: str, fix: str) -> Mistake:
        """A mistake at a place of the script."""
        return Mistake(self.path, place.line, place.column, message, fix)

    def place_in(self, part: Part, at: int) -> Place:
        """Where character `at` of a part of a value is written; its beginning, if not as it is."""
        origin = part.origin
        before = (part.text or "")[: at + 1]
        if "\n" in before or not self.text.startswith(before, origin.offset):
            return origin
        return origin._replace(offset=origin.offset + at, column=origin.column + at)


def trains(launch: Launch) -> bool:
    """Whether a launch trains, and does not only generate, convert or evaluate."""
    validates = any(
        item.key == "trainer.val_only" and (item.value or "").lower() == "true"
        for item in launch.overrides
    )
    return not (validates or any(word in launch.module for word in _NO_TRAINER))


def value_of(override: Override) -> str:
    """The value of an override, with what is not known of it as it is written."""
    return override.content.shown if override.content else ""


def settings_of(launch: Launch) -> tuple[object, ...]:
    """All that a launch asks for, to be compared with another."""
    overrides = ((item.prefix, item.key, item.value) for item in launch.overrides)
    return (launch.module, launch.text_of("config-name"), *overrides)


@lru_cache(maxsize=1024)
def script_text(path: str, text: str) -> ScriptText:
    """A script of the dataset, parsed and composed once for rules, pages and the next preview."""
    return ScriptText(path, text)
