"""The pictures: what they show is what the records say, and everybody can see it."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.query.configurations import RUNS, configurations
from rl_resources.query.points import (
    MOST_RUNS,
    Points,
    fewest_gigabytes,
    largest_batches,
    throughputs,
)
from rl_resources.site.charts.marks import RADIUS, SHAPES, Mark, side_by_side
from rl_resources.site.charts.matrix import MOST_CELLS, Matrix
from rl_resources.site.charts.numbers import beside
from rl_resources.site.charts.page import STYLE, pages
from rl_resources.site.charts.pictures import Picture, coverage_map, pictures
from rl_resources.site.charts.plot import Plot
from rl_resources.site.charts.scale import LogScale
from rl_resources.site.charts.scatter import Scatter
from rl_resources.site.charts.text import plain, shortened, width
from website import ROOT, visited

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["memory", "batch", "throughput", "coverage"]
HOSTILE = "<script>window.hacked=1</script>\x00\x1b[31m\u202e</text></svg>&\"'{{7*7}}]]>"


@cache
def dataset() -> Dataset:
    return load(ROOT)


@cache
def drawn() -> dict[str, Picture]:
    return {picture.name: picture for picture in pictures(dataset())}


@cache
def files() -> dict[str, str]:
    return pages(dataset(), None)


def with_rows(**tables: tuple[dict[str, Any], ...]) -> Dataset:
    return dataclasses.replace(dataset(), records={**dataset().records, **tables})


def changed(table: str, key: str, **cells: Any) -> Dataset:
    """The dataset with other cells in the rows whose first cell begins with `key`."""
    rows = dataset().records[table]
    first = next(iter(rows[0]))
    return with_rows(
        **{table: tuple({**r, **(cells if str(r[first]).startswith(key) else {})} for r in rows)}
    )


def points_of(found: Points) -> list[Any]:
    return [point for panel in found.panels for point in panel.points]


def test_no_run_of_the_same_class_needs_less_than_the_one_that_is_drawn() -> None:
    known = configurations(dataset())
    for point in points_of(fewest_gigabytes(dataset(), known)):
        item = point.configuration
        alike = [
            other.gpus * other.memory_gb
            for other in known
            if (other.task, other.size, other.kind, other.tag)
            == (item.task, item.size, item.kind, item.tag)
            and other.outcome == "ran"
            and (other.trust == "untested") == (item.trust == "untested")
            and (other.statement in RUNS or other.trust == "untested")
            and other.weights
            and other.gpus * other.memory_gb
        ]
        assert point.value == min(alike) == item.gpus * item.memory_gb
        assert point.of == len(alike)


def test_of_many_records_of_a_class_the_largest_batch_is_drawn() -> None:
    row = next(row for row in dataset().records["tuning"] if row["max_batch"] == 16)
    more = [
        {**row, "script": f"{at}{row['script']}", "max_batch": batch}
        for at, batch in enumerate((8, 400, 64))
    ]
    found = with_rows(tuning=(*dataset().records["tuning"], *more))
    before, after = (
        points_of(largest_batches(data, configurations(data))) for data in (dataset(), found)
    )
    assert len(after) == len(before)
    (point,) = (point for point in after if point.of > 1)
    assert (point.value, point.of) == (400, 4)
    assert point.configuration.size == "7B"


@pytest.mark.parametrize(
    ("choose", "kinds"),
    [
        (fewest_gigabytes, {"record", "report"}),
        (largest_batches, {"record"}),
        (throughputs, {"record", "report"}),
    ],
)
def test_every_configuration_is_behind_a_point_or_counted_as_left_out(
    choose: Any, kinds: set[str]
) -> None:
    known = configurations(dataset())
    found = choose(dataset(), known)
    behind = sum(point.of for point in points_of(found))
    left_out = sum(count for _, count in found.left_out)
    assert behind + left_out == sum(item.kind in kinds for item in known)


def test_batches_and_throughputs_are_those_of_the_records_and_reports() -> None:
    known = configurations(dataset())
    batches = {p.configuration.id: p.value for p in points_of(largest_batches(dataset(), known))}
    assert batches == {
        str(row["script"]).removesuffix(".sh"): row["max_batch"]
        for row in dataset().records["tuning"]
        if row["max_batch"] is not None
    }
    speeds = {p.configuration.id: p.value for p in points_of(throughputs(dataset(), known))}
    assert speeds == {
        row["report"]: row["tokens_per_second_per_gpu"]
        for row in dataset().records["reports"]
        if row["tokens_per_second_per_gpu"] is not None
    }


def test_an_untested_record_takes_the_place_of_none_that_ran() -> None:
    script = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
    row = dataset().by_key["tuning"][script]
    new = {**row, "script": f"a{script}", "device": "t4", "status": "untested"}
    found = with_rows(tuning=(*dataset().records["tuning"], new))
    points = [
        point
        for point in points_of(fewest_gigabytes(found, configurations(found)))
        if (point.configuration.kind, point.configuration.size) == ("record", "7B")
        and point.configuration.task == "GRPO-LoRA"
    ]
    assert {(point.value, point.untested) for point in points} == {(80, False), (16, True)}


@pytest.mark.parametrize(
    "values", [(16, 20480), (2.45, 4463), (16, 180), (7, 7), (0.49, 671), (1, 1.2), (1e-3, 1e7)]
)
@pytest.mark.parametrize("ends", [(46, 322), (296, 68)])
def test_ticks_are_round_figures_at_their_own_places(
    values: tuple[float, float], ends: tuple[float, float]
) -> None:
    scale = LogScale.over(values, *ends)
    for position, label in scale.ticks():
        value = float(label.replace(",", ""))
        assert position == scale.at(value)
        assert scale.low <= value <= scale.high
        assert f"{value:e}"[:8] in {"1.000000", "2.000000", "3.000000", "5.000000"}
    # Equal factors are equal distances: that is what a logarithmic axis says.
    low, high = values
    middle = (low * high) ** 0.5
    assert scale.at(middle) == pytest.approx((scale.at(low) + scale.at(high)) / 2, abs=0.11)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_a_row_for_each_mark(name: str) -> None:
    picture = drawn()[name]
    marks = sum(len(panel.marks) for panel in picture.panels)
    assert len(picture.table.rows) == marks > 0
    assert {len(row) for row in picture.table.rows} == {len(picture.table.headers)}


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_a_table_leads_to_a_record_or_to_reports(name: str) -> None:
    for row in drawn()[name].table.rows:
        places = [cell.address for cell in row if cell.address]
        assert any(place.startswith(("records/", "reports/", "sizes/")) for place in places)


@pytest.mark.parametrize("name", NAMES)
def test_every_mark_lies_inside_its_plot(name: str) -> None:
    for panel in drawn()[name].panels:
        if isinstance(panel, Matrix):
            right = panel.left + panel.cell[0] * len(panel.columns)
            assert all(panel.left <= mark.x < right for mark in panel.marks)
            assert all(panel.top <= mark.y < panel.height for mark in panel.marks)
            continue
        for mark in panel.marks:
            assert panel.left <= mark.x - RADIUS / 2 < mark.x + RADIUS / 2 <= panel.right
            assert panel.top <= mark.y - RADIUS / 2 < mark.y + RADIUS / 2 <= panel.bottom


def test_marks_that_coincide_stand_side_by_side() -> None:
    for picture in drawn().values():
        for panel in picture.panels:
            if isinstance(panel, Scatter | Plot):
                places = [(mark.x, mark.y) for mark in panel.marks]
                assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) > 5 for a, b in pairs(places))
    assert len(set(side_by_side([(9, 9)] * 30))) == 30


def pairs(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    return combinations(items, 2)


def test_a_number_stands_clear_of_other_marks() -> None:
    sign = next(iter(drawn()["memory"].panels)).marks[0].sign  # type: ignore[union-attr]
    marks = [Mark(x, 50, sign, "") for x in (50, 62, 74)]
    for (x, y), own in zip(beside(marks, [], (0, 0, 100, 100)), marks, strict=True):
        for mark in marks:
            assert max(abs(x - mark.x), abs(y - mark.y)) > RADIUS
        assert abs(x - own.x) + abs(y - own.y) < 30


def test_the_shape_of_a_mark_tells_its_tag_and_its_filling_tells_a_record() -> None:
    assert len(set(SHAPES.values())) == len(SHAPES) == 3
    marks = [m for panel in drawn()["memory"].panels for m in panel.marks if isinstance(m, Mark)]
    shapes = {(mark.sign.tag, mark.sign.shape) for mark in marks}
    assert len(shapes) == 3
    assert {mark.sign.kind for mark in marks} == {"record", "report"}
    assert all(mark.sign.kind in mark.sign.classes.split() for mark in marks)


def test_a_disputed_figure_is_marked_and_says_so() -> None:
    items = [
        item
        for panel in drawn()["batch"].panels
        if isinstance(panel, Scatter)
        for item in panel.items
    ]
    disputed = {
        f"records/{str(row['script']).removesuffix('.sh')}/"
        for row in dataset().records["tuning"]
        if row["status"] == "disputed" and row["max_batch"]
    }
    assert {item.address for item in items if item.mark.sign.doubted} == disputed != set()
    assert {item.address for item in items if item.doubt == "≠ disputed"} == disputed
    rings = files()["charts/batch.svg"].count('class="doubt"')
    assert rings == 2 * len(disputed) + 1, "in the plot, in the key, once in the legend"


def test_where_only_the_size_is_known_a_bar_spans_it() -> None:
    for panel in drawn()["memory"].panels:
        assert isinstance(panel, Scatter)
        bands = {band.name: band for band in panel.bands}
        for item in panel.items:
            if item.span:
                assert any(
                    band.x <= item.span[0] + 1 and item.span[1] - 1 <= band.x + band.width
                    for band in bands.values()
                )
                assert item.span[0] < item.mark.x < item.span[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_alone_is_well_formed_and_tells_what_it_shows(name: str) -> None:
    root = ElementTree.fromstring(files()[f"charts/{name}.svg"])  # noqa: S314
    assert root.tag == f"{SVG}svg"
    images = root.findall(f".//{SVG}g[@role='img']")
    assert len(images) == len(drawn()[name].panels)
    for element in (root, *images):
        told = [element.findtext(f"{SVG}{tag}") for tag in ("title", "desc")]
        assert all(told)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) == 2 * len(images)


def test_nothing_that_a_strict_policy_forbids_stands_on_the_page() -> None:
    page = files()["charts.md"]
    assert not re.search(r"\sstyle=|<style|<script|\son\w+=", page)
    for name in NAMES:
        assert not re.search(r"\sstyle=|<script|\son\w+=", files()[f"charts/{name}.svg"])


def test_hostile_names_stay_text_in_page_and_picture() -> None:
    found = changed(
        "reports",
        "",
        model=None,
        model_as_published=HOSTILE,
        source_repo=HOSTILE,
        device=None,
        device_as_published=HOSTILE,
        device_memory_gb=24.0,
    )
    texts = pages(found, None)
    for name in ("memory", "throughput"):
        root = ElementTree.fromstring(texts[f"charts/{name}.svg"])  # noqa: S314
        assert root.findall(f".//{SVG}script") == []
        assert any("<script>window" in (text or "") for text in root.itertext())
    assert "<script" not in texts["charts.md"]
    assert not set("\x00\x1b\u202e") & set("".join(texts.values()))


def test_an_empty_dataset_gives_a_sentence_and_no_picture() -> None:
    nothing = with_rows(tuning=(), trials=(), reports=())
    texts = pages(nothing, None)
    assert set(texts) == {"charts.md"}
    assert "<svg" not in texts["charts.md"]
    assert texts["charts.md"].count('<p class="nothing">') == len(NAMES)
    assert coverage_map(nothing).panels == ()


def test_one_point_alone_is_a_picture() -> None:
    row = dataset().by_key["tuning"]["qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"]
    picture = {p.name: p for p in pictures(with_rows(tuning=(dict(row),), reports=()))}["batch"]
    assert len(picture.table.rows) == 1


def test_the_same_data_give_the_same_bytes_whatever_the_seed_of_hashes() -> None:
    program = (
        "import hashlib, pathlib; from rl_resources import load;"
        "from rl_resources.site.charts.page import pages;"
        f"found = pages(load(pathlib.Path({str(ROOT)!r})), None);"
        "print(hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


@pytest.mark.parametrize("text", ["Qwen2.5-7B-Instruct", "模型" * 40, "W" * 90, "i" * 300, ""])
def test_a_shortened_text_fits_and_keeps_its_beginning(text: str) -> None:
    short = shortened(text, 120, 12)
    assert width(short, 12) <= 120
    assert text.startswith(short.removesuffix("…"))


def test_signs_that_nobody_sees_are_replaced() -> None:
    assert plain("a\u202eb\x07c\nd") == "a\ufffdb\ufffdc d"


SCHEMES = ("light", "dark")
BOXES = """svg => [...svg.querySelectorAll('text')].map(text => {
  const box = text.getBoundingClientRect(), all = svg.getBoundingClientRect();
  return [text.textContent, box.left - all.left, box.top - all.top, box.right - all.left,
          box.bottom - all.top, all.width, all.height];
})"""


@pytest.fixture(scope="module", params=SCHEMES)
def shown(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The figures of the page with their own style sheet, drawn at the size of their units."""
    figures = "".join(re.findall(r"<figure.*?</figure>", files()["charts.md"], re.S))
    style = (ROOT / STYLE).read_text(encoding="utf-8")
    own = "body {margin: 0} .picture .panels .chart, .chart {width: 330px}"
    context = browser.new_context(
        color_scheme=request.param, viewport={"width": 360, "height": 800}
    )
    page = context.new_page()
    page.set_content(
        f"<style>:root {{color-scheme: light dark}} {style} {own}</style>"
        f'<div class="md-typeset">{figures}</div>'
    )
    yield page
    context.close()


