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
    listed = []
    kinds = related([HERE, *rows], HERE)
    for kind, rows_of_kind in kinds.items():
        listed += [(kind, row.id) for row in rows_of_kind]
    return listed


def test_what_is_related_to_a_record():
    rows = [other(name, **changes) for name, changes in CASES["unrelated"].items()]
    rows += [report(statement, gpus=1, statement=statement) for statement in CLAIMS]
    rows += [HERE._replace(**case["row"]) for case in CASES["related"]]
    expected = [(case["kind"], case["row"]["id"]) for case in CASES["related"]]
    assert found(rows) == expected


def test_alike_reports_are_one():
    alike = [report(f"alike-{at}", gpus=1) for at in range(5)]
    assert found(alike) == [("less-hardware", "alike-0")]


def test_no_kind_fills_the_page():
    unlike = [report(f"on-{at}", gpus=1, device_label=str(at)) for at in range(9)]
    shown = unlike[:MOST_RELATED]
    assert found(unlike) == [("less-hardware", row.id) for row in shown]


def test_a_failure_counts_on_no_less_hardware_alone():
    failed = {"outcome": "out-of-memory"}
    rows = [
        report("same", **failed),
        report("more", **failed, gpus=8),
        report("less", **failed, gpus=1),
        report("other", **failed, task="PPO"),
    ]
    ids = [row.id for row in failures(rows, HERE)]
    assert ids == ["same", "more"]


def test_a_report_of_the_lines_of_a_record_is_no_answer_of_its_own():
    both = recorded(DATASET)
    assert both
    for report_id, script in both.items():
        row = DATASET.by_key["reports"][report_id]
        (record,) = DATASET.by_script["tuning"][script]
        assert row["model"] == record["model"]
        assert row["gpus"] == record["gpus"]
        urls = f"{record['source']} {record['evidence']}".split()
        assert row["source_url"] in urls
    every = {row.id for row in every_configuration(DATASET)}
    answers = {row.id for row in configurations(DATASET)}
    assert every - answers == both.keys()


def test_a_report_of_another_speed_or_task_is_another_run():
    # An id ends with a number of its source.
    both = {id_.rpartition("-")[0]: script for id_, script in recorded(DATASET).items()}
    assert "qwen2.5-math-7b-dapo-fully-async-policy-64-h20" in both
    assert "qwen2.5-math-7b-dapo-colocate-sync-64-h20" not in both
    assert "_ppo_" in both["ppo-4-a100"]
    assert "_grpo_" in both["grpo-4-a100"]
