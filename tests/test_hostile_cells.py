"""What has no business in a record is refused wherever a text may stand; honest notes are not."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from payloads import CLASSES, HONEST, REFUSED, SHOWN, free_columns
from rl_resources.check import findings_in
from rl_resources.check.registry import chosen_rules
from rl_resources.cli import main
from rl_resources.errors import Finding
from rl_resources.facts.broken import vocabulary_of
from rl_resources.package import Field, TableSchema, read_package
from rl_resources.schema.text_rules import text_mistake
from rl_resources.schema.validation import failures
from rl_resources.site.findings import as_github, as_sarif, as_text
from rl_resources.snapshot import Snapshot, Table, take_snapshot
from rl_resources.tabular import write
from sample_tree import sample

HERE = Path(__file__).parent
NOTES = Field("notes", "string", "Notes", "Notes.", {"maxLength": 500})


@cache
def snapshot() -> Snapshot:
    return take_snapshot(read_package(HERE.parent))


def text_columns(schema: TableSchema) -> list[Field]:
    return [field for field in schema.fields if field.type in {"string", "list"}]


def refused_in(name: str, columns: list[Field], texts: list[str]) -> list[tuple[str, str]]:
    """Column and text of what is reported, where each text stands in each column of a good row."""
    table = snapshot().tables[name]
    good = table.rows[0].cells if table.rows else ("",) * len(table.schema.fields)
    at = {field.name: place for place, field in enumerate(table.schema.fields)}
    tried = [(field.name, text) for field in columns for text in texts]
    rows = [
        tuple(text if place == at[column] else cell for place, cell in enumerate(good))
        for column, text in tried
    ]
    cells = dict(zip(at, zip(*rows, strict=True), strict=True))
    found = failures(table.schema, cells, vocabulary_of(snapshot(), table))
    return [tried[failure.row] for failure in found if failure.field == tried[failure.row][0]]


@pytest.mark.parametrize("name", snapshot().tables)
def test_a_payload_is_refused_in_every_text_column(name):
    columns = text_columns(snapshot().tables[name].schema)
    tried = [(field.name, text) for field in columns for text in REFUSED]
    assert set(tried) - set(refused_in(name, columns, REFUSED)) == set()


@pytest.mark.parametrize("name", snapshot().tables)
def test_a_closed_column_takes_no_text_that_only_looks_active(name):
    schema = snapshot().tables[name].schema
    free = {field.name for field in free_columns(schema)}
    closed = [field for field in text_columns(schema) if field.name not in free]
    active = [text for text in SHOWN if not re.fullmatch(r"[\w. -]+", text)]
    passed = {(f.name, text) for f in closed for text in active} - set(
        refused_in(name, closed, active)
    )
    reported_by_rule = {"record"} if name == "exemptions" else set()
    open_ended = {"aliases", "script_path", "source_path", "script"}
    assert {column for column, _ in passed} <= open_ended | reported_by_rule


def test_an_exemption_of_what_is_no_record_is_reported_whatever_it_says():
    table = snapshot().tables["exemptions"]
    texts = [text for text in SHOWN if "\n" not in text and not text.startswith(">>>>>>> ")]
    rows = [(text, "min-saves-memory", "As published.") for text in texts]
    spoilt = Table(table.resource, write([table.schema.names, *rows]).encode())
    whole = replace(snapshot(), tables={**snapshot().tables, "exemptions": spoilt})
    reported = findings_in(whole, chosen_rules(["min-saves-memory", "needless-exemption"]))
    unused = [item.line for item in reported if item.message.endswith(": unused exemption")]
    assert unused == [row.line for row in spoilt.rows]


def test_an_honest_note_is_accepted():
    refused = [text for text in [*HONEST, *SHOWN] if text_mistake(NOTES, text)]
    assert refused == []


@pytest.mark.parametrize(
    ("table", "names", "kind"),
    [
        ("reports", ("script_path", "source_path"), "refused_as_path"),
        ("tuning", ("source", "evidence"), "refused_as_address"),
    ],
)
def test_a_path_leads_nowhere_but_down_and_an_address_to_a_host(table, names, kind):
    texts = [text for found in CLASSES.values() for text in found.get(kind, ())]
    columns = [snapshot().tables[table].schema.field(name) for name in names]
    tried = {(name, text) for name in names for text in texts}
    assert tried - set(refused_in(table, columns, texts)) == set()


def test_nothing_of_a_payload_reaches_terminal_or_runner_as_a_command(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    table = sample().tables["tuning"]
    texts = [*REFUSED, *SHOWN, "x\u001b[31m\r\n::error::y", "::error::x%0A::warning::y"]
    rows = [(*table.rows[0].cells[:-1], text) for text in texts]
    (root / table.path).write_text(write([table.header, *rows]), encoding="utf-8")
    assert main(["check", "--format", "json", "--ignore", "shellcheck"]) == 1
    findings = [Finding(**finding) for finding in json.loads(capsys.readouterr().out)]
    assert len(findings) > len(REFUSED)
    lines = "".join(as_text(findings)).splitlines()
    places = ("records/", "examples/", "  help: ")
    assert [line for line in lines if not (line.isprintable() and line.startswith(places))] == []
    assert not any("##[" in line for line in lines)
    command = re.compile(r"::(?:error|warning) file=[^:,]+,line=\d+,col=\d+,title=[a-z-]+::")
    commands = "".join("".join(as_github([item])) for item in findings).splitlines()
    assert len(commands) == len(findings)
    assert all(line.isprintable() and command.match(line) for line in commands)


def test_no_words_of_a_cell_are_a_link_in_sarif():
    finding = Finding("markup", "error", "x.csv", 1, 1, "is `[x](https://a.example)`", "See [1].")
    (run,) = json.loads("".join(as_sarif([finding], [], "1")))["runs"]
    reported = run["results"][0]["message"]["text"]
    assert reported == "is `\\[x\\](https://a.example)`\nhelp: See [1]."