def test_no_text_of_a_picture_overlaps_another_or_leaves_it(shown: Page) -> None:
    drawings = shown.locator("svg.chart").all()
    assert len(drawings) == len(NAMES) + sum(len(picture.panels) for picture in drawn().values())
    wrong = []
    for drawing in drawings:
        boxes = [box for box in drawing.evaluate(BOXES) if box[0]]
        wrong += [
            box[0] for box in boxes if min(box[1:3]) < 0 or box[3] > box[5] or box[4] > box[6] + 1
        ]
        wrong += [f"{one[0]} / {other[0]}" for one, other in pairs(boxes) if overlap(one, other)]
    assert wrong == []


def overlap(one: list[Any], other: list[Any]) -> bool:
    """Whether two boxes share more than the empty room above and below their letters."""
    wide = min(one[3], other[3]) - max(one[1], other[1])
    high = min(one[4], other[4]) - max(one[2], other[2])
    return wide > 0.5 and high > 3.5


COLOURS = """([selector, name]) => [...new Set([...document.querySelectorAll(selector)].map(
  element => getComputedStyle(element)[name]))]"""
GROUNDS = """() => ['ground', 'band', 'shade-1', 'shade-2', 'shade-3'].map(name => {
  const probe = document.createElement('i');
  probe.style.color = `var(--chart-${name})`;
  document.querySelector('svg.chart').append(probe);
  return getComputedStyle(probe).color;
})"""


