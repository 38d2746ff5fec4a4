"""What is derived from rules and schemas: committed files and the pages about rules."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from rl_resources import generate, load
from rl_resources.check.registry import FAMILIES, all_rules
from rl_resources.contribute.facts import read_form
from rl_resources.devices import Devices
from rl_resources.generate import FORM, REQUIRED
from rl_resources.package import read_package
from rl_resources.site.environment import Site

ROOT = Path(__file__).parents[1]
DERIVED = sorted(generate.generated(ROOT))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of all that the derived files follow from, and of those files."""
    for name in ("schema", "records", "datapackage.json", *DERIVED):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, target)
    return tmp_path


@pytest.mark.parametrize("path", DERIVED)
def test_no_committed_file_is_stale(path):
    wanted = generate.generated(ROOT)[path]
    assert (ROOT / path).read_text(encoding="utf-8") == wanted, f"run `{generate.COMMAND}`"


def test_a_stale_part_is_reported_and_then_written_and_what_is_by_hand_stays(checkout, capsys):
    for path in DERIVED:
        text = (checkout / path).read_text(encoding="utf-8")
        (checkout / path).write_text(f"# By hand.\n{text.replace('framework', 'frame')}")
    assert generate.main(checkout, check=True) == 1
    assert "CONTRIBUTING.md: stale, run `make generate`" in capsys.readouterr().out
    assert generate.main(checkout, check=False) == 0
    assert generate.main(checkout, check=True) == 0
    assert (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8").startswith("# By hand.\n")


def test_the_citation_names_what_the_descriptor_does():
    package, cited = read_package(ROOT), yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (cited["title"], cited["version"]) == (package.document["title"], package.version)
    assert cited["abstract"] == package.document["description"]
    assert cited["date-released"] == package.created


@pytest.mark.parametrize("path", ["CONTRIBUTING.md", "site/pages/contributing.md"])
def test_the_checklist_has_a_line_for_each_family_of_a_contribution_and_no_other(path):
    page = (ROOT / path).read_text(encoding="utf-8")
    reported = [family for family in FAMILIES.values() if family.summary in page]
    assert reported == [family for family in FAMILIES.values() if family.scope != "page"]


def test_one_page_has_all_that_the_registry_says_of_every_rule_at_an_anchor_of_its_own():
    page = Site(load(ROOT)).page("rules/index.md", "rules.md", families=FAMILIES)
    anchors = [*re.findall(r'<tr id="([^"]+)">', page), *re.findall(r"\{ #(\S+) \}", page)]
    assert set(all_rules()) < set(anchors)
    assert len(anchors) == len(set(anchors))


def test_the_form_asks_at_most_twelve_questions_in_words_that_draft_reads_back():
    dataset = load(ROOT)
    body = yaml.safe_load((ROOT / FORM).read_text("utf-8"))["body"]
    asked = {item["id"]: item["attributes"] for item in body if "id" in item}
    assert len(asked) <= 12
    assert {"script_text", "log", *REQUIRED} < set(asked)
    assert {name for name, item in asked.items() if "options" in item} == {
        *("tag", "device", "task", "train", "infer")
    }
    devices = Devices(dataset)
    answers = [
        (name, item["label"], option)
        for name, item in asked.items()
        for option in item.get("options", ())
    ]
    for name, label, option in answers:
        read = read_form(f"### {label}\n\n{option}\n", dataset).facts[name].text
        table = {"tag": {"MIN", "RECOMMENDED"}, "task": dataset.by_key["tasks"]}
        known = table.get(name, dataset.by_key["backends"])
        assert len(devices.named(read)) == 1 if name == "device" else read in known
