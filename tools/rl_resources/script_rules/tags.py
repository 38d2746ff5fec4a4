"""Tags.

The script does what its row's tag asks of the settings.

The tags are defined in `schema/tuning.json`; what they ask of all records together is in
`dataset_rules/tags.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from rl_resources.facts.pairs import Pair
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import NEEDED, asked_of_min, costs_time, trained_offloads
from rl_resources.script.backends import switched_off, switched_on
from rl_resources.script.run import Run, is_off
from rl_resources.script.settings import Setting
from rl_resources.script_rules import run_rule
from rl_resources.text import quoted

_NEEDED = re.compile(r"not fit without ([^.]*)")
"""What the notes say that a run needs."""


@run_rule("warning")
def min_saves_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The script of a MIN row has every memory optimization on that applies.

    A reader takes MIN for the least that will do; without them less would do.

    Bad: a MIN row with `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: a MIN row with `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`

    Which ones count is said in `script/algorithm.py`.
    """
    if pair.text("tag").upper() != "MIN":
        return
    family = pair.model_facts.get("family", "")
    asked = asked_of_min(run, family)
    off = {}
    for setting in asked.values():
        if is_off(setting):
            off[setting.key] = setting
    if run.misses_recomputation:  # it was meant to be on
        off.pop(run.gradient_checkpointing.key, None)
    if not off:
        return
    right: list[str] = []
    for key in off:
        right += switched_on(key)
    fix = f"Set {quoted(right)}"
    yield _against_tag(pair, off.values(), "does not turn on", fix)


@run_rule("warning")
def recommended_costs_time(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The script of a RECOMMENDED row has nothing on that costs time, or the notes say why.

    A reader takes RECOMMENDED for fast, and these save memory at the cost of time.

    Bad: a RECOMMENDED row with `actor_rollout_ref.rollout.enforce_eager=True`
    Good: `It does not fit without activation checkpointing, by the estimate.` in the notes of one
        with `actor_rollout_ref.model.enable_gradient_checkpointing=True`

    A page that is kept by hand has no notes: there only offload of what trains is reported.
    """
    if pair.text("tag").upper() != "RECOMMENDED":
        return
    found = trained_offloads(run)
    if pair.script.ours:
        found = costs_time(run)
    needs = _NEEDED.findall(pair.text("notes"))
    needed = "; ".join(needs)
    on: list[Setting] = []
    off: list[str] = []
    notes: list[str] = []
    for name, setting in found.items():
        if name in needed:
            continue
        on.append(setting)
        off.append(switched_off(setting.key))
        notes.append(NEEDED.format(name=name))
    if not on:
        return
    fix = f"Set {quoted(off)}, write {quoted(notes)} into the notes if that is so"
    yield _against_tag(pair, on, "sets", fix)


def _against_tag(pair: Pair, wrong: Collection[Setting], verb: str, fix: str) -> Mistake:
    """The settings that the tag forbids, at the first that the script sets."""
    place = pair.place("tag")
    placed = [setting for setting in wrong if setting.place]
    if placed:
        place = pair.place_of(placed[0])
    keys = quoted(setting.key for setting in wrong)
    message = f"{pair.cell('tag')}, but the script {verb} {keys}"
    return Mistake(*place, message, f"{fix}, or empty the tag.")
