"""`mkdocs serve`: after edits the pages are those of a fresh server."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from website import RECORD, ROOT, copy_checkout, environment, replace_in

ADDRESS = "http://127.0.0.1:8000/"
SOURCE = (
    "https://github.com/volcengine/verl/blob/b178a3cd56f58b2d502255daba591e92833930a7/"
    "examples/tuning/7b/qwen2-7b_grpo-lora_1"
)
FRESH = (
    "import sys; from pathlib import Path; sys.path.insert(0, 'tests');"
    "import test_preview as t; t.Server(Path(sys.argv[1]), Path(sys.argv[2])).rebuild()"
)


@dataclass
class Server:
    """What `mkdocs serve` does to its folder, without the server."""

    root: Path
    folder: Path
    _started: bool = False

    def rebuild(self) -> None:
        """Build the site as it is now."""
        config = load_config(
            config_file=str(self.root / "mkdocs.yml"), site_dir=str(self.folder), site_url=ADDRESS
        )
        if not self._started:
            config.plugins.on_startup(command="serve", dirty=False)
            self._started = True
        build(config, serve_url=ADDRESS)

    def edit(self, path: str, old: str, new: str) -> set[str]:
        """Edit a file and rebuild; gives the files of the site whose bytes have changed."""
        before = self.folder.with_name("before")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.folder, before)
        replace_in(self.root / path, old, new)
        self.rebuild()
        return different(before, self.folder)


def different(one: Path, other: Path) -> set[str]:
    """The files that two folders do not have in common byte for byte."""
    names = {
        path.relative_to(folder).as_posix()
        for folder in (one, other)
        for path in folder.rglob("*")
        if path.is_file()
    }
    _, changed, missing = filecmp.cmpfiles(one, other, names, shallow=False)
    return {*changed, *missing}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has built its pages once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        folder = tmp_path_factory.mktemp("preview")
        found = Server(copy_checkout(folder / "checkout"), folder / "site")
        found.rebuild()
        yield found


def as_a_fresh_server_has_it(server: Server) -> None:
    fresh = server.folder.with_name("fresh")
    subprocess.run(
        [sys.executable, "-c", FRESH, str(server.root), str(fresh)], cwd=ROOT, check=True
    )
    assert different(server.folder, fresh) == set()
    shutil.rmtree(fresh)


def test_after_edits_of_rows_and_scripts_pages_are_those_of_a_fresh_server(server: Server) -> None:
    edits = [
        ("records/tuning.csv", f"SimonHuang,,,{SOURCE}", f"Somebody,,,{SOURCE}", "sizes/7b/"),
        ("records/models.csv", "instruct,Qwen2.5,7B,7.61,", "instruct,Qwen2.5,7B,7.62,", "models/"),
        (
            "records/reports.csv",
            "tq_mooncake.sh,ci-recipe,",
            "tq_mooncake.sh,script-comment,",
            "reports/1.5b/",
        ),
        (f"examples/tuning/7b/{RECORD}.sh", "# Hardware\n", "# GPUs\n", f"records/{RECORD}/"),
    ]
    for path, old, new, shown in edits:
        assert f"{shown}index.html" in server.edit(path, old, new)
    as_a_fresh_server_has_it(server)


def test_after_a_record_came_and_went_the_pages_are_those_of_a_fresh_server(
    server: Server,
) -> None:
    new = RECORD.replace("_h100_", "_h200_")
    script = server.root / f"examples/tuning/7b/{RECORD}.sh"
    other = script.with_name(f"{new}.sh")
    other.write_text(script.read_text(encoding="utf-8").replace(RECORD, new), encoding="utf-8")
    other.chmod(0o755)
    table = server.root / "records/tuning.csv"
    rows = table.read_text(encoding="utf-8")
    (row,) = (line for line in rows.split("\n") if line.startswith(RECORD))
    changed = server.edit("records/tuning.csv", row, f"{row}\n{row.replace('h100', 'h200')}")
    assert {f"records/{new}/index.html", "sizes/7b/index.html"} <= changed
    as_a_fresh_server_has_it(server)
    other.unlink()
    table.write_text(rows, encoding="utf-8")
    server.rebuild()
    assert not (server.folder / f"records/{new}").exists()


def test_after_edits_of_pages_and_looks_and_a_mended_mistake_they_are_those_of_a_fresh_server(
    server: Server,
) -> None:
    page, style, shared = "contributing.md", "stylesheets/site.css", "templates/macros.jinja"
    assert server.edit(f"site/pages/{page}", "Name the script", "Call the script") == {
        "contributing/index.html",
        "search/search_index.json",
    }
    assert server.edit(f"site/assets/{style}", ":root,", ".new,\n:root,") == {style}
    assert server.edit("records/tuning.csv", ",h800,", ",h8000,") > {
        "index.html",
        "data/index.html",
    }
    server.edit("records/tuning.csv", ",h8000,", ",h800,")
    changed = server.edit(f"site/{shared}", "In your own tools", "In other tools")
    assert "sizes/7b/index.html" in changed
    as_a_fresh_server_has_it(server)


def test_what_a_failed_rebuild_warns_of_is_told_again(server: Server) -> None:
    page = server.root / "site/pages/contributing.md"
    with page.open("a", encoding="utf-8") as file:
        file.write("\n[nowhere](nowhere.md)\n")
    for _ in range(2):
        with pytest.raises(Abort):
            server.rebuild()
