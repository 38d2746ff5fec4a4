"""What is related to a record: the right kinds, nearest first; a run counts once."""

from collections.abc import Sequence

from cases import read_cases
from rl_resources.certainty import CLAIMS
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
    recorded,
)
from rl_resources.site.record_page import MOST_RELATED, failures, related
from shipped import DATASET

ALL = configurations(DATASET)
CASES = read_cases("related")
HERE = next(row for row in ALL if row.kind == "record")._replace(
    id="here", possible_devices=("h100",), **CASES["here"]
)


def other(id_: str, **changes: object) -> Configuration:
    return HERE._replace(id=id_, **changes)  # type: ignore[arg-type]


def report(id_: str, **changes: object) -> Configuration:
    return other(id_, kind="report", **changes)


def found(rows: Sequence[Configuration]) -> list[tuple[str, str]]:
    kinds = related([HERE, *rows], HERE)
    return [(kind, row.id) for kind, rows in kinds.items() for row in rows]


def test_what_is_related_to_a_record():
    rows = [other(name, **changes) for name, changes in CASES["unrelated"].items()]
    rows += [report(name, gpus=1)._replace(statement=name) for name in CLAIMS]
    near = [HERE._replace(**case["row"]) for case in CASES["related"]]
    assert found([*rows, *near]) == [(case["kind"], case["row"]["id"]) for case in CASES["related"]]


def test_alike_reports_are_one_and_no_kind_fills_the_page():
    alike = [report(f"alike-{at}", gpus=1) for at in range(5)]
    assert found(alike) == [("less-hardware", "alike-0")]
    unlike = [report(f"on-{at}", gpus=1, device_label=str(at)) for at in range(9)]
    assert found(unlike) == [("less-hardware", row.id) for row in unlike[:MOST_RELATED]]


def test_a_failure_counts_on_no_less_hardware_alone():
    changes = {"same": {}, "more": {"gpus": 8}, "less": {"gpus": 1}, "other": {"task": "PPO"}}
    rows = [report(name, outcome="out-of-memory", **some) for name, some in changes.items()]
    assert [row.id for row in failures(rows, HERE)] == ["same", "more"]


def test_a_report_of_the_lines_of_a_record_is_no_answer_of_its_own():
    both = recorded(DATASET)
    scripts = {row["script"]: row for row in DATASET.records["tuning"]}
    assert both
    for report, script in both.items():
        row, record = DATASET.by_key["reports"][report], scripts[script]
        assert (row["model"], row["gpus"]) == (record["model"], record["gpus"])
        assert str(row["source_url"]) in f"{record['source']} {record['evidence']}".split()
    every = {row.id for row in every_configuration(DATASET)}
    assert every - {row.id for row in configurations(DATASET)} == both.keys()


def test_a_report_of_another_speed_is_another_run_and_of_two_tasks_each_has_its_record():
    both = {id_.rpartition("-")[0]: script for id_, script in recorded(DATASET).items()}
    name = "qwen2.5-math-7b-dapo-{}-64-h20"
    assert name.format("fully-async-policy") in both and name.format("colocate-sync") not in both
    assert {"_ppo_" in both["ppo-4-a100"], "_grpo_" in both["grpo-4-a100"]} == {True}
