"""The finder of the front page answers as the command and Python do: one asks both."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from conftest import program
from rl_resources import UnusableInput, load
from rl_resources.dataset import Dataset
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import Answer, Found, find, folded_answers
from rl_resources.query.question import Reader, Words
from rl_resources.query.wording import PAGE
from rl_resources.site import finder
from website import ROOT

MODULES = ROOT / "site" / "assets" / "javascripts" / "finder"
MOST = 8
QUESTIONS = 3000


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load(ROOT)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules where Node takes them for modules."""
    folder = tmp_path_factory.mktemp("modules")
    shutil.copytree(MODULES, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def told_by_the_page(
    modules: Path, data: dict[str, str], questions: Sequence[dict[str, str]]
) -> list[Any]:
    path = modules / "finder.json"
    path.write_text(data[finder.PATH], encoding="utf-8")
    script = ROOT / "tests" / "finder" / "answers.mjs"
    done = subprocess.run(
        [program("node", "nodejs"), str(script), str(modules), str(path)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def told_by_python(
    reader: Reader, rows: Sequence[Configuration], words: dict[str, str]
) -> dict[str, Any]:
    try:
        understood = reader.understood(Words(**words))
    except UnusableInput as error:
        return {"message": str(error), "help": error.help}
    found = find(rows, understood.question)
    return {"notes": list(understood.notes), **_told(found)}


def _told(found: Found) -> dict[str, Any]:
    def answer(item: Answer) -> dict[str, Any]:
        row = item.configuration
        tells = (sentences.figures, sentences.evidence, sentences.doubts)
        others = found.contradictions.get(row.id, ())
        return {
            "id": row.id,
            "fit": item.fit,
            "reason": item.reason,
            "facts": [list(tell(row)) for tell in tells],
            "contradicted": [sentences.contradicted(other) for other in others],
            "start": sentences.start(row) if row.script else None,
        }

    def ids(items: Iterable[Answer]) -> list[list[str]]:
        return [[item.configuration.id, item.fit] for item in items]

    def folds(items: Iterable[Answer]) -> Iterator[list[Any]]:
        for fold in folded_answers(items):
            rows = [item.configuration for item in fold]
            yield [[row.id for row in rows], sentences.series(rows)]

    groups = (found.answers, found.unclear, found.failures)
    counts = Counter(item.fit for item in found.answers)
    numbers = [counts[fit] for fit in ("tested", "should-fit", "claimed")]
    return {
        "question": asdict(found.question),
        "headline": sentences.headline(found.question, *numbers),
        "answers": ids(found.answers),
        "unclear": ids(found.unclear),
        "failures": ids(found.failures),
        "some": [[answer(item) for item in group[:MOST]] for group in groups],
        "folds": [list(folds(group)) for group in groups],
        "nearest": [[item.kind, item.reason, answer(item.answer)] for item in found.nearest],
        "largest": [
            [
                item.task,
                item.size,
                item.best.configuration.id,
                item.longest.configuration.id,
                sentences.longest(item.longest.configuration),
            ]
            for item in found.largest
        ],
        "start": found.script.id if found.script else None,
        "longest": (
            sentences.longest_context(found.longest.configuration, found.longest.fit)
            if found.longest
            else None
        ),
        "smallest": sentences.smallest(found.smallest.configuration) if found.smallest else None,
        "whole": found.smallest_whole.configuration.id if found.smallest_whole else None,
    }


def questions(dataset: Dataset, number: int) -> Iterator[dict[str, str]]:
    """Questions of every kind: whole, in part, misspelt, impossible, with the model left open."""
    words = _words(dataset)
    chance = random.Random(20261121)  # noqa: S311
    return (_question(words, chance) for _ in range(number))


def _question(words: Mapping[str, list[str]], chance: random.Random) -> dict[str, str]:
    asked = {}
    for name, share in _SHARES.items():
        if chance.random() < share:
            word = chance.choice(words[name])
            asked[name] = _misspelt(word, chance) if chance.random() < 0.03 else word
    return asked


_SHARES = {
    "gpus": 0.7,
    "device": 0.6,
    "memory": 0.08,
    "length": 0.2,
    "model": 0.5,
    "size": 0.05,
    "task": 0.5,
    "weights": 0.15,
    "scenario": 0.08,
    "framework": 0.1,
    "train": 0.15,
    "infer": 0.12,
    "tag": 0.12,
}


def _words(dataset: Dataset) -> dict[str, list[str]]:
    keys = {name: [str(key) for key in rows] for name, rows in dataset.by_key.items()}
    names = [str(row["name"]) for row in dataset.records["devices"]]
    roles = {
        role: [str(row["backend"]) for row in dataset.records["backends"] if row["role"] == role]
        for role in ("train", "infer")
    }
    common = ["GRPO", "GRPO-LoRA", "PPO", "DAPO", "grpo lora", "REINFORCE++"]
    return {
        "gpus": ["1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "64", " 8 ", "512", "0"]
        + 2 * ["2x8", "4 GPUs", "2 nodes x 8", "4 nodes of 8", "9999999 x 9999999", "8\u5361"],
        "device": [*keys["devices"], *names, "H100 80GB", "A100", "4090", "80", "24 GB", "141GB"]
        + ["nvidia a100 (40)", "zx81", "24564MiB", "h20", "H20", "h100", "h800", "a100-80g"] * 2
        + [
            "8xH100",
            "2*8 H100 80GB",
            "4090 x8",
            "3090*4",
            "8\u5361A800-80g",
            "40G A100",
            "5090",
            "640",
        ]
        + [
            "A100\uff0880G\uff09",
            "A6000 48G",
            "RTX 3060 12GB",
            "8*24G 4090",
            "H100 SXM",
            "2 x 24GB",
        ],
        "memory": ["16", "24", "40", "48", "80", "80 GiB", "141", "192", "0.1tb", "much", "1e3"],
        "length": ["16K", "32k", "8192", "2048 + 16384", "1024", "16,384", "64 K tokens"] * 2
        + ["0.1m", "1.1k", "0", "4k+", "1e4", "\uff11\uff16k"],
        "model": [*keys["models"], *(key.rpartition("/")[2] for key in keys["models"])]
        + [*keys["sizes"], "8b", "7", "30B-A3B", "235b", "0", "2.12"] * 12
        + [
            "gemma 3 27b",
            "qwen32b",
            "Qwen 2.5 32B",
            "https://huggingface.co/Qwen/Qwen2.5-7B-Instruct",
            "135M",
            "7 B",
            "1T",
            "DeepSeek-R1 671B",
            "Llama2 70B",
            "baichuan 7B",
        ]
        + ["Qwen3-30B", "Qwen2.5-VL-72B", "Mixtral 8x22B", "Llama 3.1 70B", "VL 7B", "Qwen-27B"]
        * 2,
        "size": [*keys["sizes"], "7", "huge", "9.9", "1000"],
        "task": [
            *keys["tasks"],
            *common * 8,
            "LoRA GRPO",
            "GRPO with QLoRA",
            "Dr. GRPO",
            "full PPO",
            "LoRA",
            "QLoRA",
            "full",
            "peft",
            "PPO-Lag",
            "GRPO-QLoRA",
            "SFT",
        ],
        "weights": ["full", "lora", "QLoRA", "partial", "some"],
        "scenario": ["multimodal", "Agentic", "robotics", "games"],
        "framework": [*keys["frameworks"], "veRL", "verl", "nemo rl"],
        "train": [*roles["train"], *(key.upper() for key in roles["train"]), "vllm"],
        "infer": [*roles["infer"], "VLLM", "fsdp"],
        "tag": ["MIN", "RECOMMENDED", "min"] * 3 + ["minimum"],
    }


_STRANGE = "aA0 -_/.+Bé\u00a0\u2028\u00df<&\"'`{}\x00\U0001f600"


def _misspelt(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word) + 1)
    return word[:place] + chance.choice(_STRANGE) + word[place + chance.randrange(3) :]


def test_the_page_answers_three_thousand_questions_as_python_does(
    dataset: Dataset, modules: Path
) -> None:
    asked = [{}, *questions(dataset, QUESTIONS)]
    rows, reader = configurations(dataset), Reader(dataset, PAGE)
    answers = told_by_the_page(modules, finder.files(dataset), asked)
    for words, answer in zip(asked, answers, strict=True):
        assert answer == told_by_python(reader, rows, words), words
    kinds = {name for answer in answers for name in answer if answer[name]}
    assert kinds >= {"message", "answers", "unclear", "failures", "nearest", "largest", "start"}
