"""A cell that was found clean once is not judged again, and nothing else is taken for clean."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rl_resources.package import read_package
from rl_resources.schema import mistakes, verdicts
from rl_resources.schema.validate import Failure
from rl_resources.schema.verdicts import failures

ROOT = Path(__file__).parents[1]
SCHEMA = read_package(ROOT).resources["trials"].schema
ROWS = {"script": ["a.sh"], "order": ["1"], "batch": ["64"], "outcome": ["ran"]}
WORDS = {"script": ["a.sh"]}


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the engine is asked, with a cache of its own."""
    asked: list[Any] = []
    engine = mistakes.mistakes

    def noted(*question: object) -> list[Failure]:
        asked.append(question)
        return engine(*question)  # type: ignore[arg-type]

    monkeypatch.setattr(verdicts, "cache_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(mistakes, "mistakes", noted)
    return asked


def test_a_clean_table_is_judged_once(judged: list[Any]) -> None:
    assert failures(SCHEMA, ROWS, WORDS) == failures(SCHEMA, dict(ROWS), WORDS) == []
    assert len(judged) == 1


def test_a_broken_table_is_judged_each_time(judged: list[Any]) -> None:
    broken = ROWS | {"batch": ["many"]}
    assert failures(SCHEMA, broken, WORDS) == failures(SCHEMA, broken, WORDS)
    assert failures(SCHEMA, broken, WORDS) == [Failure(0, "batch", "type")]
    assert len(judged) == 3


def test_the_engine_is_asked_about_rows_with_a_new_cell_alone(judged: list[Any]) -> None:
    two = {name: [*cells, *cells] for name, cells in ROWS.items()} | {"order": ["1", "2"]}
    failures(SCHEMA, two, WORDS)
    assert failures(SCHEMA, two | {"batch": ["64", "0"]}, WORDS) == [Failure(1, "batch", "minimum")]
    assert failures(SCHEMA, two | {"order": ["2", "1"]}, WORDS) == []
    assert failures(SCHEMA, ROWS, WORDS) == []
    assert [columns["batch"] for _, columns, _ in judged] == [["64", "64"], ["0"]]


def test_what_is_clean_in_one_column_is_not_in_another(judged: list[Any]) -> None:
    failures(SCHEMA, ROWS, WORDS)
    assert failures(SCHEMA, ROWS | {"batch": ["a.sh"]}, WORDS) == [Failure(0, "batch", "type")]
    assert failures(SCHEMA, ROWS | {"batch": ["ran"]}, WORDS) == [Failure(0, "batch", "type")]


def test_a_broken_memory_is_none(judged: list[Any], tmp_path: Path) -> None:
    for text in ("", "[", "[]", "3", '{"a": 3}', '{"a": null}'):
        failures(SCHEMA, ROWS, WORDS)
        (file,) = (tmp_path / "tables").glob("*.json")
        file.write_text(text, encoding="utf-8")
    assert len(judged) == 6


def test_another_cell_word_or_schema_is_judged_anew(judged: list[Any]) -> None:
    failures(SCHEMA, ROWS, WORDS)
    assert failures(SCHEMA, ROWS | {"batch": ["0"]}, WORDS) == [Failure(0, "batch", "minimum")]
    assert failures(SCHEMA, ROWS, {"script": ["b.sh"]}) == [Failure(0, "script", "vocabulary")]
    strict = dataclasses.replace(
        SCHEMA,
        fields=tuple(
            dataclasses.replace(field, constraints={**field.constraints, "minimum": 100})
            if field.name == "batch"
            else field
            for field in SCHEMA.fields
        ),
    )
    assert failures(strict, ROWS, WORDS) == [Failure(0, "batch", "minimum")]


def test_cells_that_are_only_split_otherwise_are_another_table(judged: list[Any]) -> None:
    failures(SCHEMA, ROWS, {"script": ["a.sh", "b"]})
    failures(SCHEMA, ROWS, {"script": ["a.shb", "a.sh"]})
    assert len(judged) == 2


def test_a_check_of_what_is_known_to_be_clean_does_not_import_the_engine(tmp_path: Path) -> None:
    code = (
        "import sys; from rl_resources.cli import main; assert main(['check']) == 0;"
        "print('polars' in sys.modules, 'pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "RL_RESOURCES_CACHE": str(tmp_path)}
    outputs = [
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert [text.strip() for text in outputs] == ["True False", "False False"]
