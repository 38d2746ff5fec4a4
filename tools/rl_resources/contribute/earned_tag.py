"""The tag that a record earns by its settings, its figures and what the dataset knows."""

from __future__ import annotations

from rl_resources.facts.broken import Record, records
from rl_resources.facts.memory import device_memory
from rl_resources.facts.tags import SPEEDS, faster_record, smaller_run
from rl_resources.script.run import Run, is_on
from rl_resources.script.tags import asked_of_min, costs_time
from rl_resources.snapshot import Snapshot


def earned_tag(run: Run, family: str, record: Record, snapshot: Snapshot) -> str:
    """The tag of a record that ran; empty where none is earned or its settings are not known.

    `family` is its model's, `snapshot` the dataset without it.
    """
    asked = asked_of_min(run, family)
    on = [setting.known and is_on(setting) for setting in asked.values()]
    has_memory = device_memory(snapshot, record) > 0
    if on and all(on) and has_memory and smaller_run(snapshot, record) is None:
        return "MIN"
    if not run.knows_backend or not run.knows_defaults or costs_time(run):
        return ""
    if not any(map(record.text, SPEEDS)):
        return ""
    others = [it for it in records(snapshot, "tuning", "tag") if it.text("tag") == "RECOMMENDED"]
    if faster_record(record, others):
        return ""
    return "RECOMMENDED"
