"""`build`: all or nothing, and the same bytes for the same commit."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from jinja2 import Environment, FileSystemLoader, UndefinedError

from rl_resources import InvalidOutput, UnreadableDataset, UnusableInput, publish
from rl_resources import build as building
from rl_resources.build import MARK, build, judge
from rl_resources.check import check_root
from rl_resources.check.script import shellcheck
from rl_resources.cli import main
from rl_resources.cli.command import INTERRUPTED
from rl_resources.output import new_folder
from rl_resources.site import api
from rl_resources.site.findings import error_as_text
from sample_tree import plant

ROOT = Path(__file__).parents[1]


def _files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def _old_output(folder: Path) -> Path:
    (folder / "site").mkdir(parents=True)
    (folder / "site" / MARK).touch()
    old = folder / "site" / "index.html"
    old.write_text("old")
    return old


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout whose files may be broken."""
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    root = tmp_path / "checkout"
    for name in tracked:
        if name.startswith(("records/", "schema/", "examples/", "site/", "mkdocs", "datapackage")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    return root


def test_two_builds_are_byte_for_byte_equal(built: Path, tmp_path: Path) -> None:
    second = build(ROOT, tmp_path)
    names = _files(built)
    assert names == _files(second)
    _, different, unreadable = filecmp.cmpfiles(built, second, names, shallow=False)
    assert (different, unreadable) == ([], [])


def test_every_published_path_is_there(built: Path) -> None:
    record = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"
    wanted = [
        "index.html",
        "sizes/7b/index.html",
        "sizes/671b/index.html",
        f"records/{record}/index.html",
        "contributing/index.html",
        "rules/index.html",
        "data/index.html",
        "models/index.html",
        "devices/index.html",
        "api/v1/index.json",
        "api/v1/records.json",
        f"api/v1/records/{record}.json",
        "api/v1/sizes/7b.json",
        "api/v1/schema/records.json",
        "api/v1/all.json",
        "api/v1/openapi.json",
        "feeds/all.xml",
        "llms.txt",
        "404.html",
        "rst/device_tuning.rst",
        "rst/7b.rst",
    ]
    assert [path for path in wanted if not (built / path).is_file()] == []


def test_the_page_for_what_is_not_there_leads_home_and_programs_to_the_index(built: Path) -> None:
    page = (built / "404.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)">overview</a>', page) == ["/"]
    assert re.findall(r'<a href="([^"]+index\.json)"', page) == ["/api/v1/index.json"]


def test_a_program_finds_every_file_that_the_index_names_and_it_is_the_one_meant(
    built: Path,
) -> None:
    place = built / "api/v1/index.json"
    index = json.loads(place.read_text(encoding="utf-8"))
    for item in [*index["documents"], *index["downloads"]]:
        content = (place.parent / item["path"]).read_bytes()
        told = (item["bytes"], item["sha256"])
        assert told == (len(content), hashlib.sha256(content).hexdigest()), item["path"]
    assert len([item for item in index["downloads"] if "/scripts/" in item["path"]]) >= 10


def test_a_record_leads_programs_to_its_page_and_its_script(built: Path) -> None:
    documents = sorted((built / "api/v1/records").iterdir())
    for path in documents:
        document = json.loads(path.read_text(encoding="utf-8"))
        page, script = (path.parent / unquote(link) for link in document["links"].values())
        assert document["record"]["script"] == script.name
        assert script.read_bytes().startswith(b"#!")
        assert (page / "index.html").is_file()
    assert len(documents) >= 10


def test_pages_name_the_feeds_that_follow_them(built: Path) -> None:
    feed = r'<link rel="alternate feed" type="application/atom\+xml" title="[^"]+" href="([^"]+)">'
    named = re.findall(feed, (built / "sizes/7b/index.html").read_text(encoding="utf-8"))
    assert [urljoin("/sizes/7b/", target) for target in named] == ["/feeds/all.xml"]
    named = re.findall(feed, (built / "index.html").read_text(encoding="utf-8"))
    assert named == ["feeds/all.xml"]


def test_every_link_of_the_index_for_assistants_leads_to_a_file(built: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", (built / "llms.txt").read_text(encoding="utf-8"))
    places = [built / unquote(target) for target in targets]
    files = [place / "index.html" if place.is_dir() else place for place in places]
    assert [str(file) for file in files if not file.is_file()] == []
    assert {file.suffix for file in files} == {".json", ".csv", ".html"}


def test_no_file_names_a_path_of_this_machine(built: Path) -> None:
    found = [
        name
        for name in _files(built)
        if str(ROOT).encode() in (built / name).read_bytes()
        or str(built.parent).encode() in (built / name).read_bytes()
    ]
    assert found == []


def test_bad_data_stop_the_build_and_keep_the_old_output(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _old_output(tmp_path / "out")
    tuning = copy / "records" / "tuning.csv"
    tuning.write_text(tuning.read_text(encoding="utf-8").replace(",h800,", ",h8000,", 1))
    assert main(["build", "--root", str(copy), "--out", str(tmp_path / "out")]) == 1
    assert "vocabulary" in capsys.readouterr().err
    assert _files(tmp_path / "out") == [f"site/{MARK}", "site/index.html"]
    assert old.read_text() == "old"


@pytest.mark.nightly
def test_an_interrupted_build_says_so_in_one_line_and_leaves_nothing_running_or_lying_about(
    copy: Path, tmp_path: Path
) -> None:
    old = _old_output(tmp_path / "out")
    words = f"-m rl_resources build --root {copy} --out {old.parents[1]}"
    command = [sys.executable, *words.split()]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None and not any((tmp_path / "out").glob(".site.*/site/*")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1] == "rl-resources: interrupted\n"
    assert process.returncode == INTERRUPTED
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert _files(tmp_path / "out") == [f"site/{MARK}", "site/index.html"]


def test_what_is_wrong_with_the_configuration_is_told_before_the_rules_are_asked(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (copy / "mkdocs.yml").open("a", encoding="utf-8") as file:
        file.write("plugins: [none-of-that-name]\n")
    monkeypatch.setattr(building, "check_root", pytest.fail)
    with pytest.raises(InvalidOutput, match="none-of-that-name"):
        build(copy, tmp_path / "out")


def test_no_name_leads_out_of_the_folder_even_if_no_rule_was_asked(copy: Path) -> None:
    script, way_out = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh", "../../../../escaped.sh"
    tuning = copy / "records" / "tuning.csv"
    text = tuning.read_text(encoding="utf-8").replace(f"\n{script},", f"\n{way_out},", 1)
    tuning.write_text(text, encoding="utf-8")
    (copy.parent / "escaped.sh").write_text("echo hello\n")
    with pytest.raises(InvalidOutput, match=r"escaped\.sh.* does not match"):
        publish.render(copy)


def test_a_document_that_breaks_its_schema_stops_the_build_and_keeps_the_old_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _old_output(tmp_path)
    monkeypatch.setattr(api, "record_id", lambda record: 7)
    assert main(["build", "--root", str(ROOT), "--out", str(tmp_path)]) == 1
    assert '7 is not of type "string"' in capsys.readouterr().err
    assert _files(tmp_path) == [f"site/{MARK}", "site/index.html"]
    assert old.read_text() == "old"


def test_where_nothing_can_be_written_the_help_names_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["build", "--root", str(ROOT), "--out", str(tmp_path / "file")]) == 2
    told = capsys.readouterr().err
    assert "cannot be written" in told
    assert "--out DIR" in told.partition("help: ")[2]


@pytest.mark.nightly
def test_a_folder_without_git_names_every_page_once_in_the_sitemap_and_no_day(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("SITE_URL", "https://example.org/")
    site = build(copy, tmp_path / "out")
    sitemap = (site / "sitemap.xml").read_text(encoding="utf-8")
    assert "<lastmod>" not in sitemap
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("index.html")]
    own = [re.findall('<link rel="canonical" href="(.*)">', page) for page in pages]
    assert sorted([url] for url in re.findall("<loc>(.*)</loc>", sitemap)) == sorted(own)
    assert ["https://example.org/sizes/7b/"] in own


def test_a_name_that_a_template_lacks_is_told_where_the_template_asks_for_it(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.jinja"
    page.write_text("\n{{ nothing.at_all }}\n")
    template = Environment(loader=FileSystemLoader(tmp_path)).get_template(page.name)  # noqa: S701
    with pytest.raises(UndefinedError) as raised:
        template.render()
    assert error_as_text(raised.value).startswith(f"{page}:2: UndefinedError: ")


def test_a_root_without_pages_cannot_be_built(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDataset, match=r"mkdocs\.yml"):
        build(tmp_path, tmp_path)


def test_a_folder_takes_the_place_of_the_old_one_as_a_whole(tmp_path: Path) -> None:
    _old_output(tmp_path)
    with new_folder(tmp_path / "site") as staging:
        (staging / "new").touch()
    assert _files(tmp_path) == ["site/new"]


def test_a_folder_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    _old_output(tmp_path)
    with pytest.raises(InvalidOutput), new_folder(tmp_path / "site") as staging:
        (staging / "new").touch()
        raise InvalidOutput("half way")
    assert _files(tmp_path) == [f"site/{MARK}", "site/index.html"]


def test_all_rules_but_shellcheck_s_are_asked_of_what_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plant(tmp_path / "dataset")
    script = min((root / "examples").rglob("*.sh"))
    words = f"{script.read_text(encoding='utf-8')}echo $@\nif [ 1 -eq 1]; then true; fi\n"
    script.write_text(words, encoding="utf-8")
    told = {item.rule for item in check_root(root)}
    monkeypatch.setattr(shellcheck, "ask", lambda _: pytest.fail("asked"))
    assert {item.rule for item in judge(root)} == told - shellcheck.RULES != set()
    assert "shellcheck-error" in told


@pytest.mark.parametrize("out", [".", "site", "records/new", "examples"])
def test_the_sources_are_never_written_over(copy: Path, out: str) -> None:
    before = _files(copy)
    with pytest.raises(UnusableInput, match=r"holds the sources|not built by this program"):
        build(copy, copy / out)
    assert _files(copy) == before


def test_a_folder_that_we_did_not_build_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "of-somebody-else").touch()
    with pytest.raises(UnusableInput, match="not built by this program"):
        build(ROOT, tmp_path)
    assert _files(tmp_path) == ["site/of-somebody-else"]


@pytest.mark.nightly
def test_our_own_output_is_replaced(tmp_path: Path) -> None:
    _old_output(tmp_path)
    assert (build(ROOT, tmp_path) / "index.html").read_text(encoding="utf-8") != "old"
