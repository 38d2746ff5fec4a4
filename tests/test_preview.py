"""`make serve`: what MkDocs writes again after an edit, and what it leaves alone."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from sample_tree import files, plant_site
from website import RECORD, ROOT, edit_row, read_rows, write_rows

GONE = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"
PAGE, SIZE, UNRELATED = (
    f"{name}/index.html" for name in (f"records/{RECORD}", "sizes/7b", "reports/7b")
)
INDEX = "search/search_index.json"


class Preview:
    """A server's builds of a checkout, without the server."""

    def __init__(self, root: Path, site: Path) -> None:
        self.root, self.site, self.started = root, site, False

    def update(self) -> set[str]:
        """Build as after an edit; the pages that were written."""
        times = self._times()
        config = load_config(
            config_file=str(self.root / "mkdocs.yml"), site_dir=str(self.site), strict=True
        )
        if not self.started:
            config.plugins.on_startup(command="serve", dirty=True)
        self.started = True
        build(config, serve_url="http://localhost/", dirty=True)
        return {name for name, time in self._times().items() if times.get(name) != time}

    def _times(self) -> dict[str, int]:
        pages = self.site.rglob("index.html")
        return {str(path.relative_to(self.site)): path.stat().st_mtime_ns for path in pages}

    def text(self, page: str) -> str:
        return (self.site / page).read_text("utf-8")

    def all_files(self) -> dict[str, object]:
        """What is in the site, the search index without its order; not the times in the sitemap."""
        found: dict[str, object] = dict(files(self.site))
        found[INDEX] = sorted(map(str, json.loads(self.text(INDEX))["docs"]))
        return {name: content for name, content in found.items() if "sitemap" not in name}


@pytest.fixture
def preview(tmp_path: Path) -> Preview:
    """A preview after its first build."""
    made = Preview(plant_site(tmp_path / "checkout"), tmp_path / "site")
    made.update()
    return made


def test_an_edit_shows_on_the_pages_it_concerns_and_the_rest_is_left_alone(preview):
    edit_row(preview.root, "tuning", f"{RECORD}.sh", max_batch="100", notes="Edited once more.")
    written = preview.update()
    assert {PAGE, SIZE} <= written
    assert UNRELATED not in written
    assert "Edited once more." in preview.text(PAGE)
    assert "Edited once more." in preview.text(SIZE)
    assert preview.update() == set()


def test_after_any_edits_a_preview_is_what_a_first_build_gives(preview, tmp_path):
    table = preview.root / "records/tuning.csv"
    edit_row(preview.root, "models", "Qwen/Qwen2.5-14B-Instruct", family="Another")
    preview.update()
    write_rows(table, [row for row in read_rows(table) if row["script"] != f"{GONE}.sh"])
    (preview.root / f"examples/tuning/7b/{GONE}.sh").unlink()
    assert (preview.site / f"records/{GONE}/index.html").is_file()
    preview.update()
    assert not (preview.site / f"records/{GONE}/index.html").exists()
    template = preview.root / "site/assets/partials/copyright.html"
    template.write_text(f"{template.read_text('utf-8')}<p>Another footer</p>", "utf-8")
    assert {UNRELATED, PAGE} <= preview.update()
    page = preview.root / "site/pages/contributing.md"
    page.write_text(f"{page.read_text('utf-8')}\n\nA last word.\n", "utf-8")
    assert preview.update() == {"contributing/index.html"}

    fresh = Preview(preview.root.rename(tmp_path / "again"), tmp_path / "fresh")
    fresh.update()
    assert preview.all_files() == fresh.all_files()


def test_a_mistake_before_there_is_any_page_ends_the_server(tmp_path, caplog):
    root = plant_site(tmp_path / "checkout")
    edit_row(root, "tuning", f"{RECORD}.sh", device="h8000")
    with pytest.raises(Abort):
        Preview(root, tmp_path / "site").update()
    assert "records/tuning.csv:3:" in caplog.text


def test_the_server_watches_all_that_pages_are_made_of():
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    watched: list[str] = []
    server = SimpleNamespace(watch=lambda path, **_: watched.append(path))
    config.plugins.on_serve(server, config=config, builder=None)
    names = ("records", "schema", "examples", "benchmarks", "site/templates", "site/assets")
    assert set(watched) == {str(ROOT), *(str(ROOT / name) for name in names)}


def test_a_mistake_shows_above_the_last_good_pages_until_it_is_fixed(preview):
    before = preview.text(PAGE), preview.text(UNRELATED)
    good = (preview.root / "records/tuning.csv").read_bytes()
    for word in ("<h8000>", "<h9000>"):
        edit_row(preview.root, "tuning", f"{RECORD}.sh", device=word)
        preview.update()
        for page in (PAGE, UNRELATED):
            text = preview.text(page)
            assert "records/tuning.csv:3:" in text
            assert f"&lt;{word[1:-1]}&gt;" in text
            assert text.count("These pages are older than the data") == 1
        page = preview.root / "site/pages/contributing.md"
        page.write_text(f"{page.read_text('utf-8')}\n\nA word more.\n", "utf-8")
        preview.update()
        assert "These pages are older" in preview.text("contributing/index.html")
        assert "These pages are older" not in preview.text(INDEX)
    (preview.root / "records/tuning.csv").write_bytes(good)
    preview.update()
    assert (preview.text(PAGE), preview.text(UNRELATED)) == before
