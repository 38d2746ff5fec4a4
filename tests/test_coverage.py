"""What the dataset holds and lacks, and how old its figures are."""

import dataclasses
import html
import json
import re
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from cases import cases, read_cases
from rl_resources.dataset import Dataset
from rl_resources.devices import Devices
from rl_resources.query.configurations import age_of, recorded
from rl_resources.query.coverage import coverage
from rl_resources.site.environment import Site
from rl_resources.site.pages import charts, pages
from sample_tree import with_tables


def _with_reports(dataset: Dataset, *changes: dict[str, Any]) -> Dataset:
    """The dataset without records, with one report for each of these changes."""
    blank = dict.fromkeys(dataset.records["reports"][0]) | read_cases("coverage")["report"]
    reports = [blank | {"report": f"r{at}"} | change for at, change in enumerate(changes)]
    return with_tables(dataset, tuning=(), trials=(), reports=reports)


def test_every_record_and_report_is_counted_once(dataset):
    found = coverage(dataset)
    records = sum(cell.records + cell.not_run for cell in found.cells)
    assert records == len(dataset.records["tuning"])
    placed = sum(cell.reports + cell.claims + cell.out_of_memory for cell in found.cells)
    assert placed + found.unplaced == len(dataset.records["reports"]) - len(recorded(dataset))


def test_a_report_that_ran_out_of_memory_is_never_one_that_ran(dataset):
    (cell,) = coverage(_with_reports(dataset, {"outcome": "out-of-memory", "tag": "MIN"})).cells
    assert (cell.reports, cell.out_of_memory, cell.projects) == (0, 1, 0)
    assert coverage(_with_reports(dataset, {"outcome": "out-of-memory"})).wanted == []


def test_more_projects_are_wanted_before_more_reports(dataset):
    many = [{"device": "h20"}] * 5
    two = [{"device": "h100"}, {"device": "h100", "source_repo": "b/b"}]
    found = coverage(_with_reports(dataset, *many, *two))
    wanted = [(cell.device, cell.projects, cell.reports) for cell in found.wanted]
    assert wanted == [("h100", 2, 2), ("h20", 1, 5)]


@pytest.mark.parametrize("path", ["coverage.md", "models.md", "devices.md"])
def test_every_count_leads_to_what_it_counts(dataset, path):
    made = pages(Site(dataset))
    linked = r'href="../((?:sizes|reports)/[^"?]+)/\?([^"]+)">(.*?)</a>'
    links = re.findall(linked, made[path], re.S)
    assert len(links) > 20
    tag = re.compile(r"<(?:tr|tbody)[^>]* data-task=[^>]*>")
    rows = {
        path: [dict(re.findall(r'data-(\w+)="([^"]*)"', row)) for row in tag.findall(text)]
        for path, text in made.items()
        if path.startswith(("sizes/", "reports/"))
    }
    for page, query, text in links:
        chosen = dict(parse_qsl(html.unescape(query)))
        shown = [row for row in rows[f"{page}.md"] if row | chosen == row]
        words = re.sub(r"<.*?>|[\d.]+B", " ", text)
        assert sum(map(int, re.findall(r"\b\d+\b", words))) == len(shown), (page, query, text)


def test_a_record_that_nobody_has_run_is_still_wanted(dataset):
    untested = [row | {"status": "untested"} for row in dataset.records["tuning"]]
    found = coverage(with_tables(dataset, tuning=untested))
    assert sum(cell.records for cell in found.cells) == 0
    assert sum(cell.not_run for cell in found.cells) == len(untested)
    assert [list(sizes).count("7B") for sizes in found.missing.values()] == [1, 1]


def test_the_command_says_the_same_in_every_format(dataset, command):
    value = json.loads(command("coverage", "--format", "json"))
    text = command("coverage")
    assert text.count("\n") > len(value["cells"])
    first = value["wanted"][0]
    label = Devices(dataset).label(first["device"])
    line = rf"^{first['size']} +{first['task']} +{re.escape(label)} +\d+ +\d+$"
    assert re.search(line, text, re.M)


@cases("coverage", "empty")
def test_an_empty_cell_leads_to_a_form_filled_in(dataset, repository, path, fields):
    page = charts(Site(dataset, repository or None))["coverage.md"]
    links = re.findall(r'class="open"[^>]*><a href="([^"]+)"', page)
    address = urlsplit(links[0].replace("&amp;", "&"))
    assert (address.path, {*parse_qs(address.query)}) == (path, {*fields})


@cases("coverage", "old")
def test_an_old_figure_is_marked_by_the_version_of_the_dataset(dataset, changes, said):
    document = {**dataset.package.document, "version": "2026.11.0"}
    package = dataclasses.replace(dataset.package, document=document)
    of_november = dataclasses.replace(dataset, package=package)
    row = dict.fromkeys(dataset.records["reports"][0]) | changes
    assert age_of(of_november, row) == said


def test_a_report_is_shown_with_conditions_group_and_the_unit_of_its_batch(dataset):
    shown = read_cases("coverage")["shown"]
    of_source = {"source_repo": None, "memory_optimizations": tuple(shown["optimizations"])}
    changed = _with_reports(dataset, shown["changes"] | of_source)
    page = pages(Site(changed))["reports/7b.md"]
    cells = dict(re.findall(r'<td data-label="(.*?)">(.*?)</td>', page, re.S))
    assert cells["Resource"].startswith("8 to 32 × H100")
    assert cells.items() >= shown["cells"].items()
    assert "a/<wbr>b#12" in cells["Source"]
