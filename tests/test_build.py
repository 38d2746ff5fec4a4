"""`build`: all or nothing, and the same bytes for the same commit."""

import hashlib
import json
import re
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest

from rl_resources import InvalidOutput, UnreadableDataset, UnusableInput, publish
from rl_resources.build import MARK, build
from rl_resources.check import check_root
from rl_resources.cli import main
from rl_resources.script import script_text
from rl_resources.script.framework.composition import Composition, Source, compose_launch
from rl_resources.script.launch import Launch
from sample_tree import files, plant_site
from website import RECORD, ROOT, edit_row

OLD = {f"site/{MARK}", "site/index.html"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with an older site."""
    folder = tmp_path / "out"
    (folder / "site").mkdir(parents=True)
    (folder / "site" / MARK).touch()
    (folder / "site" / "index.html").write_text("old")
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A small checkout whose files may be broken."""
    return plant_site(tmp_path / "checkout")


# What a build gives


@pytest.mark.nightly
def test_two_builds_are_byte_for_byte_equal(built, out):
    first, second = files(built), files(build(ROOT, out))  # replaces the older site
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_pages_lead_home_to_the_index_and_to_the_feed(built):
    page = (built / "404.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)">overview</a>', page) == ["/"]
    assert re.findall(r'<a href="([^"]+index\.json)"', page) == ["/api/v1/index.json"]
    feed = r'<link rel="alternate feed" type="application/atom\+xml" title="[^"]+" href="([^"]+)">'
    named = re.findall(feed, (built / "sizes/7b/index.html").read_text(encoding="utf-8"))
    assert [urljoin("/sizes/7b/", target) for target in named] == ["/feeds/all.xml"]


def test_the_index_and_each_record_lead_programs_to_the_files_meant(built):
    folder = built / "api/v1"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for item in [*index["documents"], *index["downloads"]]:
        content = (folder / item["path"]).read_bytes()
        found = (len(content), hashlib.sha256(content).hexdigest())
        assert (item["bytes"], item["sha256"]) == found, item["path"]
    for path in (folder / "records").iterdir():
        document = json.loads(path.read_text(encoding="utf-8"))
        page, script = (path.parent / unquote(link) for link in document["links"].values())
        assert document["record"]["script"] == script.name
        assert script.read_bytes().startswith(b"#!")
        assert (page / "index.html").is_file()


def test_every_link_of_the_index_for_assistants_leads_to_a_file(built):
    targets = re.findall(r"\]\(([^)\s]+)\)", (built / "llms.txt").read_text(encoding="utf-8"))
    menu = re.findall(
        r"^  - \w+: (\w+)\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    assert {f"{page}/".replace("index/", "./") for page in menu} < {*targets}
    places = [built / unquote(target) for target in targets]
    found = [place / "index.html" if place.is_dir() else place for place in places]
    assert [str(file) for file in found if not file.is_file()] == []
    assert {file.suffix for file in found} == {".json", ".csv", ".html"}


def test_no_file_names_a_path_of_this_machine(built):
    paths = (str(ROOT).encode(), str(built.parent).encode())
    written = files(built).items()
    assert [name for name, data in written if any(path in data for path in paths)] == []


@pytest.mark.nightly
def test_a_folder_without_git_names_every_page_once_in_the_sitemap(copy, out, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("SITE_URL", "https://example.org/")
    site = build(copy, out)
    sitemap = (site / "sitemap.xml").read_text(encoding="utf-8")
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("index.html")]
    own = [re.findall('<link rel="canonical" href="(.*)">', page) for page in pages]
    assert sorted([url] for url in re.findall("<loc>(.*)</loc>", sitemap)) == sorted(own)
    assert ["https://example.org/sizes/7b/"] in own


# What stops it


def test_bad_data_stop_the_build_and_keep_the_old_output(copy, out, capsys):
    edit_row(copy, "tuning", f"{RECORD}.sh", device="h8000")
    assert main(["build", "--root", str(copy), "--out", str(out)]) == 1
    assert "vocabulary" in capsys.readouterr().err
    assert files(out).keys() == OLD


def test_no_name_leads_out_of_the_folder_even_if_no_rule_was_asked(copy):
    edit_row(copy, "tuning", f"{RECORD}.sh", script="../../../../escaped.sh")
    (copy.parent / "escaped.sh").write_text("echo hello\n")
    with pytest.raises(InvalidOutput, match="leads out of the directory"):
        publish.render(copy)


def test_a_root_without_pages_cannot_be_built(tmp_path):
    with pytest.raises(UnreadableDataset, match=r"mkdocs\.yml"):
        build(tmp_path, tmp_path)


def test_the_sources_are_never_written_over(copy):
    before = files(copy)
    with pytest.raises(UnusableInput, match="not built by this program"):
        build(copy, copy)
    assert files(copy) == before


def test_a_folder_that_we_did_not_build_is_never_replaced(out):
    (out / "site" / MARK).unlink()
    with pytest.raises(UnusableInput, match="not built by this program"):
        build(ROOT, out)
    assert [*files(out)] == ["site/index.html"]


def test_a_script_is_composed_once_for_rules_and_pages(copy, monkeypatch):
    composed = []

    def counted(source: Source, launch: Launch) -> Composition:
        composed.append(launch)
        return compose_launch(source, launch)

    monkeypatch.setattr(script_text, "compose_launch", counted)
    script_text.script_text.cache_clear()
    check_root(copy)
    publish.render(copy)
    assert len(composed) == len([*copy.rglob("*.sh")])
