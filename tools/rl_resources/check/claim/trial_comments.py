"""Batch sizes that a script's comments say were tried: `# batch 100 ok, 101 OOM`, or with signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rl_resources.check.target import Trial
from rl_resources.script.bash import Script

_RAN = r"√|✓|✔|✅|(?:ok|okay|pass|passed|passes|ran|runs|fits|works)\b"
_FAILED = r"[✗✘❌]|(?:oom|fail|failed|fails)\b"
# A cross after a blank is a product (8 times H800) unless the list ends or goes on after it, and so
# is one before a letter or digit (`2x8`).
_TRIAL = re.compile(
    rf"(?<![\w.])(?P<batch>\d{{1,6}})"
    rf"(?:[ \t]*+[:=(-]?>?[ \t]*+(?:(?P<ran>{_RAN})|(?P<failed>{_FAILED}))"
    r"|(?P<cross>[\u00d7xX](?!\w)"
    r"|[ \t]++[\u00d7xX](?=[ \t]*+(?:$|[,;)]|\d++[ \t]*+[√✓✔\u00d7✗]))))",
    re.IGNORECASE,
)
_ABOUT_ELSE = re.compile(
    r"micro|mini|val_|valid|\btp\b|\bpp\b|\bsp\b|tensor|parallel|len|seq|token|util|rank|rollout"
    r"|response|prompt_|(?<!per[ _-])gpus?\b|node|epoch|steps|version|vllm",
    re.IGNORECASE,
)


def trials_in_comments(script: Script) -> tuple[Trial, ...]:
    """The trials of batch sizes, where they agree that smaller ones ran and larger ones did not.

    Empty unless both outcomes are told: a single sign beside a number may mean anything.
    """
    trials = tuple(_trials(script))
    ran = [trial.batch for trial in trials if trial.ran]
    failed = [trial.batch for trial in trials if not trial.ran]
    return trials if ran and failed and max(ran) < min(failed) else ()


def _trials(script: Script) -> Iterator[Trial]:
    for text in _comments(script):
        for match in _TRIAL.finditer(text):
            yield Trial(int(match["batch"]), match["ran"] is not None)


def _comments(script: Script) -> Iterable[str]:
    """The comments that may speak of the batch: neither they nor their line name anything else."""
    for comment in script.comments:
        line = script.lines[comment.place.line - 1]
        if not _ABOUT_ELSE.search(line):
            yield comment.text
