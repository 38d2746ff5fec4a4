"""The finder of the front page answers as the command and Python do: the same questions to both."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from conftest import program
from rl_resources import UnusableInput, load
from rl_resources.dataset import Dataset
from rl_resources.query import sentences
from rl_resources.query.configurations import configurations
from rl_resources.query.find import Answer, find, folded
from rl_resources.query.understand import understand
from rl_resources.query.vocabulary import vocabulary
from rl_resources.site import finder
from website import ROOT

MODULES = ROOT / "site" / "assets" / "javascripts" / "finder"
SCRIPT = ROOT / "tests" / "finder" / "answers.mjs"


def answers_of_the_page(
    folder: Path, dataset: Dataset, questions: Sequence[dict[str, str]]
) -> list[dict[str, Any]]:
    """What the modules answer in Node, from a folder where it takes them for modules."""
    shutil.copytree(MODULES, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    data = folder / "finder.json"
    data.write_text(finder.files(dataset)[finder.PATH], encoding="utf-8")
    done = subprocess.run(
        [program("node", "nodejs"), str(SCRIPT), str(folder), str(data)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def answer_of_python(dataset: Dataset, tokens: dict[str, str]) -> dict[str, Any]:
    known = vocabulary(dataset)
    try:
        query, notes = understand(known, tokens)
    except UnusableInput as error:
        return {"message": str(error)}
    found = find(configurations(dataset), query)

    def ids(items: Iterable[Answer]) -> list[list[str]]:
        return [[item.configuration.id, item.fit, item.reason] for item in items]

    def id_(item: Answer | None) -> str | None:
        return item.configuration.id if item else None

    folds = [[item.configuration for item in fold] for fold in folded(found.answers)]
    return {
        "query": asdict(query),
        "notes": list(notes),
        "headline": sentences.headline(query, known, [item.fit for item in found.answers]),
        "answers": ids(found.answers),
        "unclear": ids(found.unclear),
        "failures": ids(found.failures),
        "worse": found.worse,
        "folds": [[len(rows), sentences.series(rows)] for rows in folds],
        "nearest": [[item.kind, id_(item.answer), item.reason] for item in found.nearest],
        "largest": [[item.task, id_(item.best), id_(item.longest)] for item in found.largest],
        "extremes": [id_(one) for one in (found.smallest, found.smallest_full, found.longest)],
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


_STRANGE = "aA0 -_/.+Bé\u00df<&\"'`{}\U0001f600"


def _misspelt(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word) + 1)
    return word[:place] + chance.choice(_STRANGE) + word[place + chance.randrange(3) :]


@pytest.mark.parametrize("number", [300, pytest.param(3000, marks=pytest.mark.nightly)])
def test_the_page_answers_as_python_does(tmp_path: Path, number: int) -> None:
    dataset = load(ROOT)
    asked = [{}, *questions(dataset, number)]
    answers = answers_of_the_page(tmp_path, dataset, asked)
    for tokens, answer in zip(asked, answers, strict=True):
        assert answer == answer_of_python(dataset, tokens), tokens
    kinds = {name for answer in answers for name in answer if answer[name]}
    assert kinds >= {"message", "answers", "unclear", "failures", "nearest", "largest"}
