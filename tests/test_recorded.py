"""A run that is a record and a report is counted once, and the report leads to the record."""

from __future__ import annotations

from pathlib import Path

from rl_resources.dataset import read_dataset
from rl_resources.package import read_package
from rl_resources.query.configurations import configurations, every_configuration, recorded, runs

ROOT = Path(__file__).parents[1]


def test_a_report_of_the_lines_of_a_record_is_no_answer_of_its_own() -> None:
    dataset = read_dataset(read_package(ROOT))
    both = recorded(dataset)
    scripts = {row["script"]: row for row in dataset.records["tuning"]}
    assert both
    for report, script in both.items():
        row, record = dataset.by_key["reports"][report], scripts[script]
        assert (row["model"], row["gpus"]) == (record["model"], record["gpus"])
        assert str(row["source_url"]) in f"{record['source']} {record['evidence']}".split()
    every = {row.id for row in every_configuration(dataset)}
    assert every - {row.id for row in configurations(dataset)} == both.keys()
    assert len(list(runs(dataset))) == len(configurations(dataset))