def test_marks_and_text_stand_out_from_every_ground_in_both_schemes(shown: Page) -> None:
    grounds = shown.evaluate(GROUNDS)
    assert len(set(grounds)) == 5
    plain_grounds = grounds[:2]
    wanted = [
        (".mark", "stroke", 3, grounds),
        (".doubt", "stroke", 3, plain_grounds),
        (".failed", "stroke", 3, plain_grounds),
        (".span", "stroke", 3, plain_grounds),
        (".cell.held", "stroke", 3, grounds),
        ("text:not(.count), tspan", "fill", 4.5, plain_grounds),
        (".count", "fill", 4.5, grounds),
    ]
    for selector, name, least, behind in wanted:
        colours = shown.evaluate(COLOURS, [selector, name])
        assert colours, selector
        for colour in colours:
            for ground in behind:
                assert contrast(colour, ground) >= least, (selector, colour, ground)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_picture_alone_follows_the_scheme_of_its_reader(browser: Browser) -> None:
    grounds = []
    for scheme in SCHEMES:
        context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_content(files()["charts/memory.svg"].replace("<svg ", "<svg id='alone' ", 1))
        grounds.append(page.evaluate(COLOURS, ["#alone .ground", "fill"]))
        context.close()
    assert grounds[0] != grounds[1]


