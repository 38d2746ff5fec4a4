"""What there is to be copied, run as it stands against the built site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, ConsoleMessage

from conftest import program
from rl_resources import load
from rl_resources.package import Record
from rl_resources.query.diff import Table, Tables, diff
from rl_resources.site import recipes, site
from rl_resources.site.changes import as_values
from rl_resources.site.recipes import Code, Recipe, of_record, of_size, of_table
from website import RECORD, ROOT, served, visited

DATASET = load(ROOT)
SIZES = {row["model"]: row["size"] for row in DATASET.records["models"]}
# What is looked at on a page with tabs: a table, and the size of its rows where it is one.
TABLES = (("tuning", ""), ("models", ""), ("devices", ""))
TABLES += (("reports", ""), ("reports", "7B"), ("reports", None))
ON_PAGES = {
    ("models", ""): "models",
    ("devices", ""): "devices",
    ("reports", ""): "reports",
    ("reports", "7B"): "reports/7b",
    ("reports", None): "reports/unknown-size",
}


@pytest.fixture(scope="module")
def at(built: Path) -> Iterator[str]:
    """The address of the site as it is published, on a server that lets every origin read."""
    with served(built, any_origin=True) as origin:
        yield f"{origin}/"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _by_title(codes: Sequence[Code]) -> dict[str, Code]:
    return {code.title: code for code in codes}


def _recipe(name: str, at: str) -> Recipe:
    return next(item for item in recipes.recipes(DATASET, at) if item.id == name)


def _records(table: str, only: str | None) -> list[Record]:
    rows = DATASET.records[table]
    return [row for row in rows if only == "" or row["size"] == only]


def _shown(rows: Sequence[Record], columns: Sequence[str]) -> list[list[object]]:
    return [[row[column] for column in columns] for row in rows]


def _run_python(code: Code) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code.text, code.title, "exec"), names)  # noqa: S102 (a text of ours)
    return names


def _run_shell(code: Code, folder: Path) -> str:
    for name in ("curl", "jq", "sqlite3"):
        program(name)
    done = subprocess.run(
        ["bash", "-c", code.text], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def _cells(frame: Any, columns: Sequence[str]) -> list[list[object]]:
    """Rows of what a data frame library or DuckDB gives."""
    if isinstance(frame, pd.DataFrame):
        picked = frame[list(columns)].astype(object)
        cells: list[list[object]] = picked.where(picked.notna(), None).to_numpy().tolist()
        return cells
    rows = frame.select(*columns).fetchall() if hasattr(frame, "fetchall") else None
    return list(map(list, frame.select(columns).rows() if rows is None else rows))


@pytest.mark.parametrize("tool", ["pandas", "polars", "DuckDB"])
@pytest.mark.parametrize(("table", "only"), TABLES)
def test_a_python_tab_of_a_table_gives_the_rows_of_its_page(
    at: str, folder: Path, capsys: pytest.CaptureFixture[str], tool: str, table: str, only: str
) -> None:
    found = _run_python(_by_title(of_table(DATASET, table, at, only))[tool])[table]
    columns = recipes.SHOWN[table]
    expected = _shown(_records(table, only), columns)
    assert _cells(found, columns) == expected
    assert expected
    assert capsys.readouterr().out


@pytest.mark.parametrize("tool", ["pandas", "polars", "DuckDB"])
def test_a_python_tab_of_a_size_gives_its_records(at: str, folder: Path, tool: str) -> None:
    found = _run_python(_by_title(of_size("7B", at))[tool])["records"]
    columns = recipes.SHOWN["tuning"]
    assert _cells(found, columns) == _shown(_of_size("7B"), columns)


def _of_size(size: str) -> list[Record]:
    return [row for row in DATASET.records["tuning"] if SIZES[row["model"]] == size]


@pytest.mark.parametrize(("table", "only"), TABLES)
def test_the_curl_tab_of_a_table_prints_the_rows_of_its_page(
    at: str, folder: Path, table: str, only: str
) -> None:
    printed = _run_shell(_by_title(of_table(DATASET, table, at, only))["curl"], folder)
    expected = _shown(_records(table, only), recipes.SHOWN[table])
    lines = [line.split("\t") for line in printed.splitlines()]
    assert [list(map(_number, line)) for line in lines] == [
        [_number("" if cell is None else str(cell)) for cell in row] for row in expected
    ]


def _number(cell: str) -> str | float:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_the_curl_tab_of_a_size_prints_its_records_of_at_most_two_accelerators(
    at: str, folder: Path
) -> None:
    printed = _run_shell(_by_title(of_size("7B", at))["curl"], folder)
    found = json.loads("[" + printed.replace("}\n{", "},{") + "]")
    expected = [row["script"] for row in _of_size("7B") if int(str(row["gpus"])) <= 2]
    assert [row["script"] for row in found] == expected
    assert expected


def test_the_texts_of_a_record_give_its_row_and_its_script(
    at: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = _by_title(of_record(RECORD, at))
    printed = json.loads(_run_shell(codes["curl"], folder))
    assert _run_python(codes["Python"])["record"] == printed
    assert printed["id"] == RECORD
    assert capsys.readouterr().out == "1 h100 16 disputed\n"
    assert (folder / printed["script"]).read_text(encoding="utf-8").startswith("#!")


def test_a_copy_is_kept_up_by_fetching_what_differs(
    at: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _recipe("follow", at).codes[0]
    everything = _run_python(code)["fetched"]
    assert _run_python(code)["fetched"] == []
    old = folder / "rl-resources/downloads/tuning.csv"
    old.write_text("an older one")
    (again,) = _run_python(code)["fetched"]
    assert again.resolve() == old
    assert old.read_text(encoding="utf-8").startswith("script,tag,")
    assert again in everything
    assert capsys.readouterr().out


def test_what_has_changed_since_a_release_is_told_row_by_row(folder: Path) -> None:
    text = _recipe("follow", "").codes[1].text
    changes = tuple(diff(_state("a", "1"), _state("a", "2", "b", "1")))
    document = json.dumps({"since_release": as_values(changes)})
    (folder / "release.json").write_text(document, encoding="utf-8")
    _, _, selection = text.partition("|")
    printed = _run_shell(Code("", "sh", f"cat release.json | {selection}"), folder)
    assert printed == "added\ttuning\tb\nchanged\ttuning\ta\n"
    assert f"api/v1/changes/{DATASET.version}.json" in text


def _state(*cells: str) -> Tables:
    columns = ("script", "gpus")
    rows = zip(cells[::2], cells[1::2], strict=True)
    return {
        "tuning": Table(
            ("script",), columns, tuple(dict(zip(columns, row, strict=True)) for row in rows)
        )
    }


def test_duckdb_and_sqlite_join_to_the_same_rows(at: str, folder: Path) -> None:
    codes = _by_title(_recipe("sql", at).codes)
    lines = _run_shell(codes["SQLite"], folder).splitlines()
    rows = _run_python(codes["DuckDB"])["small"].fetchall()
    memory = {row["device"]: row["memory_gb"] or 0 for row in DATASET.records["devices"]}
    small = [
        row
        for row in DATASET.records["tuning"]
        if 0 < int(str(row["gpus"])) * float(str(memory[row["device"]])) <= 160
    ]
    assert sorted(row[0] for row in rows) == sorted(str(row["model"]) for row in small)
    assert [[_number(cell) for cell in line.split("|")] for line in lines] == [
        [_number(str(cell)) for cell in row] for row in rows
    ]


# R is not there in CI, so the CSV files are held to what its manual says of `read.csv` (R 4.2,
# `?read.table`, `?type.convert`): where R is there, the texts themselves run.

_LOGICAL = re.compile(r"T|F|TRUE|FALSE|true|false|True|False")
_R_NUMBER = re.compile(
    r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?L?|0[xX][\da-fA-F.]+(?:[pP][+-]?\d+)?"
    r"|inf|infinity|nan|na)i?\s*",
    re.IGNORECASE,
)


@pytest.mark.parametrize("table", recipes.SHOWN)
def test_r_takes_no_text_column_for_numbers_and_splits_no_row(built: Path, table: str) -> None:
    text = _by_title(of_table(DATASET, table, ""))["R"].text
    kept = set(re.findall(r"(\w+) = \"character\"", text))
    assert 'na.strings = ""' in text
    lines = (built / f"downloads/{table}.csv").read_text(encoding="utf-8").splitlines()
    rows = DATASET.records[table]
    # One line a row, no comment sign, no escape: `read.csv` has neither by default.
    assert len(lines) == 1 + len(rows)
    for field in DATASET.package.resources[table].schema.fields:
        cells = [field.write(row[field.name]) for row in rows if row[field.name] is not None]
        as_numbers = cells and all(map(_R_NUMBER.fullmatch, cells))
        as_logical = cells and all(map(_LOGICAL.fullmatch, cells))
        if field.type in {"integer", "number"}:
            assert not cells or as_numbers, field.name
        elif field.type == "boolean":
            assert not cells or as_logical, field.name
        else:
            assert field.name in kept or not (as_numbers or as_logical), field.name


def _r() -> str:
    if found := shutil.which("Rscript"):
        return found
    pytest.skip("no `Rscript` on the path: install Debian's packages r-base-core, r-cran-jsonlite")


@pytest.mark.parametrize(("table", "only"), TABLES)
def test_the_r_tab_of_a_table_gives_the_rows_of_its_page(
    at: str, folder: Path, table: str, only: str
) -> None:
    code = _by_title(of_table(DATASET, table, at, only))["R"].text
    code += f'write.csv({table}, "out.csv", row.names = FALSE, na = "")\n'
    (folder / "run.R").write_text(code, encoding="utf-8")
    subprocess.run([_r(), "--vanilla", "run.R"], check=True, capture_output=True, cwd=folder)
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    schema = DATASET.package.resources[table].schema
    for field in schema.fields:
        expected = [field.write(row[field.name]) for row in _records(table, only)]
        got = list(found[field.name])
        if field.type == "boolean":
            got = [cell.lower() for cell in got]
        if field.type == "number":
            assert list(map(_number, got)) == list(map(_number, expected)), field.name
        else:
            assert got == expected, field.name


def test_the_r_tab_of_a_size_prints_its_records(at: str, folder: Path) -> None:
    (folder / "run.R").write_text(_by_title(of_size("7B", at))["R"].text, encoding="utf-8")
    command = [_r(), "--vanilla", "run.R"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    for row in _of_size("7B"):
        assert str(row["model"]) in done.stdout


def _about_origins(line: ConsoleMessage) -> bool:
    """Not about the icon of the page, which Chromium asks for and may tell of before."""
    return "Access-Control-Allow-Origin" in line.text


def test_a_page_of_another_origin_reads_the_records_where_the_server_lets_it(
    browser: Browser, at: str, address: str, tmp_path: Path
) -> None:
    for name, source in (("open", at), ("closed", f"{address}/")):
        (code,) = _recipe("browser", source).codes
        page = f"<!doctype html><title>Elsewhere</title><script type=module>{code.text}</script>"
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    with served(tmp_path) as elsewhere:
        page = browser.new_page()
        with page.expect_console_message(lambda line: line.type == "log") as told:
            page.goto(f"{elsewhere}/open.html")
        records = told.value.args[0].json_value()
        with page.expect_console_message(_about_origins) as refused:
            page.goto(f"{elsewhere}/closed.html")
        page.close()
    expected = [row["script"] for row in _of_size("7B") if int(str(row["gpus"])) <= 2]
    assert [row["script"] for row in records] == expected
    assert refused.value.type == "error"


def test_a_sphinx_site_includes_the_table(at: str, tmp_path: Path) -> None:
    before, configuration, include = _recipe("sphinx", at).codes
    assert (configuration.title, before.language) == ("conf.py", "sh")
    _run_shell(before, tmp_path)
    (tmp_path / "conf.py").write_text(configuration.text, encoding="utf-8")
    page = f"Our runs\n========\n\n{include.text}\nAfter it.\n"
    (tmp_path / "index.rst").write_text(page, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", ".", "html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    html = (tmp_path / "html/index.html").read_text(encoding="utf-8")
    assert [str(row["script"]) for row in _of_size("7B") if str(row["script"]) not in html] == []
    assert [path.name for path in (tmp_path / "html").glob("*/7b.html")] == []
    assert "After it." in html


def test_a_mkdocs_site_includes_the_table(browser: Browser, at: str, tmp_path: Path) -> None:
    before, configuration, include = _recipe("mkdocs", at).codes
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    # Far from a checkout: the data are those that came with the package.
    subprocess.run(["bash", "-c", before.text], cwd=tmp_path, check=True, env=variables)
    (tmp_path / "mkdocs.yml").write_text(f"site_name: Ours\n{configuration.text}", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    page = f"# Our runs\n\n## Here\n\n{include.text}"
    (tmp_path / "docs/index.md").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=variables,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    scripts = [str(row["script"]) for row in _of_size("7B")]
    with served(tmp_path / "site") as elsewhere:
        shown = browser.new_page()
        shown.goto(f"{elsewhere}/", wait_until="networkidle")
        ours = shown.locator("h2#here ~ table tbody tr").all_inner_texts()
        assert [row.split("\t")[7] for row in ours if "\t" in row] == scripts
        shown.close()


def test_the_python_package_answers_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = _recipe("package", "").codes
    found = _run_python(code)["found"]
    assert set(found["fit"]) >= {"tested"}
    assert ".sh" in capsys.readouterr().out.splitlines()[-1]


def test_every_recipe_and_every_tool_is_tried_here() -> None:
    told = recipes.recipes(DATASET, recipes.LOCAL)
    tried = {"table", "sql", "follow", "browser", "sphinx", "mkdocs", "package"}
    assert {item.id for item in told} == tried
    tools = ["pandas", "polars", "DuckDB", "R", "curl"]
    assert [code.title for code in of_size("7B", "")] == tools
    assert [code.title for code in of_table(DATASET, "models", "")] == tools


def test_a_name_that_no_rule_lets_through_gets_into_nothing_that_is_copied() -> None:
    assert of_size('7B"; rm -r ~', "") == ()
    assert of_table(DATASET, "reports", "", "7B'") == ()
    assert of_record("x.json; rm -r ~", "") == ()


def test_what_is_shown_names_the_address_of_the_site_or_one_that_is_to_be_replaced() -> None:
    known = site.pages(DATASET, None, (), "https://example.org/rl/")
    assert recipes.LOCAL not in "".join(known.values())
    assert "https://example.org/rl/downloads/models.parquet" in known["models.md"]
    unknown = site.pages(DATASET, None)["recipes.md"]
    assert f"In these texts it is <code>{recipes.LOCAL}</code>" in unknown


@pytest.mark.parametrize("path", ["sizes/7b", *ON_PAGES.values()])
def test_a_page_with_a_table_has_its_texts_in_tabs_that_work_without_scripts(
    browser: Browser, address: str, path: str
) -> None:
    choice = {page: key for key, page in ON_PAGES.items()}.get(path)
    codes = of_table(DATASET, choice[0], recipes.LOCAL, choice[1]) if choice else None
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{path}/")
    for code in codes or of_size("7B", recipes.LOCAL):
        page.locator(".tabbed-labels label", has_text=re.compile(f"^{code.title}$")).click()
        (shown,) = page.locator(".tabbed-block:visible code").all_inner_texts()
        assert shown.strip() == code.text.strip()
    context.close()


def test_tabs_can_be_chosen_by_keyboard_and_break_no_policy(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, wrong):
        page.locator(".tabbed-set > input").first.focus()
        page.keyboard.press("ArrowRight")
        assert "pl.DataFrame" in page.locator(".tabbed-block:visible").inner_text()
        page.get_by_title("Copy to clipboard").locator("visible=true").first.click()
        assert page.evaluate("navigator.clipboard.readText()").startswith("import json")
        assert wrong == []
