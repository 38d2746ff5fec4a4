"""One dataset whose rows hold every payload, published without the rules: all see text alone."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from conftest import SharedFolder
from payloads import PAYLOADS, free_columns, seen
from rl_resources import check, publish
from rl_resources.__main__ import status_of
from rl_resources.build import build
from rl_resources.package import read_package
from rl_resources.text import is_web_address
from test_downloads import Rows, by_csv, by_polars, by_sqlite
from website import ROOT, read_rows, served, visited, write_rows

AT_ONCE = 20
FIRST = 1001
"""The number of GPUs of the first record with a note."""
NOTES: dict[int, str] = {}
"""What stands in the notes of records, of which each has a page: many payloads, one before all."""
for at in range(0, len(PAYLOADS), AT_ONCE):
    gpus = FIRST + len(NOTES)
    NOTES[gpus] = " ¦ ".join(PAYLOADS[at : at + AT_ONCE])


def _record(gpus: int) -> str:
    return f"qwen2.5-7b-instruct_grpo-lora_{gpus}_h100_fsdp_vllm"


RECORDS = [f"records/{_record(gpus)}/" for gpus in NOTES]

SHAPES = """async (addresses) => Promise.all(addresses.map(async (address) => {
  const text = await (await fetch(address)).text()
  const page = new DOMParser().parseFromString(text, 'text/html')
  page.querySelectorAll('.related').forEach((part) => part.remove())
  const shape = [...page.querySelectorAll('*')].map(
    (item) => [item.localName, ...item.getAttributeNames().sort()].join(' '))
  return [shape, page.body.textContent]
}))"""


def _fill(root: Path, name: str) -> None:
    """Give a table one row more for each payload, which stands in all its free columns.

    Also in the URL of a report's source, where no rule is asked for its form.
    """
    resource = read_package(root).resources[name]
    rows = read_rows(root / resource.path)
    free = [field.name for field in free_columns(resource.schema)]
    if "source_url" in resource.schema.names:
        free.append("source_url")
    (key,) = resource.schema.primary_key
    first = rows[0]
    for number, text in enumerate(PAYLOADS):
        cells = dict.fromkeys(free, text)
        rows.append({**first, **cells, key: f"payload-{number}"})
    write_rows(root / resource.path, rows)


def _annotate(root: Path) -> None:
    """Put all notes into new records."""
    path = root / "records/tuning.csv"
    rows = read_rows(path)
    (good,) = (row for row in rows if row["script"] == f"{_record(1)}.sh")
    script = root / "examples/tuning/7b" / good["script"]
    for gpus, note in NOTES.items():
        name = f"{_record(gpus)}.sh"
        shutil.copy(script, script.with_name(name))
        rows.append({**good, "script": name, "gpus": str(gpus), "notes": note})
    write_rows(path, rows)


def _spread(root: Path, name: str) -> None:
    """Put payloads into the free columns of the rows that a table has."""
    resource = read_package(root).resources[name]
    rows = read_rows(root / resource.path)
    payloads = cycle(PAYLOADS)
    for row in rows:
        for field in free_columns(resource.schema):
            row[field.name] = next(payloads)
    write_rows(root / resource.path, rows)


def _plant(folder: Path) -> None:
    root = folder / "checkout"
    for name in ("records", "schema", "examples", "site"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("datapackage.json", "mkdocs.yml"):
        shutil.copy(ROOT / name, root)
    for name in ("devices", "reports"):
        _fill(root, name)
    for name in ("tasks", "backends", "frameworks", "sizes"):
        _spread(root, name)
    _annotate(root)


@pytest.fixture(scope="module")
def root(shared_folder: SharedFolder) -> Path:
    """A checkout with all payloads."""
    return shared_folder("payloads", _plant) / "checkout"


@pytest.fixture(scope="module")
def files(shared_folder: SharedFolder, root: Path) -> Path:
    """Everything that is rendered of it, before MkDocs makes pages of the Markdown."""

    def render(folder: Path) -> None:
        for name, content in publish.render(root).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content)
            else:
                path.write_bytes(content)

    return shared_folder("payloads-rendered", render)


@pytest.fixture(scope="module")
def origin(shared_folder: SharedFolder, root: Path) -> Iterator[str]:
    """Where its site is served."""

    def build_without_rules(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(check, "check_root", lambda root, **_: [])
            build(root, folder)

    folder = shared_folder("payloads-site", build_without_rules)
    with served(folder / "site") as address:
        yield address


@pytest.mark.parametrize(
    "text", ["javascript:x", "https://a.example/b has it", "https://a.example\uff0fb"]
)
def test_words_next_to_a_url_are_no_link(text):
    assert is_web_address("https://a.example:8080/b_(c)?d=e#f")
    assert not is_web_address(text)


PAGES = [
    "devices/",
    "reports/0.5b/",
    RECORDS[0],
    "reports/",
    "charts/",
    "data/",
    "",
    "coverage/",
    "sizes/7b/",
    "?model=0.5B",
    RECORDS[1],
    "estimate/",
]
ACTIVE = "article :is(iframe, object, embed, form form)"
LINKS = "[href^='javascript:' i], [href^='data:' i], [href*='<'], [href*=' ']"
FOREIGN = "[src*='elsewhere.invalid']"


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES)
def test_every_payload_is_text_and_runs_nothing(browser, origin, page):
    with visited(browser, f"{origin}/{page}") as tab:
        assert tab.evaluate("window.hacked") is None
        assert tab.locator(ACTIVE).count() == 0
        assert tab.locator(LINKS).count() == 0
        assert tab.locator(FOREIGN).count() == 0
        text = tab.locator("body").text_content() or ""
    if page == "devices/":
        assert not_shown(PAYLOADS, text) == []


def not_shown(payloads: Iterable[str], text: str) -> list[str]:
    shown = seen(text)
    return [payload for payload in payloads if seen(payload) not in shown]


@pytest.mark.nightly
def test_search_shows_what_it_finds_as_text(browser, origin):
    with visited(browser, f"{origin}/coverage/") as tab:
        tab.get_by_role("textbox", name="Search").press_sequentially("onerror")
        tab.locator(".md-search-result__link").first.wait_for()
        results = tab.locator(".md-search-result")
        assert "onerror" in (results.text_content() or "")
        active = results.locator(":is(img, iframe, script, svg[onload])")
        assert active.count() == 0
        assert tab.evaluate("window.hacked") is None


@pytest.mark.nightly
def test_the_page_of_a_record_has_one_shape_whatever_its_notes_say(browser, origin):
    addresses = [f"{origin}/{page}" for page in RECORDS]
    with visited(browser, f"{origin}/404.html") as tab:
        found = tab.evaluate(SHAPES, addresses)
    first, _ = found[0]
    for note, (shape, text) in zip(NOTES.values(), found, strict=True):
        assert not_shown([note], text) == []
        assert shape == first


def test_the_index_for_assistants_leads_to_no_other_site(files):
    text = (files / "llms.txt").read_text()
    markdown = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    page = markdown.render(text)
    tags = set(re.findall(r"<(\w+)", page))
    assert tags <= {"a", "blockquote", "code", "h1", "h2", "li", "p", "ul"}
    links = re.findall(r'href="([^"]*)"', page)
    assert "elsewhere" not in "\n".join(links)


def test_charts_are_well_formed_and_hold_no_script(files):
    drawings = [*files.rglob("*.svg"), *files.rglob("*.xml")]
    assert len(drawings) == 2
    for path in drawings:
        tags = set()
        for element in ElementTree.parse(path).iter():  # noqa: S314
            _, _, tag = str(element.tag).rpartition("}")
            tags.add(tag)
        assert tags.isdisjoint({"script", "foreignObject", "iframe"}), path


def by_api(downloads: Path, table: str) -> Rows:
    name = "records" if table == "tuning" else table
    text = (downloads.parent / f"api/v1/{name}.json").read_text()
    return json.loads(text)[name]


@pytest.mark.parametrize("read", [by_csv, by_api, by_polars, by_sqlite])
@pytest.mark.parametrize(
    ("table", "column", "texts"),
    [("devices", "name", PAYLOADS), ("tuning", "notes", NOTES.values())],
)
def test_every_download_gives_every_payload_back(files, read, table, column, texts):
    rows = read(files / "downloads", table)
    assert set(texts) <= {row[column] for row in rows}


@pytest.mark.parametrize(
    "command",
    [
        "find --size 7B --limit 2000",
        "find --size 7B --format json",
        "coverage",
        f"diff {ROOT} --format text",
        f"diff {ROOT} --format markdown",
    ],
)
def test_a_terminal_gets_no_character_that_it_obeys(command, root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    status_of(command.split())
    written = "".join(capsys.readouterr())
    assert len(written) > 500
    assert written.replace("\n", "").isprintable()
    assert re.search(r"^\s*::\w|##\[", written, re.M) is None
