"""The estimate in JavaScript: in Node it is the one of Python, term by term."""

import json
import math
import random
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from typing import Any

import pytest

from cases import read_cases
from conftest import answers_in_node
from rl_resources import UnusableInput
from rl_resources.dataset import Dataset
from rl_resources.estimate.estimate import Estimate, Moment
from rl_resources.estimate.formula import WHOLE, formula, inputs_by_name
from rl_resources.estimate.frameworks import profiles
from rl_resources.estimate.plan import host_word
from rl_resources.estimate.search import Knob, advised, knobs, limits
from rl_resources.estimate.time import lacking, step_time
from rl_resources.query.estimate import NUMBERS, WORDS, estimate
from rl_resources.query.plan import evidence
from rl_resources.site import finder
from shipped import DATASET, estimate_as_published

SHARES = {"framework": 0.4, "train": 1, "task": 0.5, "weights": 0.7, "infer": 0.6}
"""How many of the questions have a word of each field."""
SET = 0.3
"""How many of the inputs are set."""
CONTRADICTS = 0.1
"""How many of the questions with weights may have a rank that contradicts them."""


def questions(dataset: Dataset, number: int) -> Iterator[dict[str, str]]:
    """Every model that the form offers in turn, with inputs drawn from their ranges."""
    chance = random.Random(20261123)
    models = [str(row["model"]) for row in dataset.records["models"]]
    for model in islice(cycle(models), number):
        words = {"model": model, **_words(dataset, chance)}
        left_out = {"device_gb", *words}
        if "weights" in words:
            left_out.add("quantized")  # no field of the form
        if "weights" in words and chance.random() >= CONTRADICTS:
            left_out.add("lora_rank")
        for name in inputs_by_name():
            if name not in left_out and chance.random() < SET:
                words[name] = _drawn(name, chance)
        yield words


def _words(dataset: Dataset, chance: random.Random) -> dict[str, str]:
    """A device and its number, and words of some of the other fields."""
    written = formula()
    devices = [row["device"] for row in dataset.records["devices"] if row["memory_gb"]]
    fields = {
        "framework": list(profiles()),
        "train": ["", *written["train"], *written["same_train"]],
        "task": ["GRPO", "PPO", "GRPO-LoRA", *written["offline"]],
        "weights": ["full", "lora", "qlora"],
        "infer": ["vllm"],
    }
    gpus = 2 ** chance.randrange(9)
    words = {"device": str(chance.choice(devices)), "gpus": str(gpus)}
    for name, share in SHARES.items():
        if chance.random() < share:
            words[name] = chance.choice(fields[name])
    if "framework" in words:
        trains = profiles()[words["framework"]]["trains"]
        words["train"] = chance.choice(["", *trains])
    return words


def named_questions() -> Iterator[dict[str, str]]:
    """Words of each field as people write them, beside what an estimate needs."""
    for field, row in read_cases("finder/asked")["named"].items():
        for text in row["words"]:
            yield {**row["beside"], field: text}


def _drawn(name: str, chance: random.Random) -> str:
    """A value of an input: mostly small, sometimes from the whole range, rarely out of it."""
    item = inputs_by_name()[name]
    low = item["minimum"]
    high = item["maximum"]
    if item.get("unit") == "0 or 1":
        return str(chance.randrange(2))
    if name.endswith("_parallel"):
        size = chance.choice([1, 1, 1, 1, 2, 4])
        return str(size)
    if name == "fsdp_size":
        size = chance.choice([0, 1, 2, 3, 8, 64])
        return str(size)
    if chance.random() < 0.01:
        return str(high + 1)
    share = chance.random() ** 12
    value = low + (high - low) * share
    is_whole = item.get("unit") in WHOLE
    if is_whole and chance.random() < 0.99:
        return str(round(value))
    return f"{value:.6g}"


def of_python(dataset: Dataset, words: Mapping[str, str]) -> dict[str, Any]:
    asked = {}
    settings = []
    for name, text in words.items():
        if name in WORDS or name in NUMBERS:
            asked[name] = text
        else:
            settings.append(f"{name}={text}")
    try:
        found = estimate(dataset, asked, settings)
    except UnusableInput as error:
        return {"unusable": str(error)}
    low, high = found.interval_gb
    combination = advised(found)
    turns = None
    if combination:
        turns = [[turn.setting, turn.price] for turn in combination.turns]
    return {
        "doubts": {name: list(doubt[:2]) for name, doubt in found.doubts.items()},
        "evidence": evidence(dataset, found),
        "notes": found.configuration.notes,
        "read_as": found.configuration.read_as,
        "deciding": [
            found.deciding.moment.phase,
            found.deciding.low_gb,
            found.deciding.high_gb,
        ],
        "advised": turns,
        "unsure": found.unsure,
        "host_word": host_word(found),
        "values": dict(found.values),
        "phases": {
            phase: as_on_the_page(moment) for phase, moment in found.phases.items()
        },
        "low": low,
        "high": high,
        "verdict": found.verdict,
        "host": found.host_memory_gb,
        "assumed": sorted(item.input for item in found.configuration.assumed),
        "knobs": [as_in_the_table(knob) for knob in knobs(found)],
        "time": time_of(found),
        "limits": {name: size or 0 for name, size in limits(found).items()},
    }


def time_of(found: Estimate) -> dict[str, Any]:
    step = step_time(found)
    if step is None:
        return {"lacking": lacking(found)}
    seconds, low, high = step.seconds
    phases = dict(step.phases)
    return {
        "lacking": [],
        "seconds": seconds,
        "low": low,
        "high": high,
        "phases": phases,
    }


def as_on_the_page(moment: Moment) -> dict[str, Any]:
    return {
        "phase": moment.phase,
        "name": moment.name,
        "components": moment.components,
        "peak": moment.peak_gb,
    }


def as_in_the_table(knob: Knob) -> list[Any]:
    return [knob.setting, dict(knob.saves), knob.price, knob.helps]


def same(one: Any, other: Any) -> bool:
    """Whether both are equal, figures within 1e-9 of their size."""
    match one:
        case dict():
            if one.keys() != other.keys():
                return False
            return all(same(value, other[name]) for name, value in one.items())
        case list():
            if len(one) != len(other):
                return False
            return all(map(same, one, other))
        case int() | float():
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


@pytest.mark.parametrize("number", [120, pytest.param(5000, marks=pytest.mark.nightly)])
def test_the_page_estimates_as_python_does(tmp_path, number):
    published = estimate_as_published() | {
        "said.json": json.dumps(finder.said_of_calculator()),
    }
    asked = [*named_questions(), *questions(DATASET, number)]
    answers = answers_in_node("estimate", published, asked, tmp_path)
    verdicts = []
    for words, answer in zip(asked, answers, strict=True):
        expected = of_python(DATASET, words)
        is_unusable = "unusable" in expected
        assert ("unusable" in answer) == is_unusable, (words, answer, expected)
        if is_unusable:
            continue
        answer["assumed"].sort()
        assert expected.pop("read_as") in " ".join(answer["read_as"]), words
        for name, value in expected.items():
            shown = answer[name]
            assert same(value, shown), (words, name, value, shown)
        verdicts.append(answer["verdict"])
    assert set(verdicts) == {"fits", "tight", "unlikely", "cannot fit"}
    assert len(verdicts) > 0.45 * number
