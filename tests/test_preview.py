"""`make serve`: what a preview shows after an edit, and after a mistake."""

import time
from pathlib import Path
from queue import Queue

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from mkdocs.livereload import LiveReloadServer
from watchdog.events import FileSystemEventHandler

from sample_tree import files, plant_site
from website import RECORD, ROOT, edit_row, read_rows, write_rows

GONE = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"
PAGE = f"records/{RECORD}/index.html"
SIZE = "sizes/7b/index.html"
REPORTS = "reports/7b/index.html"
MODEL = "models/qwen2-7b-instruct/index.html"
CONTRIBUTING = "contributing/index.html"
CHINESE = "zh/index.html"
SCRIPT = f"examples/tuning/7b/{RECORD}.sh"
FAILURE = "qwen2.5-7b-instruct-ppo-8-h100-e7b798"


class Preview:
    """A server's builds of a checkout, without the server."""

    def __init__(self, root: Path, site: Path) -> None:
        self.root = root
        self.site = site
        self.started = False

    def update(self) -> None:
        """Build as after an edit."""
        description = str(self.root / "mkdocs.yml")
        config = load_config(
            config_file=description, site_dir=str(self.site), strict=True
        )
        if not self.started:
            config.plugins.on_startup(command="serve", dirty=False)
        self.started = True
        build(config, serve_url="http://localhost/")

    def text(self, page: str) -> str:
        return (self.site / page).read_text()


@pytest.fixture
def preview(tmp_path: Path) -> Preview:
    """A preview after its first build."""
    root = plant_site(tmp_path / "checkout")
    made = Preview(root, tmp_path / "site")
    made.update()
    return made


def edit_record(preview: Preview, **cells: str) -> None:
    edit_row(preview.root, "tuning", f"{RECORD}.sh", **cells)


def test_an_edit_shows_on_its_page(preview):
    edit_record(preview, max_batch="100", notes="Edited once more.")
    preview.update()
    assert "Edited once more." in preview.text(PAGE)


def test_a_record_that_is_gone_leaves_no_page(preview):
    table = preview.root / "records/tuning.csv"
    kept = [row for row in read_rows(table) if row["script"] != f"{GONE}.sh"]
    write_rows(table, kept)
    script = preview.root / f"examples/tuning/7b/{GONE}.sh"
    script.unlink()
    page = preview.site / f"records/{GONE}/index.html"
    assert page.is_file()
    assert GONE in preview.text(SIZE)
    preview.update()
    assert not page.exists()
    assert GONE not in preview.text(SIZE)


EDITS = [
    ("site/assets/partials/copyright.html", "<div", "<p>EDITED 1</p><div", SIZE),
    ("site/templates/record.md.jinja", "Does it fit?", "EDITED 2", PAGE),
    ("site/templates/run.jinja", ">out of memory<", ">EDITED 3<", REPORTS),
    ("schema/tuning.json", '"title": "MaxBatch"', '"title": "EDITED 4"', PAGE),
    ("records/devices.csv", "(SXM),NVIDIA,80", "(SXM),NVIDIA,85", PAGE),
    ("records/models.csv", "Qwen2.5,7B", "EDITED 6,7B", MODEL),
    ("records/reports.csv", f"{FAILURE},out-of-memory", f"{FAILURE},ran", PAGE),
    (SCRIPT, "set -", "# EDITED 8\nset -", PAGE),
    ("site/pages/contributing.md", "## ", "## EDITED 9\n\n## ", CONTRIBUTING),
    ("site/locale/zh.po", 'msgstr "不限"', 'msgstr "EDITED 10"', CHINESE),
]
"""A file of a checkout, a text in it, the text in its place, and a page that must show it."""


def test_an_edit_of_anything_shows_on_the_pages_that_it_concerns(preview, tmp_path):
    for path, old, new, page in EDITS:
        file = preview.root / path
        text = file.read_text()
        assert old in text, path
        file.write_text(text.replace(old, new, 1))
        before = preview.text(page)
        preview.update()
        assert preview.text(page) != before, path
    again = preview.root.rename(tmp_path / "again")  # with a hook of its own
    fresh = Preview(again, tmp_path / "fresh")
    fresh.update()
    assert files(preview.site) == files(fresh.site)


def test_a_mistake_before_there_is_any_page_ends_the_server(tmp_path, caplog):
    root = plant_site(tmp_path / "checkout")
    edit_row(root, "tuning", f"{RECORD}.sh", device="h8000")
    preview = Preview(root, tmp_path / "site")
    with pytest.raises(Abort):
        preview.update()
    assert "records/tuning.csv:3:" in caplog.text


def test_the_server_watches_all_that_pages_are_made_of():
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    names = (
        "records",
        "schema",
        "examples",
        "site/templates",
        "site/assets",
        "site/locale",
        "datapackage.json",
    )
    assert set(config.watch) == {str(ROOT / name) for name in names}


def test_a_mistake_shows_above_the_last_good_pages_until_it_is_fixed(preview):
    record = preview.text(PAGE)
    size = preview.text(SIZE)
    table = preview.root / "records/tuning.csv"
    good = table.read_bytes()
    edit_record(preview, device="<h8000>")
    preview.update()
    for page in (PAGE, SIZE, CONTRIBUTING):
        text = preview.text(page)
        assert "records/tuning.csv:3:" in text
        assert "&lt;h8000&gt;" in text
        assert text.count("These pages are older than the data") == 1
    assert "These pages are older" not in preview.text("search/search_index.json")
    table.write_bytes(good)
    preview.update()
    assert preview.text(PAGE) == record
    assert preview.text(SIZE) == size


def served(root: Path) -> LiveReloadServer:
    """The server of a preview of `root`, which is not started."""
    description = str(root / "mkdocs.yml")
    config = load_config(config_file=description)
    server = LiveReloadServer(builder=None, host="localhost", port=0, root=str(root))
    for path in (config.docs_dir, description):
        server.watch(path)
    return config.plugins.on_serve(server, config=config, builder=None)


def test_the_server_watches_the_back_test_of_a_checkout():
    server = served(ROOT)
    watched = {emitter.watch.path for emitter in server.observer.emitters}
    server.server_close()
    assert str(ROOT / "benchmarks") in watched


def test_an_edit_is_seen_after_a_directory_was_replaced(preview):
    server = served(preview.root)
    seen = Queue()
    handler = FileSystemEventHandler()
    handler.on_modified = lambda event: seen.put(event.src_path)
    records = preview.root / "records"
    server.observer.schedule(handler, str(records), recursive=True)
    server.observer.start()
    away = records.rename(preview.root / "away")
    time.sleep(1.5)
    away.rename(records)
    edit_record(preview, notes="Edited once more.")
    while seen.get(timeout=10) != str(records / "tuning.csv"):
        pass
    server.observer.stop()
    server.server_close()
