"""What an estimate assumes and says of it, and the search for settings that fit."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest

from cases import cases, read_cases
from rl_resources.estimate.configuration import DERIVED
from rl_resources.estimate.estimate import Doubt, Estimate
from rl_resources.estimate.formula import formula, inputs_by_name, plausible
from rl_resources.estimate.search import advised, cheapest, fits, knobs
from rl_resources.query.plan import evidence
from shipped import DATASET
from website import ROOT, read_rows

QUESTION = {"model": "Qwen/Qwen2.5-7B-Instruct", "gpus": 8, "device": "h100"}
TIGHT = {"task": "GRPO", "gpus": 4, "device": "a100-40g", "framework": "verl"}


def asked(words: Mapping[str, object], settings: Sequence[str] = ()) -> Estimate:
    return DATASET.estimate(settings=settings, **{**QUESTION, **words})


@cases("search", "engine")
def test_an_engine_is_counted_with_rl_and_what_is_assumed_is_said(words, engine, note):
    found = asked(words)
    assert found.values["has_engine"] == engine
    assert note in found.configuration.notes


@cases("search", "derived")
def test_an_unknown_parallel_size_is_derived_from_the_hardware(words, settings, sizes):
    found = asked(words, settings)
    assert found.values.items() >= sizes.items()
    derived = {
        item.input for item in found.configuration.assumed if DERIVED in item.reason
    }
    given = {setting.partition("=")[0] for setting in settings}
    assert sizes.keys() - derived == given


@cases("search", "verdict")
def test_one_verdict_is_over_all_phases(words, settings, verdict, reason):
    found = asked(words, settings)
    assert found.verdict == verdict
    assert found.reason == reason
    if verdict == "tight":
        highest = max(moment.peak_gb for moment in found.phases.values())
        assert highest <= found.device_gb < found.deciding.high_gb


def test_what_is_assumed_widens_the_interval_and_what_a_framework_says_does_not():
    low, high = asked({}).interval_gb
    known_low, known_high = asked({"framework": "verl"}).interval_gb
    assert low < known_low
    assert known_high < high
    usual_ones = plausible("fsdp full")
    inputs = inputs_by_name().keys() - {"lora_rank"}
    given = [
        f"{name}={usual}" for name, (usual, _) in usual_ones.items() if name in inputs
    ]
    found = asked({"weights": "full"}, given)
    assert not found.doubts
    assert found.interval_gb[1] == pytest.approx(found.peak_gb * found.known_factors[1])


def test_the_decisive_assumptions_come_first():
    found = asked({"task": "GRPO"})
    trained, *others = found.decisive
    assert trained[0].input == "lora_rank"
    spans = []
    for item, _ in others:
        least, most, _ = found.doubts.get(item.input, (1.0, 1.0, 0))
        spans.append(most - least)
    assert spans == sorted(spans, reverse=True)
    said = Doubt(0.9, 1.25, 0).as_text()
    assert said == "other usual values change the peak by -10% to +25%"
    said = Doubt(0.998, 1.25, 0).as_text()
    assert said == "other usual values change the peak by +0% to +25%"


@cases("search", "cheapest")
def test_the_cheapest_combination_is_found(words, settings, turns):
    found = cheapest(asked(words, settings))
    assert found
    assert [turn.setting for turn in found.turns] == turns


@cases("search", "advised")
def test_where_nothing_is_sure_the_middle_decides(words, settings, turns, unsure):
    before = asked(words, settings)
    assert cheapest(before) is None
    found = advised(before)
    assert found
    assert found.estimate.verdict == "tight"
    assert [turn.setting for turn in found.turns] == turns
    assert before.unsure == unsure


@cases("search", "cures")
def test_what_people_do_is_among_the_first_three_settings(words, settings, cure):
    found = knobs(asked(words, settings))
    assert cure in [knob.setting for knob in found[:3]]


def turns_of(item: Mapping[str, Any], before: float, after: float) -> int:
    """How often a knob was turned."""
    if "times" not in item:
        return 1
    ratio = math.log(after / before) / math.log(item["times"])
    return round(ratio)


def cost_of(inputs: Mapping[str, float], before: Estimate) -> float:
    """What it costs to turn knobs to these values."""
    total = 0.0
    for item in formula()["knob"]:
        name = item["input"]
        if name not in inputs or "cost" not in item:
            continue
        total += turns_of(item, before.values[name], inputs[name]) * item["cost"]
    return total


SWITCHES = read_cases("search")["switches"]["inputs"]


@pytest.mark.parametrize(
    "words", [TIGHT, {"task": "PPO", "gpus": 4, "framework": "verl", "device": "b200"}]
)
def test_no_cheaper_combination_suffices(words):
    before = asked(
        words, ["micro_batch=8", "response_length=8192", "gpu_memory_utilization=0.5"]
    )
    found = cheapest(before)
    assert found, "the search ends too early: raise `most` in `search` of formula.toml"
    inputs = found.estimate.configuration.inputs
    changed = {
        name: value for name, value in inputs.items() if value != before.values[name]
    }
    least = cost_of(changed, before)
    for size in (1, 2, 3):
        for chosen in combinations(SWITCHES, size):
            inputs = {name: value for one in chosen for name, value in one.items()}
            if cost_of(inputs, before) < least:
                assert not fits(before.with_inputs(**inputs)), inputs


def test_what_fits_needs_no_setting_and_what_cannot_fit_has_none():
    found = cheapest(asked({"framework": "verl"}))
    assert found
    assert not found.turns
    assert cheapest(asked({"model": "deepseek-ai/DeepSeek-V3", "gpus": 1})) is None


def test_knobs_are_at_most_six_by_price_and_then_by_gain():
    before = asked({**TIGHT, "micro_batch": 16, "response_length": 8192})
    found = knobs(before)
    ranks = [(not knob.helps, knob.cost, -knob.gain) for knob in found]
    assert ranks == sorted(ranks)
    assert 1 < len(found) <= 6


def test_failures_and_runs_of_the_same_size_stand_beside_the_arithmetic():
    told = evidence(DATASET, asked({"task": "GRPO", "framework": "verl"}))
    failed, ran = told
    assert failed == (
        "Fits by arithmetic, but published runs of this size ran out of memory on as much (2): "
        "https://github.com/Open-Reasoner-Zero/Open-Reasoner-Zero/issues/21, "
        "https://github.com/PeterGriffinJin/Search-R1/issues/111"
    )
    assert ran.startswith(
        "So does the nearest published run, on no more memory in all: "
    )
    tight, ran = evidence(DATASET, asked(TIGHT))
    assert tight.startswith(
        "Published runs of this size ran out of memory on as much ("
    )
    assert ran.startswith(
        "A published run of this size did fit on no more memory in all: "
    )


def test_no_constant_is_from_a_stranger():
    strangers = {
        row["source"].partition("#")[0]
        for row in read_rows(ROOT / "benchmarks/strangers.csv")
    }
    assert len(strangers) > 10
    cited = json.dumps(formula()) + (ROOT / "benchmarks/measured.csv").read_text()
    cited += (ROOT / "tools/rl_resources/estimate/frameworks.toml").read_text()
    assert not [source for source in strangers if f"{source}," in f"{cited},"]
