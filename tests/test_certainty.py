"""One scale of certainty: its words, and that nothing published has another."""

import re
from functools import cache

import pytest

from cases import cases
from rl_resources.certainty import (
    CLAIMS,
    MARKS,
    RUNS,
    SCALE,
    certainty,
    in_words,
    marks,
    script_said,
)
from rl_resources.facts.comparison import NO_TAG
from rl_resources.query.configurations import configurations
from rl_resources.query.find import ask
from rl_resources.query.fit import FITTING
from rl_resources.query.sentences import step_time
from rl_resources.site.environment import Site
from rl_resources.site.pages import pages
from rl_resources.site.rst import device_tuning
from rl_resources.site.tuning_table import cells, markdown, meaning
from sample_tree import with_tables
from shipped import DATASET
from test_record_page import page_of

NO_TAG_BADGE = f'<span class="tag tag--none">{NO_TAG}</span>'
FIRST = DATASET.records["tuning"][0]


@cases("certainty", "word")
def test_a_row_has_one_word_and_its_marks(cells, word, marks, said):
    assert certainty(cells) == word
    assert list(_marks(cells)) == marks
    assert in_words(cells) == said


_marks = marks


@cases("certainty", "script")
def test_only_a_script_that_ran_here_is_tested(tested_on, source, said):
    assert script_said(tested_on, source) == said


@pytest.mark.parametrize("table", ["tuning", "reports"])
def test_every_statement_of_the_schema_is_a_run_or_a_claim(table):
    words = DATASET.package.resources[table].schema.field("statement").words
    assert {*words} == RUNS | CLAIMS.keys()


@cache
def _texts() -> dict[str, str]:
    """All pages without the notes and wordings of sources, the RST page and a record's page."""
    records = [{**row, "notes": None} for row in DATASET.records["tuning"]]
    reports = [
        {**row, "notes": None, "requirement_wording": None}
        for row in DATASET.records["reports"]
    ]
    bare = with_tables(DATASET, tuning=records, reports=reports)
    made = pages(Site(bare))
    del made["data.md"]  # names the columns, and what the words were before
    made["page.rst"] = device_tuning(bare, None)
    made["record"] = page_of(records[0])
    return made


def test_published_runs_are_never_called_tested():
    says_tested = re.compile(r"[^.]*\b(?:un)?tested\b[^.]*", re.IGNORECASE)
    allowed = ("“Tested” means that the script", "Every example is tested against")
    for page in _texts().values():
        text = re.sub("<[^>]*>", ".", page)
        for sentence in says_tested.findall(text):
            assert sentence.strip().startswith(allowed)


@pytest.mark.parametrize(
    "word", ["should fit", "evidence level", "confidence", "unexplained"]
)
def test_there_is_no_sixth_word(word):
    assert [path for path, text in _texts().items() if word in text.lower()] == []


def test_the_front_page_defines_each_word_once_and_tags_as_the_schema_does():
    page = _texts()["index.md"]
    field = DATASET.package.resources["tuning"].schema.field("tag")
    for text in SCALE.values():
        assert page.count(text) == 1
    for text in MARKS.values():
        assert page.count(text[1:]) == 1
    for tag in field.words:
        assert meaning(field, tag).split("`")[0] in page


def test_a_disputed_record_is_never_loud():
    row = {
        **FIRST,
        "tag": "RECOMMENDED",
        "status": "disputed",
        "notes": "One says 1, one says 2.",
    }
    loud = 'class="tag tag--recommended"'
    assert loud in page_of({**row, "status": "reported"})
    page = page_of(row)
    assert loud not in page.partition("<h2")[0]
    assert 'class="mark mark--disputed"' in page


def test_a_record_without_a_tag_shows_a_dash_in_tables_alone():
    row = {**FIRST, "tag": None}
    assert cells(DATASET, row)["Tag"] == NO_TAG
    assert NO_TAG_BADGE not in page_of(row)
    rows = [{**row, "tag": None} for row in DATASET.records["tuning"]]
    untagged = with_tables(DATASET, tuning=rows)
    assert f"\n| {NO_TAG} |" in markdown(untagged, ["7B"], None)
    assert NO_TAG_BADGE in pages(Site(untagged))["coverage.md"]


@pytest.mark.parametrize("weights", ["lora", "qlora"])
def test_lora_and_qlora_are_kept_apart_and_offer_each_other_by_name(weights):
    labels = {"lora": "With QLoRA, a 4-bit base: ", "qlora": "With LoRA: "}
    found, _ = ask(DATASET, {"weights": weights})
    assert {row.weights for row in found.answers} == {weights}
    reports = [row for row in DATASET.records["reports"] if row["weights"] != weights]
    known = with_tables(DATASET, tuning=(), trials=(), reports=reports)
    found, _ = ask(
        known, {"size": "7B", "weights": weights, "gpus": "8", "device": "h100"}
    )
    assert found.answers == []
    (other,) = [item for item in found.nearest if item.kind == "other-base"]
    assert other.reason.startswith(labels[weights])
    assert other.row.weights != weights


def test_a_headline_names_its_model_and_host_memory():
    page = _texts()["index.md"]
    cells = re.findall(
        r'<td class="certain [^"]+"><a href="[^"]+" title="(.*?), [0-9]', page
    )
    assert len(cells) > 50
    labels = {row.model_label for row in configurations(DATASET)}
    assert {*cells} <= labels
    row = {**FIRST, "host_memory_gb": 1600.0}
    known = with_tables(DATASET, tuning=[row])
    (record,) = [item for item in configurations(known) if item.script]
    assert "host memory 1600 GB" in record.conditions


@cases("find", "steps")
def test_a_step_time_says_of_which(statistic, shown):
    assert step_time(93.5, statistic) == shown


def test_the_scenario_of_a_record_is_its_cell():
    row = {**FIRST, "scenario": ("agentic",)}
    known = with_tables(DATASET, tuning=[row])
    found, _ = ask(known, {"scenario": "agentic", "model": str(row["model"])})
    assert found.answers[0].script.endswith(f"/{row['script']}")
    assert "agentic" in page_of(row)


def test_fits_are_words_for_hardware():
    found, _ = ask(DATASET, {"size": "7B", "gpus": "8", "device": "h100"})
    assert {row.fit for row in found.answers} == {*FITTING}


def test_the_finder_shows_the_words_and_no_fit_without_hardware(visit):
    with visit("/?model=7B&task=GRPO") as page:
        first = page.locator(".finder-card").first
        first.wait_for()
        assert first.locator(".certainty").inner_text() in SCALE
        assert not first.locator(".fit--ran-on-it").is_visible()
        assert "not run here yet" in page.locator(".finder-command").first.inner_text()
