"""The finder of the front page answers as the command and Python do: the same questions to both."""

import json
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cases import read_cases
from conftest import answers_in_node
from rl_resources import UnusableInput
from rl_resources.dataset import Dataset
from rl_resources.estimate.estimate import Estimate
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import find, folded, verdicts
from rl_resources.query.plan import plan
from rl_resources.query.plan_question import ask_plan
from rl_resources.query.question_inputs import offline_of
from rl_resources.query.understand import understand
from rl_resources.query.vocabulary import FIELDS, FILTERS, vocabulary
from rl_resources.site import finder
from rl_resources.site.environment import Site
from rl_resources.site.plan import plan_as_text
from shipped import DATASET, estimate_as_published
from test_find import UNDERSTOOD

_ASKED = read_cases("finder/asked")


def answer_of_python(dataset: Dataset, tokens: dict[str, str]) -> dict[str, Any]:
    known = vocabulary(dataset)
    try:
        query, notes = understand(known, tokens)
    except UnusableInput as error:
        return {"message": str(error)}
    found = find(configurations(dataset), query)
    folds = folded(found.answers)
    fits = [row.fit for row in found.answers]
    return {
        "query": {**query._asdict(), "lacks": list(query.lacks)},
        "notes": list(notes),
        "headline": sentences.headline(query, known, fits),
        "verdict": verdicts(dataset, found),
        "answers": _listed(found.answers),
        "unclear": _listed(found.unclear),
        "failures": _listed(found.failures),
        "worse": found.worse,
        "folds": [[len(rows), sentences.series(rows)] for rows in folds],
        "nearest": [[item.row.id, item.reason] for item in found.nearest],
        "largest": [row.id for row in found.largest],
        "extremes": [_id(found.smallest), _id(found.smallest_full), _id(found.longest)],
    }


def _listed(rows: Iterable[Configuration]) -> list[list[object]]:
    return [[row.id, row.fit, sentences.reason(row), [*row.differs]] for row in rows]


def _id(row: Configuration | None) -> str | None:
    return row.id if row else None


def questions(dataset: Dataset, number: int) -> Iterator[dict[str, str]]:
    """Questions of every kind: whole, in part, misspelt, impossible, with the model left open."""
    words = _words(dataset)
    chance = random.Random(20261121)
    return (_question(words, chance) for _ in range(number))


def _question(words: Mapping[str, list[str]], chance: random.Random) -> dict[str, str]:
    asked = {}
    for name, share in _SHARES.items():
        if chance.random() >= share:
            continue
        word = chance.choice(words[name])
        if chance.random() < 0.03:
            word = _misspelt(word, chance)
        asked[name] = word
    return asked


_SHARES = {
    "gpus": 0.7,
    "device": 0.6,
    "length": 0.2,
    "model": 0.5,
    "memory": 0.05,
    "size": 0.05,
    **dict.fromkeys(FILTERS, 0.12),
    "task": 0.5,
    "weights": 0.15,
    "scenario": 0.08,
    "framework": 0.1,
    "train": 0.15,
}


def _words(dataset: Dataset) -> dict[str, list[str]]:
    """Keys of the tables, what people write for them, and a few impossible words."""
    known = vocabulary(dataset)
    words = {field: known.written(field) for field in [*known.spellings, "device"]}
    words["device"] += [str(row["name"]) for row in dataset.records["devices"]]
    words["model"] += [key.rpartition("/")[2] for key in dataset.by_key["models"]]
    for case in UNDERSTOOD * 3:
        for field, text in case["words"].items():
            words.setdefault(field, []).append(text)
    for item in _ASKED["more"]:
        for field in item["fields"]:
            words[field] += item["words"] * item["times"]
    return words


def test_every_field_has_a_case_that_both_sides_read():
    asked = set().union(*(case["words"] for case in UNDERSTOOD))
    assert asked >= FIELDS.keys()


_STRANGE = "aA0 -_/.+Bé\u00df<&\"'`{}\U0001f600"


def _misspelt(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word) + 1)
    strange = chance.choice(_STRANGE)
    rest = word[place + chance.randrange(3) :]
    return word[:place] + strange + rest


def published() -> dict[str, str]:
    """What the modules of the finder read: its data, and the sentences of its page."""
    files = {
        Path(path).name: text for path, text in finder.files(Site(DATASET)).items()
    }
    return files | {"said.json": json.dumps(finder.said())}


