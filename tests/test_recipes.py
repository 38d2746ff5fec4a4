"""Every code example runs as it stands on its page, against the built site."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lxml import html

from conftest import program
from rl_resources.certainty import certainty
from rl_resources.package import Record
from rl_resources.site.environment import LOCAL, SHOWN, Site
from sample_tree import ran
from shipped import DATASET
from website import RECORD, served, visited

SIZES = {row["model"]: row["size"] for row in DATASET.records["models"]}
TOOLS = ("pandas", "polars", "DuckDB", "R", "curl")
nightly = pytest.mark.nightly
# A table, and the size of its rows where a page shows those of one; the size of `sizes` stands for
# the records of a size, which have texts of their own.
OFTEN = [("tuning", ""), ("sizes", "7B")]
RARE = [("models", ""), ("devices", ""), ("reports", ""), ("reports", "7B")]
TABLES = [*OFTEN, *(pytest.param(*table, marks=nightly) for table in RARE)]


@pytest.fixture
def codes(built: Path, address: str) -> Callable[[str, str], list[str]]:
    """The texts below a heading of a page, with the URL of the site as it is published."""

    def below(page: str, heading: str) -> list[str]:
        found = html.parse(built / page / "index.html").xpath(
            "//pre[preceding::h2[1]/@id=$id]/code", id=heading
        )
        return [code.text_content().replace(LOCAL, f"{address}/") for code in found]

    return below


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _place(table: str, only: str) -> tuple[str, str]:
    """The page that shows a table, or its rows of a size, and the heading of its examples."""
    page = f"{table}/{only.lower()}".rstrip("/")
    return ("recipes", "table") if table == "tuning" else (page, "tools")


def _rows(table: str, only: str) -> list[Record]:
    if table == "sizes":
        return [row for row in DATASET.records["tuning"] if SIZES[row["model"]] == only]
    return [row for row in DATASET.records[table] if only == "" or row["size"] == only]


def _shown(table: str, rows: Sequence[Record]) -> list[list[object]]:
    columns = SHOWN["tuning" if table == "sizes" else table]
    return [[row[column] for column in columns] for row in rows]


def _run_python(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "example", "exec"), names)  # noqa: S102 (a text of ours)
    return names


def _run_shell(code: str, folder: Path) -> str:
    for name in ("curl", "jq", "sqlite3"):
        program(name)
    done = ran("bash", "-c", code, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _cells(frame: Any, columns: Sequence[str]) -> list[list[object]]:
    """Rows of what a data frame library or DuckDB gives."""
    if hasattr(frame, "fetchall"):
        return list(map(list, frame.select(*columns).fetchall()))
    if isinstance(frame, pd.DataFrame):
        picked = frame[list(columns)].astype(object)
        return picked.where(picked.notna(), None).to_numpy().tolist()
    return list(map(list, frame.select(columns).rows()))


def _number(cell: object) -> str | float:
    try:
        return float(str(cell))
    except ValueError:
        return "" if cell is None else str(cell)


def _numbers(rows: Iterable[Iterable[object]]) -> list[list[str | float]]:
    return [list(map(_number, row)) for row in rows]


@pytest.mark.parametrize("tool", ["pandas", "polars", "DuckDB"])
@pytest.mark.parametrize(("table", "only"), TABLES)
def test_a_python_example_gives_the_rows_of_its_page(codes, folder, tool, table, only):
    shown = "tuning" if table == "sizes" else table
    names = _run_python(codes(*_place(table, only))[TOOLS.index(tool)])
    found = names["records" if table == "sizes" else table]
    assert _cells(found, SHOWN[shown]) == _shown(table, _rows(table, only)) != []


@nightly
@pytest.mark.parametrize(("table", "only"), [("tuning", ""), *RARE])
def test_a_curl_example_prints_the_rows_of_its_page(codes, folder, table, only):
    printed = _run_shell(codes(*_place(table, only))[-1], folder)
    lines = [line.split("\t") for line in printed.splitlines()]
    assert _numbers(lines) == _numbers(_shown(table, _rows(table, only)))


def test_the_examples_of_a_record_give_its_row_and_its_script(codes, folder, capsys):
    shell, python = codes(f"records/{RECORD}", "data")
    printed = json.loads(_run_shell(shell, folder))
    assert _run_python(python)["record"] == printed
    assert printed["id"] == RECORD
    row = DATASET.by_key["tuning"][f"{RECORD}.sh"]
    shown = [*(row[name] for name in ("gpus", "device", "max_batch")), certainty(row)]
    assert capsys.readouterr().out.split() == list(map(str, shown))
    assert (folder / printed["script"]).read_text(encoding="utf-8").startswith("#!")


def test_a_copy_is_updated_by_fetching_what_differs(codes, folder):
    (code,) = codes("recipes", "follow")
    everything = _run_python(code)["fetched"]
    assert _run_python(code)["fetched"] == []
    old = folder / "rl-resources/downloads/tuning.csv"
    old.write_text("an older one")
    (again,) = _run_python(code)["fetched"]
    assert again.resolve() == old
    assert again in everything


def test_duckdb_and_sqlite_join_to_the_same_rows(codes, folder):
    duckdb, sqlite = codes("recipes", "sql")
    lines = _run_shell(sqlite, folder).splitlines()
    rows = _run_python(duckdb)["small"].fetchall()
    assert _numbers(line.split("|") for line in lines) == _numbers(rows) != []


@nightly
def test_a_page_of_another_origin_reads_the_records(browser, codes, tmp_path):
    (code,) = codes("recipes", "browser")
    text = f"<!doctype html><title>Elsewhere</title><script type=module>{code}</script>"
    (tmp_path / "open.html").write_text(text, encoding="utf-8")
    with served(tmp_path) as elsewhere:
        page = browser.new_page()
        with page.expect_console_message(lambda line: line.type == "log") as logged:
            page.goto(f"{elsewhere}/open.html")
        records = logged.value.args[0].json_value()
        page.close()
    expected = [row["script"] for row in _rows("sizes", "7B") if int(str(row["gpus"])) <= 2]
    assert [row["script"] for row in records] == expected


@nightly
def test_a_sphinx_site_includes_the_table(codes, tmp_path):
    before, configuration, include = codes("recipes", "sphinx")
    _run_shell(before, tmp_path)
    (tmp_path / "conf.py").write_text(configuration, encoding="utf-8")
    page = f"Our runs\n========\n\n{include}\nAfter it.\n"
    (tmp_path / "index.rst").write_text(page, encoding="utf-8")
    done = ran(sys.executable, *["-m", "sphinx", "-W", "-n", "-q", ".", "html"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "html/index.html").read_text(encoding="utf-8")
    assert [row["script"] for row in _rows("sizes", "7B") if str(row["script"]) not in text] == []


@nightly
def test_a_mkdocs_site_includes_the_table(codes, tmp_path):
    before, configuration, include = codes("recipes", "mkdocs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    # Far from a checkout: the data are those that came with the package.
    assert ran("bash", "-c", before, cwd=tmp_path, env=variables).returncode == 0
    (tmp_path / "mkdocs.yml").write_text(f"site_name: Ours\n{configuration}", encoding="utf-8")
    (tmp_path / "docs").mkdir(exist_ok=True)
    page = f"# Our runs\n\n## Here\n\n{include}"
    (tmp_path / "docs/index.md").write_text(page, encoding="utf-8")
    build = ["-m", "mkdocs", "build", "--strict", "--quiet"]
    assert ran(sys.executable, *build, cwd=tmp_path, env=variables).returncode == 0
    text = unescape((tmp_path / "site/index.html").read_text(encoding="utf-8"))
    assert [row["script"] for row in _rows("sizes", "7B") if str(row["script"]) not in text] == []


def test_the_python_package_answers_as_printed(codes, capsys):
    (code,) = codes("recipes", "package")
    found = _run_python(code)["found"]
    assert set(found["fit"]) >= {"ran-on-it"}
    assert ".sh" in capsys.readouterr().out.splitlines()[-1]


def test_examples_name_the_url_of_the_site_or_one_to_replace():
    known, unknown = (
        Site(DATASET, None, url).page("recipes.md") for url in ("https://example.org/rl/", None)
    )
    assert "https://example.org/rl/downloads/tuning.parquet" in known
    assert LOCAL not in known
    assert f"<code>{LOCAL}</code>" in unknown


def test_examples_are_tabs_that_keys_choose_and_break_no_policy(browser, address, codes):
    with visited(browser, f"{address}/sizes/7b/") as page:
        for tool, code in zip(TOOLS, codes("sizes/7b", "tools"), strict=True):
            page.locator(".tabbed-labels").get_by_text(tool, exact=True).click()
            (shown,) = page.locator(".tabbed-block:visible code").all_text_contents()
            assert shown.strip() == code.strip()
        page.locator(".tabbed-set > input").first.focus()
        page.keyboard.press("ArrowRight")
        assert "pl.DataFrame" in page.locator(".tabbed-block:visible").inner_text()
