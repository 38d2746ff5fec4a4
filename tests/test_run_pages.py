"""The pages of models, devices and frameworks, and the rows of runs that all pages share."""

import re
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
import yaml

from rl_resources.dataset import moves
from rl_resources.package import items_of
from rl_resources.query.configurations import configurations, every_configuration
from rl_resources.site.environment import TABLES, Site
from rl_resources.site.pages import pages
from rl_resources.site.run_pages import fewest_run, run_rows
from sample_tree import with_tables
from shipped import DATASET
from test_site import made
from website import ROOT, read_rows

MODEL = "models/qwen2-7b-instruct.md"
FIRST_MODEL = "Qwen/Qwen2-7B-Instruct"
"""The model of that page by which its architecture is known."""
KEYS = {"models": "model", "devices": "device", "frameworks": "framework"}
REPOSITORY = "https://github.com/OWNER/NAME"


@pytest.mark.parametrize("table", KEYS)
def test_every_row_has_a_page_that_the_list_leads_to(table):
    site = Site(DATASET)
    index = made()[f"{table}/index.md"]
    links = re.findall(r'href="\.\./([a-z]+/[^"/]+/)"', index)
    anchors = re.findall(r' id="row-([^"]+)"', index)
    for row in DATASET.records[table]:
        key = str(row[KEYS[table]])
        path, _, mark = site.thing(table, key).partition("#")
        assert path in links
        page = made()[f"{path.removesuffix('/')}.md"]
        assert not mark or f' id="{mark}"' in page
    assert len(set(anchors)) == len(DATASET.records[table])


def test_a_page_has_all_models_of_its_architecture_and_their_runs():
    page = made()[MODEL]
    for model in (
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen/Qwen2.5-Math-7B",
        "Qwen/Qwen2-7B-Instruct",
    ):
        assert f">{model}</a>" in page
    failed = re.findall(r'<tr id="[^"]+"[^>]* data-outcome="out of memory"', page)
    (said,) = re.findall(r"(\d+) that ran out of memory", page)
    assert len(failed) == int(said)


def test_every_model_has_an_address_of_its_own():
    site = Site(DATASET)
    for row in DATASET.records["models"]:
        url = f"models/{row['slug']}"
        if f"{url}.md" in made():
            continue
        stub = made()[f"{url}/index.html"]
        (target,) = re.findall(r'content="0; url=([^"]+)"', stub)
        page = site.thing("models", str(row["model"]))
        assert urljoin(f"/{url}/", target) == f"/{page}"


def test_the_fewest_known_is_an_undisputed_run_and_a_real_one_before_random_tokens():
    runs = [
        row for row in configurations(DATASET) if row.state == "run" and row.gpus > 1
    ]
    run = next(row for row in runs if not row.doubtful)
    few = run._replace(gpus=1)
    disputed = few._replace(marks=("disputed",))
    random = few._replace(scenario=("synthetic",))
    failed = few._replace(outcome="out-of-memory")
    assert fewest_run([run, disputed, random, failed, few], run.weights) is few
    assert fewest_run([disputed, random], run.weights) is random
    assert fewest_run([disputed], run.weights) is None


def test_a_page_shows_the_committed_fewest_gpus_by_arithmetic():
    rows = read_rows(ROOT / "benchmarks/fewest.csv")
    (row,) = [
        row for row in rows if (row["model"], row["weights"]) == (FIRST_MODEL, "full")
    ]
    cells = re.findall(
        r'data-label="Estimated, (\d+) GB"> <[^>]+>([^<]*)<', made()[MODEL]
    )
    memories = TABLES["models"]["estimated"].values()
    full = dict(cells[: len(memories)])
    assert full == {str(gb): row[str(gb)] for gb in memories}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "asked",
    [("Qwen/Qwen3-8B", "full"), ("7B", "lora"), ("32B", "qlora"), ("405B", "lora")],
)
def test_the_committed_fewest_gpus_are_those_of_the_formula(asked):
    import fewest

    rows = (ROOT / "benchmarks/fewest.csv").read_text().splitlines()
    made = ",".join(map(str, [*asked, *fewest.fewest(DATASET, asked)]))
    assert made in rows, "run make backtest"