def test_the_page_quotes_no_word_of_a_command_that_the_shell_takes_as_it_is(tmp_path):
    words = ["7B", "2048+16384", "a=b,c@d%e:f", "A100 80 GB", "a;b", "$HOME"]
    module = {"asked.js": 'export { quoted as f } from "./elements.js";\n'}
    answers = answers_in_node("python", module, [[word] for word in words], tmp_path)
    assert answers == [shlex.quote(word) for word in words]


@pytest.mark.parametrize("number", [12, pytest.param(3000, marks=pytest.mark.nightly)])
def test_the_page_answers_as_python_does(tmp_path, number):
    cases = [case["words"] for case in UNDERSTOOD]
    asked = [{}, *cases, *questions(DATASET, number)]
    answers = answers_in_node("finder", published(), asked, tmp_path)
    for tokens, answer in zip(asked, answers, strict=True):
        assert answer == answer_of_python(DATASET, tokens), tokens
    for kind in ("message", "answers", "unclear", "failures", "nearest", "largest"):
        assert any(answer.get(kind) for answer in answers), kind


def plan_of_python(tokens: dict[str, str]) -> dict[str, Any]:
    try:
        found = plan(ask_plan(DATASET, tokens))
    except UnusableInput:
        return {}
    options = {
        "minimum": found.minimum,
        "recommended": found.recommended,
        "short": found.short,
    }
    more = found.more.values["gpus"] if found.more else None
    first, *_ = plan_as_text(found, tokens).splitlines()
    return {name: _told(one) for name, one in options.items()} | {
        "more": more,
        "first": first,
    }


def _told(found: Estimate | None) -> list[Any] | None:
    if found is None:
        return None
    high = pytest.approx(found.deciding.high_gb)
    return [found.configuration.train, found.values["gpus"], high]


def plan_questions(number: int) -> Iterator[dict[str, str]]:
    """Models and sizes on devices, with parts of what else a plan can be asked."""
    chance = random.Random(20261129)
    models = [str(row["model"]) for row in DATASET.records["models"]]
    models += [str(row["size"]) for row in DATASET.records["sizes"]] * 5
    for _ in range(number):
        words = {name: chance.choice(found) for name, found in _ASKED["plan"].items()}
        kept = {name: word for name, word in words.items() if chance.random() < 0.5}
        device = chance.choice(
            ["h100", "a100-40g", "a100-80g", "rtx-4090", "h20", "mi300x"]
        )
        yield {"model": chance.choice(models), "device": device, **kept}


_CASES = read_cases("plan")
_PLANS = [*_CASES["answers"].values(), *_CASES["first"].values()]
"""Questions whose answers begin with each kind of word."""


@pytest.mark.parametrize("number", [12, pytest.param(200, marks=pytest.mark.nightly)])
def test_the_page_plans_as_python_does(tmp_path, number):
    asked = list(plan_questions(number))
    for tokens, answer in zip(asked, plans_of_page(asked, tmp_path), strict=True):
        if "message" in answer:
            assert plan_of_python(tokens) == {}, tokens
        else:
            assert answer == plan_of_python(tokens), tokens


@pytest.mark.parametrize("device", ["a100", "ascend-910b"])
def test_the_page_plans_as_python_does_where_memory_is_open(tmp_path, device):
    """Of several devices with the least, and the least of a vendor where none is known."""
    tokens = {"model": "3B", "gpus": "8", "device": device, "task": "GRPO"}
    assert plans_of_page([tokens], tmp_path) == [plan_of_python(tokens)]


def test_a_plan_of_the_page_begins_as_the_command_does(tmp_path):
    """The front page has no task without rollouts: it refuses those."""
    asked = [case["asked"] for case in _PLANS]
    for tokens, answer in zip(asked, plans_of_page(asked, tmp_path), strict=True):
        if offline_of(tokens.get("task", "")):
            assert "message" in answer, tokens
        else:
            assert answer["first"] == plan_of_python(tokens)["first"]


def plans_of_page(asked: list[dict[str, str]], folder: Path) -> list[dict[str, Any]]:
    data = published() | estimate_as_published()
    return answers_in_node("plan", data, asked, folder)
