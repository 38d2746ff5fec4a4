"""The time of a step: what it needs, what it gives, and how wrong it is."""

import json
import math
import statistics
from itertools import chain, combinations

import pytest

from cases import cases, each, read_cases
from rl_resources.estimate.configuration import Assumed
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import formula, inputs_by_name, parse
from rl_resources.estimate.search import seconds_of_knobs
from rl_resources.estimate.time import StepTime, constants, lacking, step_time
from rl_resources.query.find import ask, by_time
from shipped import DATASET
from test_estimate import names_in
from website import ROOT, read_rows

CASES = read_cases("step_time")
QUESTION = CASES["question"]
RUNS = read_rows(ROOT / "benchmarks/time_backtest.csv")


def asked(*settings: str, **words: object) -> Estimate:
    return DATASET.estimate(settings=settings, **{**QUESTION, **words})


def timed(*settings: str, **words: object) -> StepTime:
    found = step_time(asked(*settings, **words))
    assert found
    return found


def test_every_timed_run_names_its_project_and_its_source():
    for run in RUNS:
        assert run["source"].startswith("https://"), run["id"]
        assert run["project"] in run["source"], run["id"]


def test_every_name_in_a_term_of_the_time_is_known_before_it():
    found = formula()["time"]
    known = {
        *formula()["constants"],
        *inputs_by_name(),
        *constants(),
        *DATASET.models.columns,
    }
    known |= {item["name"] for item in formula()["term"]}
    known |= {"micro_known", "share_known", "is_ascend", "is_static", "is_fused"}
    known |= set(formula()["config"])
    for item in found["term"]:
        name = item["name"]
        assert names_in(parse(item["formula"])) <= known, name
        assert name not in known
        known.add(name)


def test_no_two_names_of_memory_and_time_are_the_same():
    of_memory = {item["name"] for item in formula()["term"]} | formula()[
        "constants"
    ].keys()
    assert not of_memory & constants().keys()


@each(CASES["lacking"], "without words settings lacks")
def test_without_what_decides_there_is_no_time_but_what_is_lacking(
    without, words, settings, lacks
):
    left_out = dict.fromkeys(without or ())
    found = asked(*(settings or ()), **left_out, **(words or {}))
    assert step_time(found) is None
    assert lacking(found) == lacks


def test_a_device_without_a_speed_may_be_given_one():
    assert step_time(asked("bf16_tflops=70", device="a10g"))


def test_phases_add_up_unless_generation_goes_on_while_the_model_trains():
    together = timed()
    assert sum(together.phases.values()) == pytest.approx(together.seconds.middle)
    apart = timed("rollout_gpus=8", "steps_off_policy=1", "has_engine=0")
    assert apart.overlaps
    assert apart.gpus == 16
    assert apart.seconds.middle < sum(apart.phases.values())


@each(CASES["longer"], "than settings words phase times")
def test_a_step_takes_longer(than, settings, words, phase, times):
    before = timed(**(than or {}))
    after = timed(*settings, **words)
    assert after.phases[phase] > (times or 1.05) * before.phases[phase]


def mean_length(found: StepTime) -> Assumed:
    """What is assumed of the mean length of responses."""
    by_input = {item.input: item for item in found.assumed}
    return by_input["mean_response_length"]


def test_the_mean_length_that_nobody_gave_is_said_and_widens_the_interval():
    known = timed()
    longest = timed(mean_response_length=None)
    said = mean_length(longest)
    assert said.reason == "usual with this longest response"
    assert said.value == round(constants()["response_scale"] * math.sqrt(4096))
    known_width = known.seconds.high / known.seconds.low
    assert longest.seconds.high / longest.seconds.low > known_width


@cases("step_time", "thinks")
def test_a_model_that_thinks_is_known_by_its_name(model, thinks):
    assert asked(model=model).values["thinks"] == thinks


def test_responses_of_a_model_that_thinks_are_longer_if_only_the_longest_is_known():
    thinking = timed(model="Qwen/Qwen3-8B", mean_response_length=None)
    silent = timed("thinks=0", model="Qwen/Qwen3-8B", mean_response_length=None)
    assert mean_length(thinking).value == round(constants()["thought_share"] * 4096)
    assert thinking.seconds.middle > 1.5 * silent.seconds.middle


