"""Whether a row's max_batch is what its script and its trials show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

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
    batch, most = run.train_batch_size, _searched(pair)
    if most is None:
        return
    if reason := _contradiction(pair, run, most):
        fix = "Fix the number or the trials, or mark the row as disputed and say why."
        yield pair.mistake("max_batch", f", but {reason}", fix)
    elif batch.number is not None and batch.number > most:
        yield from pair.differs("max_batch", batch, str(batch.number))


@run_rule("warning")
def max_batch_shown(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A script runs the row's max_batch, or a trial shows that it ran.

    Nobody can see that a batch fits which the script does not run.

    Bad: `128` as `max_batch` with `data.train_batch_size=64`, without a trial of 128
    Good: `64` as `max_batch` with `data.train_batch_size=64`
    """
    batch, most = run.train_batch_size, _searched(pair)
    if most is None or _contradiction(pair, run, most):
        return
    shown_to_run = any(Trial(most, ran=True) in reading for reading in _readings(pair, run))
    if batch.number is None or batch.number >= most or shown_to_run:
        return
    fix = f"Let it run `{most}`, or show that a trial of it ran; else write `{batch.number}`."
    yield pair.mistake("max_batch", f", but {pair.said_by_script(batch)}", fix)


def _searched(pair: Pair) -> int | None:
    """The row's max_batch, unless the row itself says that published facts contradict it."""
    return None if pair.text("status") == "disputed" else pair.number("max_batch")


def _readings(pair: Pair, run: Run) -> Collection[tuple[Trial, ...]]:
    """The trials as batches of all GPUs, in each way that they can be meant.

    Records give the whole batch; a comment may give it for each GPU.
    """
    if pair.trials:
        return [pair.trials]
    trials = trials_in_comments(pair.script.script)
    gpus = run.gpus.number or pair.number("gpus") or 1
    scaled = tuple(Trial(trial.batch * gpus, trial.ran) for trial in trials)
    return dict.fromkeys((trials, scaled))


def _contradiction(pair: Pair, run: Run, most: int) -> str:
    """Why the trials forbid the row's max_batch, however they are read; empty where they do not."""
    reasons = [_forbids(reading, most) for reading in _readings(pair, run)]
    return "; counted for each GPU, ".join(reasons) if all(reasons) else ""


def _forbids(trials: Iterable[Trial], batch: int) -> str:
    ran = max((trial.batch for trial in trials if trial.ran), default=None)
    failed = min((trial.batch for trial in trials if not trial.ran), default=None)
    if failed is not None and batch >= failed and (ran is None or ran < failed):
        return f"a trial of {failed} failed"
    return f"a trial of {ran} ran" if ran is not None and batch < ran else ""


def trials_in_comments(script: Script) -> tuple[Trial, ...]:
    """The trials of batch sizes, where they agree that smaller ones ran and larger ones did not.

    Only comments in lines that name nothing but the batch are read. Empty unless both outcomes are
    reported: a single mark next to a number may mean anything.
    """
    trials = tuple(
        Trial(int(match["batch"]), match["ran"] is not None)
        for line in script.lines
        if not _ABOUT_ELSE.search(line)
        for match in _TRIAL.finditer(line.partition("#")[2])
    )
    ran = [trial.batch for trial in trials if trial.ran]
    failed = [trial.batch for trial in trials if not trial.ran]
    return trials if ran and failed and max(ran) < min(failed) else ()
