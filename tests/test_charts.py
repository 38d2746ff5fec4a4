"""The charts show what records and reports say, and nothing else."""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.query.configurations import RUNS, Configuration, configurations
from rl_resources.query.coverage import coverage
from rl_resources.query.points import Points, largest_batches, least_memory, throughputs
from rl_resources.site.charts import coverage_map, memory_chart, pages
from rl_resources.site.environment import Site
from website import ROOT

HOSTILE = "<script>window.hacked=1</script>\x00\x1b[31m\u202e</text></svg>&\"'{{7*7}}]]>"
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"


@cache
def dataset() -> Dataset:
    return load(ROOT)


def known() -> tuple[Configuration, ...]:
    return configurations(dataset())


def with_tuning(*rows: dict[str, Any]) -> tuple[Configuration, ...]:
    """The configurations of the dataset with more records."""
    records = {**dataset().records, "tuning": (*dataset().records["tuning"], *rows)}
    return configurations(dataclasses.replace(dataset(), records=records))


def test_each_point_of_memory_is_the_least_of_its_class() -> None:
    for point in least_memory(known()).points:
        item = point.configuration
        alike = [
            other.total_memory_gb
            for other in known()
            if (other.task, other.size, other.kind, other.tag)
            == (item.task, item.size, item.kind, item.tag)
            and other.outcome == "ran"
            and (other.evidence_level == "untested") == point.untested
            and (other.statement in RUNS or point.untested)
            and other.weights
            and other.total_memory_gb
        ]
        assert (point.value, point.of) == (min(alike), len(alike))


def test_of_many_records_of_a_class_the_largest_batch_is_shown() -> None:
    row = dataset().by_key["tuning"][LORA]
    more = [
        {**row, "script": f"{at}{LORA}", "max_batch": batch} for at, batch in enumerate((8, 400))
    ]
    (point,) = (p for p in largest_batches(with_tuning(*more)).points if p.of > 1)
    assert (point.value, point.of, point.configuration.size) == (400, 3, "7B")


def test_an_untested_record_takes_the_place_of_none_that_ran() -> None:
    row = dataset().by_key["tuning"][LORA]
    new = {**row, "script": f"a{LORA}", "device": "t4", "status": "untested"}
    points = [
        (point.value, point.untested)
        for point in least_memory(with_tuning(new)).points
        if (point.configuration.kind, point.configuration.size) == ("record", "7B")
        and point.configuration.task == "GRPO-LoRA"
    ]
    assert set(points) == {(80, False), (16, True)}


@pytest.mark.parametrize("name", ["memory", "batch", "throughput"])
def test_every_configuration_is_behind_a_point_or_counted_as_excluded(name: str) -> None:
    found: dict[str, Points] = {
        "memory": least_memory(known()),
        "batch": largest_batches(known()),
        "throughput": throughputs(dataset(), known()),
    }
    behind = sum(point.of for point in found[name].points)
    kinds = {"record"} if name == "batch" else {"record", "report"}
    all_of_them = sum(item.kind in kinds for item in known())
    assert behind + sum(found[name].excluded.values()) == all_of_them


def test_marks_lie_inside_the_panel_where_size_and_memory_put_them() -> None:
    sizes = [str(row["size"]) for row in dataset().records["sizes"]]
    chart = memory_chart(least_memory(known()).points, sizes)
    assert chart.panels
    ups = {float(label.replace(",", "")): y for y, label in chart.up}
    for mark in (mark for panel in chart.panels for mark in panel.marks):
        assert chart.left <= mark.x <= chart.right
        assert chart.top <= mark.y <= chart.bottom
        assert ups.get(mark.point.value, mark.y) == mark.y
        assert min(chart.across, key=lambda line: abs(line[0] - mark.x))[1] == (
            mark.point.configuration.size
        )


def test_the_coverage_map_adds_up_what_is_known() -> None:
    cells = coverage(dataset()).cells
    for rows in coverage_map(dataset()).values():
        for name in ("records", "untested", "all_reports", "out_of_memory"):
            shown = sum(getattr(cell, name) for row in rows for cell in row.cells)
            assert shown == sum(getattr(cell, name) for cell in cells)


def test_hostile_names_stay_text_and_the_file_stays_well_formed() -> None:
    rows = tuple(
        {**row, "model": None, "model_as_published": HOSTILE}
        for row in dataset().records["reports"]
    )
    hostile = dataclasses.replace(dataset(), records={**dataset().records, "reports": rows})
    files = pages(Site(hostile))
    tree = ElementTree.fromstring(files["charts/memory.svg"])  # noqa: S314
    names = [str(item.get("aria-label")) for item in tree.iter("{http://www.w3.org/2000/svg}a")]
    assert any("window.hacked=1" in name for name in names)
    for text in files.values():
        assert not re.search(r"<script|\sstyle=|\son\w+=", text)


def test_an_empty_dataset_gives_sentences_and_no_chart() -> None:
    records = {**dataset().records, "tuning": (), "reports": (), "trials": ()}
    page = pages(Site(dataclasses.replace(dataset(), records=records)))["charts.md"]
    assert page.count('class="nothing"') == 3
    assert "<svg" not in page
