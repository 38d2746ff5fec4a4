"""Answers on a frozen dataset: 300 questions to `find`, the pages of `export`, texts of answers.

`tests/golden` was recorded before the code was made smaller. After an intended change:
`python tests/test_golden.py`, and read the diff.
"""

import json
import os
import random
import re
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest

from botched_tree import plant_frozen
from cases import read_cases
from rl_resources.__main__ import status_of
from rl_resources.cli.answers import KINDS
from sample_tree import aligned

GOLDEN = Path(__file__).parent / "golden"
ASKED = read_cases("golden/questions")
TEXTS = json.loads((GOLDEN / "texts.json").read_text())
"""What commands answer, by the command: a new one begins with an empty list."""
FORMS = [kind for kind in KINDS if kind != "json"]
FIGURE = re.compile(r"( ?) *(?<![\w./@])\d+(?:[.,]\d+)*(?!\.?\w| %)(?: +$)?", re.M)
"""A number in a text, which is no part of a name, with the blanks of its column."""
CHOSEN = re.compile(
    r"  (?! \S)| N,|Given: |at  |[\w ]+( N)+$|(MIN|RECOMMENDED|Too small): N"
)
"""A line that no sentence begins, but an input, a component or a setting."""
Answers = dict[str, list[Any]]


def plant(root: Path) -> Path:
    """The frozen dataset with the reports of `tests/golden`."""
    plant_frozen(root)
    (root / "records/reports.csv").write_text(aligned(GOLDEN / "records/reports.csv"))
    return root


def questions() -> Iterator[list[str]]:
    chance = random.Random(7)
    for _ in range(300):
        asked = {
            name: item
            for name, item in ASKED.items()
            if chance.random() < item["share"]
        }
        question = []
        for name, item in asked.items():
            question += [f"--{name}", chance.choice(item["words"])]
        yield question


def ask(root: Path, question: list[str]) -> list[Any]:
    """Exit status; then of answers, nearest and failures the number and the first ten."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        status = status_of(["find", *question, "--format", "json", "--root", str(root)])
    if status == 2:
        return [status]
    found = json.loads(out.getvalue())
    answer = [status]
    for group in ("answers", "nearest", "failures"):
        first = map(_named, found[group][:10])
        answer.append([len(found[group]), *first])
    return answer


def _named(item: dict[str, Any]) -> str:
    return f"{item['id']} {item['fit']}"


def answers(root: Path, number: int = 300) -> Answers:
    asked = islice(questions(), number)
    return {" ".join(question): ask(root, question) for question in asked}


def printed(root: Path, command: str) -> str:
    out = StringIO()
    wide = patch.dict(os.environ, COLUMNS="100")
    with redirect_stdout(out), chdir(root), wide:
        status_of(command.split())
    return out.getvalue()


def exported(root: Path, form: str) -> str:
    """The export without its version and day, which each release changes."""
    text = printed(root, f"export {form}")
    return re.sub(r"Last updated: .*", "Last updated: …", text)


def sentences_of(root: Path, command: str) -> list[str]:
    """What an answer says, whatever the constants of the estimate are."""
    lines = FIGURE.sub(r"\1N", printed(root, command)).splitlines()
    return [line for line in lines if not CHOSEN.match(line)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("golden") / "dataset")


@pytest.mark.parametrize("number", [60, pytest.param(300, marks=pytest.mark.nightly)])
def test_find_gives_the_recorded_answers_in_their_order(root, number):
    recorded = json.loads((GOLDEN / "find.json").read_text())
    found = answers(root, number)
    differing = [
        question for question in found if found[question] != recorded[question]
    ]
    assert differing == []


@pytest.mark.parametrize("form", FORMS)
def test_an_export_gives_the_recorded_page(root, form):
    assert exported(root, form) == (GOLDEN / f"page.{form}").read_text()


@pytest.mark.parametrize("command", TEXTS)
def test_an_answer_reads_as_recorded(root, command):
    assert sentences_of(root, command) == TEXTS[command]


def record() -> None:
    with TemporaryDirectory() as folder:
        root = plant(Path(folder) / "dataset")
        text = json.dumps(answers(root), indent=0, ensure_ascii=False)
        (GOLDEN / "find.json").write_text(text + "\n")
        texts = {command: sentences_of(root, command) for command in TEXTS}
        text = json.dumps(texts, indent=1, ensure_ascii=False)
        (GOLDEN / "texts.json").write_text(text + "\n")
        for form in FORMS:
            (GOLDEN / f"page.{form}").write_text(exported(root, form))


if __name__ == "__main__":
    record()