def test_every_row_of_runs_has_a_cell_for_each_column():
    rows = run_rows(Site(DATASET), every_configuration(DATASET))
    assert len(rows) == len(every_configuration(DATASET))
    for html in rows.values():
        assert re.findall(r'<td data-label="([^"]+)"', html) == TABLES["columns"]


@pytest.mark.parametrize("name", TABLES["sets"])
def test_a_set_of_columns_names_columns(name):
    assert set(TABLES["sets"][name]) <= set(TABLES["columns"])


def test_a_run_of_ones_own_is_filled_in_where_the_form_can_be_filled_in():
    site = Site(DATASET, REPOSITORY)
    row = configurations(DATASET)[0]
    (html,) = run_rows(site, [row]).values()
    (link,) = re.findall(r'class="ran-this" href="([^"]+)"', html)
    url = urlsplit(unescape(link))
    asked = dict(parse_qsl(url.query))
    assert url.path == "/OWNER/NAME/issues/new"
    assert asked.pop("template") == "record.yml"
    assert asked.pop("title").startswith("Record: ")
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/record.yml").read_text())
    inputs = {item.get("id") for item in form["body"] if item["type"] == "input"}
    assert asked.keys() <= inputs
    assert asked["gpus"] == str(row.gpus)


def test_a_thing_that_was_renamed_or_withdrawn_keeps_its_page():
    row = {"version": "2026.12.0", "reason": "Why."}
    moved = [
        {"resource": "models", "id": "a/Old", "moved_to": ("Qwen/Qwen2.5-7B",), **row},
        {"resource": "devices", "id": "h900", "moved_to": None, **row},
    ]
    dataset = with_tables(DATASET, moved=moved)
    found = pages(Site(dataset))
    renamed = found["models/old.md"]
    (link,) = re.findall(r'href="([^"]+)"', renamed)
    assert urljoin("/models/old/", link) == "/models/qwen2-7b-instruct/#qwen2.5-7b"
    assert "The model is now here" in renamed
    withdrawn = found["devices/h900.md"]
    assert "This device was withdrawn." in withdrawn
    assert "Why." in withdrawn


def test_a_report_that_moved_keeps_its_address():
    reports = DATASET.by_key["reports"]
    for id_, move in moves(DATASET, "reports").items():
        first, *_ = items_of(move, "moved_to")
        size = str(reports[first]["size"])
        page = made()[f"reports/{size.lower()}.md"]
        assert f'id="{id_}"' in page
        assert str(move["reason"]) in unescape(page)


def test_no_page_has_more_than_two_folds(built):
    template = re.compile(
        "<template.*?</template>", re.S
    )  # what a script may show one day
    for path in built.rglob("*.html"):
        text = template.sub("", path.read_text())
        assert text.count('<details class="fold"') <= 2, path


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("devices/h10/", "devices/h100/"),
        ("models/qwen2-7b-instruc", "models/qwen2-7b-instruct/"),
    ],
)
def test_an_unknown_address_offers_the_nearest(browser, address, built, wrong, near):
    page = browser.new_page()
    text = (built / "404.html").read_text()
    page.route(
        f"**/{wrong}",
        lambda route: route.fulfill(status=404, body=text, content_type="text/html"),
    )
    page.goto(f"{address}/{wrong}")
    page.get_by_role("link", name=near, exact=True).click()
    page.wait_for_url(f"**/{near}")
    page.close()


def test_a_name_in_a_table_leads_to_its_page(visit):
    with visit("/sizes/7b/") as page:
        page.locator("[data-label=Resource] a").first.click()
        page.wait_for_url("**/devices/*/")
        page.locator("[data-label=Model] a").first.click()
        page.wait_for_url("**/models/**")


def test_every_list_above_a_table_has_a_name():
    drawn = (ROOT / "site/assets/partials/drawn.html").read_text()
    for table in ("models", "devices"):
        for name in TABLES[table]["lists"].split():
            assert f'"facet.{name}"' in drawn