SCALES = """() => [...document.querySelectorAll('.panels svg')].map(
  svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""


@pytest.mark.parametrize("size", [(360, 740), (1440, 900)])
@pytest.mark.parametrize("path", ["/charts/", "/coverage/"])
def test_a_picture_is_neither_tiny_on_a_telephone_nor_huge_on_a_wide_screen(
    browser: Browser, address: str, path: str, size: tuple[int, int]
) -> None:
    with visited(browser, address + path, size[0]) as (page, _):
        scales = page.evaluate(SCALES)
        assert scales
        assert 0.95 <= min(scales) <= max(scales) <= 1.5


def test_a_name_in_a_picture_leads_to_its_record_by_keyboard(
    browser: Browser, address: str
) -> None:
    with visited(browser, f"{address}/charts/") as (page, _):
        name = page.locator(".panels a[href*='records/']").first
        target = (name.get_attribute("href") or "").removeprefix("..")
        name.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{target}")


def test_the_scheme_of_the_page_is_that_of_its_pictures(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/charts/") as (page, _):
        seen = set()
        for scheme in ("default", "slate"):
            page.evaluate("name => document.body.dataset.mdColorScheme = name", scheme)
            seen |= set(page.evaluate(COLOURS, [".tagged-min.record", "fill"]))
        assert len(seen) == 2


def test_neighbouring_ticks_never_touch() -> None:
    for low, high in pairwise([1, 30, 900, 27_000, 800_000]):
        scale = LogScale.over([low, high], 46, 322)
        for one, other in pairwise(scale.ticks()):
            assert other[0] - one[0] > (width(one[1], 11) + width(other[1], 11)) / 2


@pytest.fixture(scope="module")
def everywhere() -> Dataset:
    """The dataset with a report of every device at every size, in four tasks."""
    shipped = dataset()
    blank: dict[str, Any] = {**dict.fromkeys(shipped.records["reports"][0]), "outcome": "ran"}
    blank |= {"gpus": 8, "basis": "stated", "evidence_kind": "documentation"}
    names = ("size", "task", "device")
    places = product(
        shipped.by_key["sizes"], [*shipped.by_key["tasks"]][:4], shipped.by_key["devices"]
    )
    told = ({**blank, "report": f"r{n}", "source_url": "https://x/"} for n in range(10**6))
    reports = tuple(
        {**report, **dict(zip(names, place, strict=True)), "tokens_per_second_per_gpu": n + 1}
        for n, (report, place) in enumerate(zip(told, places, strict=False))
    )
    return dataclasses.replace(shipped, records={**shipped.records, "reports": reports})


def test_a_map_draws_the_best_covered_devices_and_tells_how_many_it_leaves_out(
    everywhere: Dataset,
) -> None:
    picture = coverage_map(everywhere)
    _, devices = picture.panels
    assert MOST_CELLS - 9 < len(devices.marks) <= MOST_CELLS
    left = len(everywhere.by_key["devices"]) - len(devices.rows)  # type: ignore[union-attr]
    assert picture.beyond == f"{left} devices of which less is known"
    assert len(picture.table.rows) == sum(len(panel.marks) for panel in picture.panels)


def test_of_many_runs_the_fastest_of_each_device_and_model_are_drawn(everywhere: Dataset) -> None:
    known = configurations(everywhere)
    found = throughputs(everywhere, known)
    points = [point for panel in found.panels for point in panel.points]
    assert len(points) == MOST_RUNS
    left_out = sum(count for _, count in found.left_out)
    assert len(points) + left_out + found.beyond == len(known)
    assert {panel.name for panel in found.panels} == set(everywhere.by_key["devices"])
    best = max(
        float(str(row["tokens_per_second_per_gpu"])) for row in everywhere.records["reports"]
    )
    assert best in [point.value for point in points]
    (picture,) = (item for item in pictures(everywhere) if item.name == "throughput")
    assert picture.beyond == f"{found.beyond:,} slower runs of the same models"
