"""The finder of the front page answers as the command and Python do: the same questions to both."""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from conftest import answers_in_node
from rl_resources import UnusableInput
from rl_resources.dataset import Dataset
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import find, folded
from rl_resources.query.understand import understand
from rl_resources.query.vocabulary import FILTERS, vocabulary
from rl_resources.site import finder
from shipped import DATASET
from test_find import UNDERSTOOD


def answer_of_python(dataset: Dataset, tokens: dict[str, str]) -> dict[str, Any]:
    known = vocabulary(dataset)
    try:
        query, notes = understand(known, tokens)
    except UnusableInput as error:
        return {"message": str(error)}
    found = find(configurations(dataset), query)

    def ids(rows: Iterable[Configuration]) -> list[list[str]]:
        return [[row.id, row.fit, sentences.reason(row)] for row in rows]

    def id_(row: Configuration | None) -> str | None:
        return row.id if row else None

    folds = folded(found.answers)
    return {
        "query": query._asdict(),
        "notes": list(notes),
        "headline": sentences.headline(query, known, [item.fit for item in found.answers]),
        "answers": ids(found.answers),
        "unclear": ids(found.unclear),
        "failures": ids(found.failures),
        "worse": found.worse,
        "folds": [[len(rows), sentences.series(rows)] for rows in folds],
        "nearest": [[item.row.id, item.reason] for item in found.nearest],
        "largest": [row.id for row in found.largest],
        "extremes": [id_(one) for one in (found.smallest, found.smallest_full, found.longest)],
    }


def questions(dataset: Dataset, number: int) -> Iterator[dict[str, str]]:
    """Questions of every kind: whole, in part, misspelt, impossible, with the model left open."""
    words = _words(dataset)
    chance = random.Random(20261121)
    return (_question(words, chance) for _ in range(number))


def _question(words: Mapping[str, list[str]], chance: random.Random) -> dict[str, str]:
    asked = {}
    for name, share in _SHARES.items():
        if chance.random() < share:
            word = chance.choice(words[name])
            typed = name != "task" and chance.random() < 0.03
            asked[name] = _misspelt(word, chance) if typed else word
    return asked


_SHARES = {
    **{"gpus": 0.7, "device": 0.6, "length": 0.2, "model": 0.5},
    **dict.fromkeys(FILTERS, 0.12),
    **{"task": 0.5, "weights": 0.15, "scenario": 0.08, "framework": 0.1, "train": 0.15},
}


def _words(dataset: Dataset) -> dict[str, list[str]]:
    """Keys of the tables, what people write for them, and a few impossible words.

    A task of the page is chosen from a list; size and memory are what its fields for model and
    device may have.
    """
    known = vocabulary(dataset)
    words = {field: known.known(field) for field in known.spellings}
    words["task"] = [spelt for task in known.tasks for spelt in (task, task.lower(), "zx81")]
    words["device"] += [str(row["name"]) for row in dataset.records["devices"]]
    words["model"] += [key.rpartition("/")[2] for key in dataset.by_key["models"]]
    for case in UNDERSTOOD * 3:
        for field, text in case["words"].items():
            field = {"memory": "device", "size": "model"}.get(field, field)
            if field != "task":
                words.setdefault(field, []).append(text)
    for field in ("gpus", "device", "length", "model"):
        words[field] += ["0", "zx81", "24564MiB", "1e4", "4k+", "5090", "640", "32b", "2 x 0GB"]
    words["gpus"] += ["1", "2", "3", "4", "8", "8", "16", "64", "8\u5361", "9999999 x 9999999"] * 5
    words["task"] += ["GRPO", "GRPO-LoRA", "PPO", "DAPO"] * 8
    words["model"] += ["7B", "8b", "14B", "32B", "70B", "30B-A3B", "Mixtral 8x22B"] * 12
    return words


_STRANGE = "aA0 -_/.+Bé\u00df<&\"'`{}\U0001f600"


def _misspelt(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word) + 1)
    return word[:place] + chance.choice(_STRANGE) + word[place + chance.randrange(3) :]


@pytest.mark.parametrize("number", [60, pytest.param(3000, marks=pytest.mark.nightly)])
def test_the_page_answers_as_python_does(tmp_path, number):
    asked = [{}, *questions(DATASET, number)]
    published = {"finder.json": finder.files(DATASET)[finder.PATH]}
    answers = answers_in_node("finder", published, asked, tmp_path)
    for tokens, answer in zip(asked, answers, strict=True):
        assert answer == answer_of_python(DATASET, tokens), tokens
    kinds = {name for answer in answers for name in answer if answer[name]}
    assert kinds >= {"message", "answers", "unclear", "failures", "nearest", "largest"}
