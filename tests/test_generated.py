"""What is derived from rules and schemas: committed files and the pages about rules."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from rl_resources import generate
from rl_resources.check import FAMILIES, all_rules
from rl_resources.contribute.sources import read_form
from rl_resources.devices import devices_of
from rl_resources.generate import FORM, REQUIRED
from rl_resources.package import read_package
from rl_resources.site.environment import Site
from shipped import DATASET
from website import ROOT

DERIVED = sorted(generate.generated(ROOT))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of all that the derived files follow from, and of those files."""
    for name in ("schema", "records"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("datapackage.json", *DERIVED):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, path)
    return tmp_path


@pytest.mark.parametrize("path", DERIVED)
def test_no_committed_file_is_stale(path):
    wanted = generate.generated(ROOT)[path]
    written = (ROOT / path).read_text()
    assert written == wanted, f"run `{generate.COMMAND}`"


def test_a_stale_part_is_reported_and_then_written_and_what_is_by_hand_stays(
    checkout, capsys
):
    for name in DERIVED:
        path = checkout / name
        text = path.read_text()
        stale = text.replace("framework", "frame")
        path.write_text(f"# By hand.\n{stale}")
    assert generate.main(checkout, check=True) == 1
    assert "CONTRIBUTING.md: stale, run `make generate`\n" in capsys.readouterr().out
    assert generate.main(checkout, check=False) == 0
    assert "CONTRIBUTING.md: written\n" in capsys.readouterr().out
    assert generate.main(checkout, check=True) == 0
    written = (checkout / "CONTRIBUTING.md").read_text()
    assert written.startswith("# By hand.\n")


def test_the_citation_names_what_the_descriptor_does():
    package = read_package(ROOT)
    text = (ROOT / "CITATION.cff").read_text()
    cited = yaml.safe_load(text)
    assert cited["title"] == package.document["title"]
    assert cited["abstract"] == package.document["description"]
    assert cited["version"] == package.version
    assert cited["date-released"] == package.created


@pytest.mark.parametrize("path", ["CONTRIBUTING.md", "site/pages/contributing.md"])
def test_the_checklist_has_a_line_for_each_family_of_a_contribution_and_no_other(path):
    page = (ROOT / path).read_text()
    for family in FAMILIES.values():
        is_of_contribution = family.scope != "page"
        assert (family.summary in page) == is_of_contribution, family.title


def test_one_page_has_all_that_the_registry_says_of_every_rule_at_an_anchor_of_its_own():
    site = Site(DATASET)
    page = site.page("rules/index.md", "rules.md", families=FAMILIES)
    anchors = re.findall(r'<(?:tr|h2) id="([^"]+)">', page)
    families = {f"family-{name}" for name in FAMILIES}
    assert set(anchors) == families | set(all_rules())
    assert len(anchors) == len(set(anchors))
    assert '>1<span class="for-readers"> rule</span>' in page


ISSUE_FORM = yaml.safe_load((ROOT / FORM).read_text())
QUESTIONS = ISSUE_FORM["body"]
ANSWERED = [item for item in QUESTIONS if "id" in item]
ASKED = {item["id"]: item["attributes"] for item in ANSWERED}
OPTIONS = {
    "tag": ("MIN", "RECOMMENDED"),
    "task": DATASET.by_key["tasks"],
    "train": DATASET.by_key["backends"],
    "infer": DATASET.by_key["backends"],
    "device": DATASET.by_key["devices"],
}


def test_the_form_asks_at_most_twelve_questions():
    assert len(ASKED) <= 12
    needed = {"script_text", "log", *REQUIRED}
    assert needed < set(ASKED)
    choices = {name for name, item in ASKED.items() if "options" in item}
    assert choices == set(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_draft_reads_back_every_word_of_the_form(name):
    title = ASKED[name]["label"]
    for option in ASKED[name]["options"]:
        answer = f"### {title}\n\n{option}\n"
        form = read_form(answer, DATASET)
        read = form.facts[name].text
        if name == "device":
            (read,) = devices_of(DATASET).named(read)
        assert read in OPTIONS[name]
