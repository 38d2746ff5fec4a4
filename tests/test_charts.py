"""The charts show what records and reports say, and nothing else."""

import re
from xml.etree import ElementTree

import pytest

from rl_resources.query.configurations import configurations
from rl_resources.query.coverage import coverage, minimum_memory
from rl_resources.site.environment import Site
from rl_resources.site.pages import charts, grid, memory_chart
from sample_tree import with_tables
from shipped import DATASET

KNOWN = configurations(DATASET)
SIZES = [str(row["size"]) for row in DATASET.records["sizes"]]
HOSTILE = "<script>window.hacked=1</script>\x00\x1b[31m\u202e</text></svg>&\"'{{7*7}}]]>"
LORA = next(row for row in DATASET.records["tuning"] if row["task"] == "GRPO-LoRA")


def test_a_record_that_is_not_run_takes_the_place_of_none_that_ran():
    small = {**LORA, "script": f"0{LORA['script']}", "device": "t4", "status": "untested"}
    dataset = with_tables(DATASET, tuning=[*DATASET.records["tuning"], small])
    points = minimum_memory(configurations(dataset))
    (least,) = (p for p in points if p.configuration.certainty == "not run")
    assert least.value == 16
    assert len(points) == len(minimum_memory(KNOWN)) + 1


def test_marks_lie_inside_the_panel_where_size_and_memory_put_them():
    panels = charts(Site(DATASET))["charts.md"].partition('<div class="panels">')[2]
    at = dict(re.findall(r'<text class="quiet number middle" x="([\d.]+)"[^>]*>(.*?)<', panels))
    marks = re.findall(r'translate\(([\d.]+) ([\d.]+)\)"><title>', panels)
    known = memory_chart(minimum_memory(KNOWN), SIZES)["panels"]
    points = [point for _, points in known for point in points]
    for (x, y), point in zip(marks, points, strict=True):
        assert 44 <= float(x) <= 324 and 46 <= float(y) <= 216
        nearest = min(at, key=lambda place, x=x: abs(float(place) - float(x)))
        assert at[nearest] == point.configuration.size
    lines = re.findall(r'class="grid" d="M44 ([\d.]+)H', panels)
    assert (lines[0], lines[-1]) == ("216.0", "46.0")


@pytest.mark.parametrize("axis", ["task", "device"])
def test_the_best_covered_row_of_the_grid_is_first(axis):
    rows = [row for _, row in grid(coverage(DATASET).cells, axis, SIZES)]
    records = [sum(cell.records for cell in row) for row in rows]
    assert records == sorted(records, reverse=True)


def test_hostile_names_stay_text_and_the_file_stays_well_formed():
    changes = {"model": None, "model_as_published": HOSTILE}
    rows = [row | changes for row in DATASET.records["reports"]]
    files = charts(Site(with_tables(DATASET, reports=rows)))
    tree = ElementTree.fromstring(files["charts/memory.svg"])  # noqa: S314
    names = [str(item.get("aria-label")) for item in tree.iter("{http://www.w3.org/2000/svg}a")]
    assert any("window.hacked=1" in name for name in names)
    for text in files.values():
        assert not re.search(r"<script|\sstyle=|\son\w+=", text)


def test_an_empty_dataset_gives_sentences_and_no_chart():
    page = charts(Site(with_tables(DATASET, tuning=(), reports=(), trials=())))["charts.md"]
    assert page.count('class="nothing"') == 2
    assert "<svg" not in page
