"""Tags: which runs count against MIN, and that the definition and the settings say the same."""

import re
from pathlib import Path

from cases import each, read_cases
from rl_resources.check import chosen_rules, findings_in
from rl_resources.package import read_package
from rl_resources.script.algorithm import _TABLE, ASKED_OF_MIN
from rl_resources.snapshot import take_snapshot
from sample_tree import apply
from shipped import DATASET

CASES = read_cases("tags")
REPORT = CASES["report"]


def names_of_smaller_runs(
    root: Path, report: dict[str, str], record: dict[str, str]
) -> list[str]:
    """What `not-the-least` names in the sample with a report of a smaller run."""
    edits = [{"file": "records/reports.csv", "line": 4, "set": REPORT | report}]
    if record:
        edits.append({"file": "records/tuning.csv", "line": 3, "set": record})
    apply(root, edits)
    found = findings_in(
        take_snapshot(read_package(root)), chosen_rules(["not-the-least"])
    )
    return [re.findall("`([^`]*)` ran", item.message)[0] for item in found]


@each(CASES["silent"] | CASES["reported"], "report record named")
def test_a_run_is_named_that_is_smaller_and_alike(report, record, named, root):
    assert names_of_smaller_runs(root, report or {}, record or {}) == (named or [])


def test_the_definition_names_what_min_asks_for_and_all_else_has_a_reason():
    schema = DATASET.package.resources["tuning"].schema
    definition, _, _ = schema.field("tag").description.partition("`RECOMMENDED`")
    known = DATASET.by_key["memory_optimizations"]
    others = _TABLE["tags"]["not_asked"]
    assert sorted([*ASKED_OF_MIN, *others]) == sorted(known)
    assert {word for word in known if f"`{word}`" in definition} == set(ASKED_OF_MIN)
