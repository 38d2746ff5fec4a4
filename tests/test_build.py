"""`build`: all or nothing, and the same bytes for the same commit."""

import hashlib
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from bench import BIN, write_peer

from conftest import refused
from rl_resources import InvalidOutput, publish
from rl_resources.build import MARK, build
from rl_resources.check import check_root
from rl_resources.script import script_text
from rl_resources.script.framework.composition import (
    Composition,
    Source,
    compose_launch,
)
from rl_resources.script.launch import Launch
from sample_tree import files, plant_site, ran, succeeded
from website import MENU, RECORD, ROOT, address_of, edit_row

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
    first = files(built)
    other_order = {**os.environ, "PYTHONHASHSEED": "7"}  # of sets
    succeeded(BIN / "rl-resources", "build", "--out", out, cwd=ROOT, env=other_order)
    second = files(out / "site")  # in place of the older site
    assert first.keys() == second.keys()
    for name, content in first.items():
        assert second[name] == content, name


def text_of(path: Path) -> str:
    return path.read_text()


def test_the_missing_page_leads_home_and_to_the_index(built):
    page = text_of(built / "404.html")
    assert re.findall(r'<a href="([^"]+)">overview</a>', page) == ["/"]
    assert re.findall(r'<a href="([^"]+index\.json)"', page) == ["/api/v1/index.json"]


def test_a_page_leads_to_the_feed(built):
    feed = r'<link rel="alternate feed" type="application/atom\+xml" title="[^"]+" href="([^"]+)">'
    (target,) = re.findall(feed, text_of(built / "sizes/7b/index.html"))
    assert urljoin("/sizes/7b/", target) == "/feeds/all.xml"


def test_the_index_leads_programs_to_the_files_meant(built):
    folder = built / "api/v1"
    index = json.loads(text_of(folder / "index.json"))
    for item in [*index["documents"], *index["downloads"]]:
        content = (folder / item["path"]).read_bytes()
        assert item["bytes"] == len(content), item["path"]
        assert item["sha256"] == hashlib.sha256(content).hexdigest(), item["path"]


def test_each_record_leads_programs_to_its_page_and_script(built):
    records = built / "api/v1/records"
    scripts = built / "scripts"
    for path in records.rglob("*.json"):
        document = json.loads(text_of(path))
        links = document["links"].values()
        page, script = [path.parent / unquote(link) for link in links]
        name = script.resolve().relative_to(scripts.resolve())
        assert document["record"]["script"] == name.as_posix()
        assert script.read_bytes().startswith(b"#!")
        assert (page / "index.html").is_file()


@pytest.fixture(scope="module")
def targets(built: Path) -> list[str]:
    """The links of the index for assistants."""
    return re.findall(r"\]\(([^)\s]+)\)", text_of(built / "llms.txt"))


def test_the_index_for_assistants_has_every_page_of_the_menu(targets):
    pages = {path.removeprefix("/") or "./" for path in map(address_of, MENU)}
    assert len(pages) > 3
    assert pages < set(targets)


def test_every_link_of_the_index_for_assistants_leads_to_a_file(built, targets):
    suffixes = set()
    for target in targets:
        file = built / unquote(target)
        if file.is_dir():
            file /= "index.html"
        assert file.is_file(), target
        suffixes.add(file.suffix)
    assert suffixes == {".json", ".csv", ".html"}


def test_no_file_names_a_path_of_this_machine(built):
    for name, content in files(built).items():
        assert str(ROOT).encode() not in content, name
        assert str(built.parent).encode() not in content, name


@pytest.mark.nightly
def test_a_folder_without_git_names_every_page_once_in_the_sitemap(
    copy, out, monkeypatch
):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("SITE_URL", "https://example.org/")
    site = build(copy, out)
    named = re.findall("<loc>(.*)</loc>", text_of(site / "sitemap.xml"))
    urls = []
    for path in site.rglob("index.html"):
        text = text_of(path)
        if 'http-equiv="refresh"' not in text:
            (url,) = re.findall('<link rel="canonical" href="(.*)">', text)
            urls.append(url)
    assert sorted(named) == sorted(urls)
    assert "https://example.org/sizes/7b/" in urls


def test_the_peer_of_the_bench_builds_the_same_pages(copy, tmp_path):
    peer = tmp_path / "peer"
    write_peer(copy, peer)
    succeeded(BIN / "mkdocs", "build", "--quiet", cwd=peer)
    assert (peer / f"site/records/{RECORD}/index.html").is_file()


# What stops it


def test_bad_data_stop_the_build_and_keep_the_old_output(copy, out, answer):
    edit_row(copy, "tuning", f"{RECORD}.sh", device="h8000")
    said = answer("build", "--root", copy, "--out", out, status=1).err
    assert "vocabulary" in said
    assert files(out).keys() == OLD


def test_a_dead_link_stops_the_build_and_is_named(copy, out):
    page = copy / "site/pages/contributing.md"
    page.write_text(f"{page.read_text()}\nSee [this](gone.md).\n")
    done = ran(BIN / "rl-resources", "build", "--out", out, cwd=copy)
    assert done.stderr == (
        "Doc file 'contributing.md' contains a link 'gone.md', but the target is not "
        "found among documentation files.\n"
        "rl-resources: error: MkDocs: Aborted with 1 warnings in strict mode!\n"
    )
    assert done.returncode == 1
    assert files(out).keys() == OLD


@pytest.mark.parametrize("text", ["# Guide\n", "---\ntitle: [\n---\n# Guide\n"])
def test_a_page_without_a_title_or_a_description_is_named(copy, text):
    (copy / "site/pages").mkdir(parents=True, exist_ok=True)
    (copy / "site/pages/guide.md").write_text(text)
    message = "site/pages/guide.md: has no front matter with a title and a description"
    fix = "Begin it with `---`, `title: …`, `description: …` and `---`, each on a line."
    with refused(message, fix, InvalidOutput):
        publish.render(copy)


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
