"""The charts show what records and reports say, and nothing else."""

import re
from xml.etree import ElementTree

import pytest

from rl_resources.query.configurations import configurations
from rl_resources.query.coverage import coverage, minimum_memory, throughputs
from rl_resources.site.environment import Site
from rl_resources.site.pages import charts, grid, memory_chart, throughput_chart
from sample_tree import with_tables
from shipped import DATASET

KNOWN = configurations(DATASET)
SIZES = [str(row["size"]) for row in DATASET.records["sizes"]]
HOSTILE = (
    "<script>window.hacked=1</script>\x00\x1b[31m\u202e</text></svg>&\"'{{7*7}}]]>"
)
RECORDS = DATASET.records["tuning"]
LORA = next(row for row in RECORDS if row["task"] == "GRPO-LoRA")


def test_a_record_that_is_not_run_takes_the_place_of_none_that_ran():
    small = {
        **LORA,
        "script": f"0{LORA['script']}",
        "device": "t4",
        "status": "untested",
    }
    dataset = with_tables(DATASET, tuning=[*RECORDS, small])
    points = minimum_memory(configurations(dataset))
    not_run = [point for point in points if point.configuration.certainty == "not run"]
    (least,) = not_run
    assert least.value == 16
    ran = minimum_memory(KNOWN)
    assert len(points) == len(ran) + 1


NAMED = [point for point in throughputs(KNOWN) if point.configuration.device]
CHARTS = {
    "memory": (1, memory_chart(minimum_memory(KNOWN), SIZES)),
    "throughput": (2, throughput_chart(NAMED, SIZES)),
}


@pytest.mark.parametrize(("section", "chart"), CHARTS.values(), ids=CHARTS)
def test_marks_lie_inside_the_panel_where_size_and_value_put_them(section, chart):
    page = charts(Site(DATASET))["charts.md"]
    panels = page.split('<div class="panels">')[section]
    label = re.compile(r'<text class="quiet number middle" x="([\d.]+)"[^>]*>(.*?)<')
    sizes = {float(x): size for x, size in label.findall(panels)}
    marks = re.findall(r'translate\(([\d.]+) ([\d.]+)\)"><title>', panels)
    points = []
    for _, of_panel in chart["panels"]:
        points += of_panel
    for (left, top), point in zip(marks, points, strict=True):
        x = float(left)
        assert 44 <= x <= 324
        assert 46 <= float(top) <= 216
        nearest = min(sizes, key=lambda place, x=x: abs(place - x))
        assert sizes[nearest] == point.configuration.size
    lines = re.findall(r'class="grid" d="M44 ([\d.]+)H', panels)
    assert lines[0] == "216.0"
    assert lines[-1] == "46.0"


@pytest.mark.parametrize("axis", ["task", "device"])
def test_the_best_covered_row_of_the_grid_is_first(axis):
    found = coverage(DATASET)
    records = []
    for _, cells in grid(found.cells, axis, SIZES):
        records.append(sum(cell.records for cell in cells))
    assert records == sorted(records, reverse=True)


def test_hostile_names_stay_text_and_the_file_stays_well_formed():
    changes = {
        "model": None,
        "model_as_published": HOSTILE,
    }
    rows = [row | changes for row in DATASET.records["reports"]]
    hostile = with_tables(DATASET, reports=rows)
    files = charts(Site(hostile))
    tree = ElementTree.fromstring(files["charts/memory.svg"])  # noqa: S314
    links = tree.iter("{http://www.w3.org/2000/svg}a")
    names = [str(item.get("aria-label")) for item in links]
    assert "window.hacked=1" in "".join(names)
    for text in files.values():
        assert not re.search(r"<script|\sstyle=|\son\w+=", text)


def test_an_empty_dataset_gives_sentences_and_no_chart():
    empty = with_tables(DATASET, tuning=(), reports=(), trials=())
    page = charts(Site(empty))["charts.md"]
    assert page.count('class="nothing"') == 2
    assert "<svg" not in page
