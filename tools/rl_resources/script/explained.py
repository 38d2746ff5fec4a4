"""The settings of a run that decide its memory and its time, each with the reason.

`explained.toml` has their titles and reasons.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from rl_resources.script.backends import ROLLOUT
from rl_resources.script.run import Run
from rl_resources.script.settings import Setting

_LOG_PROBS_DYNAMIC = f"{ROLLOUT}.log_prob_use_dynamic_bsz"
Standing = Literal["script", "default", "absent", "unknown"]

_APPLIES: Mapping[str, Callable[[Run], bool]] = {
    "": lambda run: True,
    "megatron": lambda run: run.trains_with_megatron is True,
    "not megatron": lambda run: run.knows_backend and not run.trains_with_megatron,
    "reference": lambda run: run.uses_reference is not False,
    "lora": lambda run: run.lora_rank.number != 0,
    "dynamic": lambda run: run.dynamic_batch.flag is True,
    "counted": lambda run: run.dynamic_batch.flag is not True,
    "log-probs counted": lambda run: run.setting(_LOG_PROBS_DYNAMIC).flag is not True,
}
"""Whether a setting bears on a run, by the word `when` of the table."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting of a run, and why it matters.

    `standing` says where the value comes from: the script, the framework's default, nowhere since
    neither names the key (`absent`), or it is not known without running the script (`unknown`).
    """

    group: str
    title: str
    setting: Setting
    standing: Standing
    why: str


def explained(run: Run) -> list[Explained]:
    """The settings that bear on this run, in the order of the table."""
    return [
        Explained(group, row["title"], setting, _standing(run, setting), row["why"])
        for group, rows in _table().items()
        for row in rows
        if _APPLIES[row.get("when", "")](run)
        and (setting := _setting(run, row["setting"])).key
        and (setting.place or "default" not in row)
    ]


@cache
def _table() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _setting(run: Run, name: str) -> Setting:
    found = run.setting(name) if "." in name else getattr(run, name)
    assert isinstance(found, Setting)  # noqa: S101
    return found


def _standing(run: Run, setting: Setting) -> Standing:
    if setting.known:
        return "script" if setting.place else "default"
    return "absent" if setting.place is None and run.knows_defaults else "unknown"
