"""What the dataset holds and lacks, and how old its figures are."""

import dataclasses
import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from cases import cases, read_cases
from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.query.configurations import age_of, recorded
from rl_resources.query.coverage import coverage
from rl_resources.site.environment import Site
from rl_resources.site.pages import charts, pages
from sample_tree import with_tables


def _empty_report(dataset: Dataset) -> dict[str, Any]:
    columns = dataset.records["reports"][0]
    return dict.fromkeys(columns)


def _with_reports(dataset: Dataset, *changes: dict[str, Any]) -> Dataset:
    """The dataset without records, with one report for each of these changes."""
    row = {**_empty_report(dataset), **read_cases("coverage")["report"]}
    reports = [
        {**row, "report": f"r{at}", **change} for at, change in enumerate(changes)
    ]
    return with_tables(dataset, tuning=(), trials=(), reports=reports)


def test_every_record_and_report_is_counted_once(dataset):
    found = coverage(dataset)
    records = 0
    reports = found.unplaced
    for cell in found.cells:
        records += cell.records + cell.not_run
        reports += cell.reports + cell.claims + cell.out_of_memory
    assert records == len(dataset.records["tuning"])
    assert reports + len(recorded(dataset)) == len(dataset.records["reports"])


def test_a_report_that_ran_out_of_memory_is_never_one_that_ran(dataset):
    found = coverage(_with_reports(dataset, {"outcome": "out-of-memory", "tag": "MIN"}))
    (cell,) = found.cells
    assert cell.reports == 0
    assert cell.out_of_memory == 1
    assert cell.projects == 0
    assert found.wanted == []


def test_more_projects_are_wanted_before_more_reports(dataset):
    of_one_project = [{"device": "h20"}] * 5
    of_two_projects = [{"device": "h100"}, {"device": "h100", "source_repo": "b/b"}]
    found = coverage(_with_reports(dataset, *of_one_project, *of_two_projects))
    wanted = [(item.device, item.projects, item.reports) for item in found.wanted]
    assert wanted == [("h100", 2, 2), ("h20", 1, 5)]


def _rows_of_lists(made: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    """The data attributes of each row of the pages that list records or reports."""
    tag = re.compile(r"<(?:tr|tbody)[^>]* data-task=[^>]*>")
    rows = {}
    for path, text in made.items():
        if path.startswith(("sizes/", "reports/")):
            tags = tag.findall(text)
            rows[path] = [
                dict(re.findall(r'data-(\w+)="([^"]*)"', one)) for one in tags
            ]
    return rows


def test_every_count_leads_to_what_it_counts(dataset):
    made = pages(Site(dataset))
    rows = _rows_of_lists(made)
    linked = r'href="../((?:sizes|reports)/[^"?]+)/\?([^"]+)">(.*?)</a>'
    links = re.findall(linked, made["coverage.md"], re.S)
    assert len(links) > 20
    for page, query, text in links:
        chosen = dict(parse_qsl(html.unescape(query)))
        shown = [row for row in rows[f"{page}.md"] if chosen.items() <= row.items()]
        words = re.sub(r"<.*?>|[\d.]+B", " ", text)
        counts = re.findall(r"\b\d+\b", words)
        assert sum(map(int, counts)) == len(shown), (page, query, text)


def test_a_record_that_nobody_has_run_is_still_wanted(dataset):
    untested = [row | {"status": "untested"} for row in dataset.records["tuning"]]
    found = coverage(with_tables(dataset, tuning=untested))
    not_run = 0
    for cell in found.cells:
        assert cell.records == 0
        not_run += cell.not_run
    assert not_run == len(untested)
    assert "7B" in found.missing["MIN"]
    assert "7B" in found.missing["RECOMMENDED"]


def test_the_command_says_the_same_in_every_format(dataset, command):
    value = json.loads(command("coverage", "--format", "json"))
    text = command("coverage")
    assert text.count("\n") > len(value["cells"])
    first = value["wanted"][0]
    label = re.escape(devices_of(dataset).label(first["device"]))
    line = rf"^{first['size']} +{first['task']} +{label} +\d+ +\d+$"
    assert re.search(line, text, re.M)


@cases("coverage", "empty")
def test_an_empty_cell_leads_to_a_form_filled_in(dataset, repository, path, fields):
    page = charts(Site(dataset, repository or None))["coverage.md"]
    link = re.search(r'class="open"[^>]*><a class="ran-this" href="([^"]+)"', page)
    assert link
    address = urlsplit(html.unescape(link[1]))
    assert address.path == path
    assert parse_qs(address.query).keys() == {*fields}


@cases("coverage", "old")
def test_an_old_figure_is_marked_by_the_version_of_the_dataset(dataset, changes, said):
    of_version = {**dataset.package.document, "version": "2026.11.0"}
    package = dataclasses.replace(dataset.package, document=of_version)
    of_november = dataclasses.replace(dataset, package=package)
    row = {**_empty_report(dataset), **changes}
    assert age_of(of_november, row) == said


def test_a_report_is_shown_with_conditions_group_and_the_unit_of_its_batch(dataset):
    shown = read_cases("coverage")["shown"]
    changes = {
        **shown["changes"],
        "source_repo": None,
        "memory_optimizations": tuple(shown["optimizations"]),
    }
    changed = _with_reports(dataset, changes)
    page = pages(Site(changed))["reports/7b.md"]
    cells = dict(re.findall(r'<td data-label="(.*?)"[^>]*>(.*?)</td>', page, re.S))
    texts = {name: re.sub("<.*?>", "", cell) for name, cell in cells.items()}
    assert texts.items() >= shown["cells"].items()
    assert "a/<wbr>b#12" in cells["Link"]
