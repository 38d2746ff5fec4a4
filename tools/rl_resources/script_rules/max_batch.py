"""Whether a row's max_batch is what its script and its trials show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from math import inf

from rl_resources.facts.pairs import Pair, Trial
from rl_resources.rule import Mistake
from rl_resources.script.bash.script import Script
from rl_resources.script.run import Run
from rl_resources.script_rules import run_rule

# A cross after a space is a product, as in `8 × H800`.
_TRIAL = re.compile(r"(?<![\w.])(?P<batch>\d{1,6})(?:\u00d7| ?(?:(?P<ran>[√✓✔✅])|[✗✘❌]))(?!\w)")
_ABOUT_ELSE = re.compile(
    r"micro|mini|val_|valid|\btp\b|\bpp\b|\bsp\b|tensor|parallel|len|seq|token|util|rank|rollout"
    r"|response|prompt_|(?<!per[ _-])gpus?\b|node|epoch|steps|version|vllm",
    re.IGNORECASE,
)


@run_rule()
def max_batch_agrees(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A row's max_batch is the largest batch that ran, in its trials and in its script.

    A larger one ran out of memory; a smaller one is not the limit.

    Bad: `16` as `max_batch` with the comment `# 64√ 128× 100√ 101×`
    Good: `100` as `max_batch` with the comment `# 64√ 128× 100√ 101×`
    """
    most = _searched(pair)
    if most is None:
        return
    reason = _contradiction(pair, run, most)
    if reason:
        yield pair.mistake(
            "max_batch",
            f", but {reason}",
            "Fix the number or the trials, or mark the row as disputed and say why.",
        )
        return
    batch = run.train_batch_size
    if batch.number is None:
        return
    if batch.number > most:
        yield from pair.differs("max_batch", batch, str(batch.number))


@run_rule("warning")
def max_batch_shown(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A script runs the row's max_batch, or a trial shows that it ran.

    Nobody can see that a batch fits which the script does not run.

    Bad: `128` as `max_batch` with `data.train_batch_size=64`, without a trial of 128
    Good: `64` as `max_batch` with `data.train_batch_size=64`
    """
    most = _searched(pair)
    if most is None:
        return
    if _contradiction(pair, run, most):
        return
    batch = run.train_batch_size
    if batch.number is None:
        return
    if batch.number >= most:
        return
    trial = Trial(most, ran=True)
    for reading in _readings(pair, run):
        if trial in reading:
            return
    yield pair.mistake(
        "max_batch",
        f", but {pair.said_by_script(batch)}",
        f"Let it run `{most}`, or show that a trial of it ran; else write `{batch.number}`.",
    )


def _searched(pair: Pair) -> int | None:
    """The row's max_batch, unless the row itself says that published facts contradict it."""
    if pair.text("status") == "disputed":
        return None
    return pair.number("max_batch")


def _readings(pair: Pair, run: Run) -> Collection[tuple[Trial, ...]]:
    """The trials as batches of all GPUs, in each way that they can be meant.

    Records give the whole batch; a comment may give it for each GPU.
    """
    if pair.trials:
        return [pair.trials]
    trials = trials_in_comments(pair.script.script)
    gpus = run.gpus.number or pair.number("gpus") or 1
    scaled: list[Trial] = []
    for trial in trials:
        batch = trial.batch * gpus
        scaled.append(Trial(batch, trial.ran))
    return dict.fromkeys((trials, tuple(scaled)))


def _contradiction(pair: Pair, run: Run, most: int) -> str:
    """Why the trials forbid the row's max_batch, however they are read; empty where they do not."""
    reasons = [_forbids(reading, most) for reading in _readings(pair, run)]
    if not all(reasons):
        return ""
    return "; counted for each GPU, ".join(reasons)


def _forbids(trials: Collection[Trial], batch: int) -> str:
    """Why one reading of the trials forbids a max_batch; empty if it does not."""
    ran = _batches(trials, ran=True)
    failed = _batches(trials, ran=False)
    smallest_failed = min(failed, default=inf)
    largest_ran = max(ran, default=-inf)
    if largest_ran < smallest_failed <= batch:
        return f"a trial of {smallest_failed} failed"
    if batch < largest_ran:
        return f"a trial of {largest_ran} ran"
    return ""


def _batches(trials: Iterable[Trial], *, ran: bool) -> list[int]:
    return [trial.batch for trial in trials if trial.ran == ran]


def trials_in_comments(script: Script) -> tuple[Trial, ...]:
    """The trials of batch sizes, where they agree that smaller ones ran and larger ones did not.

    Only comments in lines that name nothing but the batch are read. Empty unless both outcomes are
    reported: a single mark next to a number may mean anything.
    """
    trials: list[Trial] = []
    for line in script.lines:
        if not _ABOUT_ELSE.search(line):
            _, _, comment = line.partition("#")
            trials.extend(_trials_in(comment))
    ran = _batches(trials, ran=True)
    failed = _batches(trials, ran=False)
    if not ran or not failed:
        return ()
    if max(ran) >= min(failed):
        return ()
    return tuple(trials)


def _trials_in(comment: str) -> Iterator[Trial]:
    for match in _TRIAL.finditer(comment):
        batch = int(match["batch"])
        ran = match["ran"] is not None
        yield Trial(batch, ran)