def test_gpu_hours_and_cost_follow_from_the_seconds():
    found = timed()
    hours = found.gpu_hours(100)
    assert hours.middle == pytest.approx(found.seconds.middle * 800 / 3600)
    assert hours.times(2).high == pytest.approx(2 * hours.high)
    rate = found.tokens_per_second_per_gpu
    assert rate.low < rate.middle < rate.high
    assert rate.middle == pytest.approx(found.tokens / 8 / found.seconds.middle)


def test_a_setting_has_its_price_in_seconds_where_a_term_has_it():
    found = seconds_of_knobs(asked(micro_batch=32))
    assert found["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16"] > 0
    assert not any("fused_kernels" in setting for setting in found)
    assert seconds_of_knobs(asked(infer=None, task=None)) == {}


def test_the_command_prints_the_time_or_what_it_needs(command):
    options = ["--model", "Qwen/Qwen2.5-7B-Instruct", "--gpus", "8", "--device", "h100"]
    lines = command("estimate", *options)
    assert (
        "No step time: it needs a rollout engine (--infer vllm or sglang or "
        "vllm-ascend or hf), prompts per\n  step (--prompts-per-step N)"
    ) in lines


def test_json_has_the_time_the_hours_and_the_cost(command):
    options = [
        f"--{name.replace('_', '-')}={value}" for name, value in QUESTION.items()
    ]
    printed = command(
        "estimate", *options, "--steps", "10", "--price", "2", "--format", "json"
    )
    found = json.loads(printed)["step_time"]
    assert list(found["phases"]) == ["generation", "log-probs", "update", "other"]
    low, high = found["interval_seconds"]
    assert low < found["seconds"] < high
    assert found["cost"][0] == pytest.approx(2 * found["gpu_hours"][0], abs=0.02)


def test_find_puts_the_shortest_step_first():
    found, _ = ask(DATASET, {"model": "7B", "gpus": "8", "device": "h100"})
    rows = by_time(found.answers)
    seconds = [row.step_seconds for row in rows if row.step_seconds]
    assert seconds == sorted(seconds)
    assert len(seconds) > 2
    assert all(row.step_seconds for row in rows[: len(seconds)])


def errors(lengths: str) -> list[float]:
    chosen = [row for row in RUNS if row["lengths"] == lengths]
    logs = [
        math.log(float(row["estimated"]) / float(row["measured"])) for row in chosen
    ]
    return sorted(math.exp(abs(error)) for error in logs)


@cases("step_time", "errors")
def test_the_published_back_test_is_no_worse_than_this(lengths, median, ninth):
    found = errors(lengths)
    assert statistics.median(found) <= median
    assert found[int(0.9 * len(found))] <= ninth


def test_of_two_runs_of_one_source_the_longer_is_estimated_longer():
    right = []
    for one, other in combinations(RUNS, 2):
        measured = float(one["measured"])
        compared = float(other["measured"])
        is_tie = math.isclose(measured, compared, rel_tol=0.05)
        if one["source"] != other["source"] or is_tie:
            continue
        is_estimated_less = float(one["estimated"]) < float(other["estimated"])
        is_less = measured < compared
        right.append(is_less == is_estimated_less)
    assert statistics.mean(right) >= 0.85


def test_the_interval_covers_nine_of_ten_runs_and_projects():
    within: dict[str, list[bool]] = {}
    for row in RUNS:
        kind = "known" if row["lengths"] == "mean" else "longest"
        low, high = formula()["time"]["interval"][kind]
        is_within = low <= float(row["measured"]) / float(row["estimated"]) <= high
        within.setdefault(row["project"], []).append(is_within)
    assert 0.85 <= statistics.mean(chain.from_iterable(within.values())) <= 0.95
    assert 0.85 <= statistics.mean(map(statistics.mean, within.values())) <= 0.95


def test_each_fitted_constant_says_how_many_runs_fix_it():
    for item in formula()["time"]["constant"]:
        assert item.get("runs", 0) > 0 or item["why"]
    assert len(constants()) <= 22
