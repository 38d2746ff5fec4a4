"""`plan`: the word of each answer, and that what it proposes fits, divides and is said."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from cases import each, findings_in, read_cases
from conftest import Command
from rl_resources import load
from rl_resources.check import all_rules
from rl_resources.contribute.draft import draft
from rl_resources.contribute.new import plan_script
from rl_resources.dataset import Dataset
from rl_resources.devices import Device, devices_of
from rl_resources.errors import Finding
from rl_resources.estimate.plan import divides, rare_settings, rules
from rl_resources.query.configurations import every_configuration
from rl_resources.query.estimate import estimate
from rl_resources.query.plan import (
    Plan,
    plan,
    plan_table,
    published_runs,
    run_of_size,
    settings_for,
)
from rl_resources.query.plan_question import ask_plan
from rl_resources.rule import Rule
from rl_resources.script.script_text import ScriptText
from website import ROOT

CASES = read_cases("plan")
ASKED = {name: {"asked": case["asked"]} for name, case in CASES["answers"].items()}
MANY = CASES["many"]["asked"]
MOST_LINES = 20
SCRIPT_RULES = [rule for rule in all_rules().values() if rule.scope == "script"]


def _plan(dataset: Dataset, asked: Mapping[str, str]) -> Plan:
    return plan(ask_plan(dataset, asked))


@pytest.fixture
def planned(command: Command) -> Command:
    """A function that runs the command for a question."""

    def run(asked: Mapping[str, str], *words: object, status: int = 0) -> str:
        options = [f"--{name.replace('_', '-')}={text}" for name, text in asked.items()]
        return command("plan", "--root", ROOT, *options, *words, status=status)

    return run


@each(CASES["answers"], "asked verdict gpus")
def test_an_answer_has_this_word_and_proposes_what_fits(
    dataset: Dataset,
    asked: Mapping[str, str],
    verdict: str,
    gpus: Mapping[str, int] | None,
) -> None:
    found = _plan(dataset, asked)
    assert found.verdict == verdict
    for tag, number in (gpus or {}).items():
        assert found.options[tag].values["gpus"] == number
    for option in found.options.values():
        assert found.question.start.holds(option)
        assert divides(option)
        assert not option.values["undivided"]
        assert not rare_settings(option) or found.verdict == "rare"


@each(ASKED, "asked")
def test_an_answer_is_short_and_begins_with_its_word(
    asked: Mapping[str, str], planned: Command
) -> None:
    lines = planned(asked).splitlines()
    words = {"Yes", "Probably", "Perhaps", "Probably not", "No"}
    word, _, _ = lines[0].partition(": ")
    assert word in words or lines[0].startswith("Nobody has published it; ")
    assert len(lines) <= MOST_LINES


@each(CASES["refused"], "asked message help_")
def test_a_refusal_is_one_line_with_its_fix(
    asked: Mapping[str, str], message: str, help_: str, planned: Command
) -> None:
    said = planned(asked, status=2)
    assert said == f"rl-resources: error: {message}\n  help: {help_}\n"


@each(CASES["scripts"], "asked")
def test_the_estimate_of_a_script_is_that_of_its_plan(
    dataset: Dataset, asked: Mapping[str, str], tmp_path: Path
) -> None:
    answer = _plan(dataset, asked)
    for tag, option in answer.options.items():
        text = plan_script(answer, tag)
        assert [item for rule in SCRIPT_RULES for item in _findings(rule, text)] == []
        path = tmp_path / "plan.sh"
        path.write_text(text)
        words = {"model": answer.question.model, "gpus": f"{option.values['gpus']:g}"}
        found = estimate(
            dataset, {**words, "device": asked["device"]}, script=str(path)
        )
        assert found.verdict == option.verdict
        assert found.deciding.moment.peak_gb == pytest.approx(
            option.deciding.moment.peak_gb
        )
        assert found.host_memory_gb == pytest.approx(option.host_memory_gb)


@pytest.mark.nightly
@pytest.mark.parametrize("asked", MANY, ids=lambda asked: " ".join(asked.values()))
def test_nothing_is_found_in_the_script_of_a_plan(
    dataset: Dataset, asked: Mapping[str, str], tmp_path: Path
) -> None:
    answer = _plan(dataset, asked)
    assert answer.options
    stated = [f"device={asked['device']}", "contributor=octocat"]
    for tag in answer.options:
        path = tmp_path / f"{tag}.sh"
        path.write_text(plan_script(answer, tag))
        assert (
            draft(
                ROOT, str(path), log="", issue="", stated=stated, write=False
            ).findings
            == []
        )


def _findings(rule: Rule, text: str) -> list[Finding]:
    return findings_in(ScriptText("plan.sh", text), rule)


@each(CASES["said"], "asked said")
def test_what_is_assumed_and_what_is_least_is_said(
    asked: Mapping[str, str], said: str, planned: Command
) -> None:
    assert said in planned(asked)


def test_a_change_of_a_script_has_its_price(planned: Command) -> None:
    script = ROOT / "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    lines = planned({"gpus": "2", "device": "a100-40g"}, script).splitlines()
    changes = [line for line in lines if line.startswith("-  ")]
    assert changes
    assert all(" (price: " in line for line in changes)


def test_without_hardware_less_memory_never_takes_fewer_gpus(dataset: Dataset) -> None:
    table = plan_table(dataset, {"model": "Qwen2.5-7B-Instruct"})
    assert [*table.rows] == [device.label for device in _classes(dataset)]
    for weights in ("full", "lora", "qlora"):
        cells = [cells[weights] for cells in table.rows.values()]
        # Nodes of another device may have less host memory.
        own = [cell.fits for cell in cells if not cell.of_host]
        numbers = [found.values["gpus"] for found in own if found]
        assert numbers == sorted(numbers, reverse=True)
        assert numbers


def test_a_task_of_adapters_has_no_column_of_all_weights(dataset: Dataset) -> None:
    asked = {"model": "Qwen2.5-0.5B", "task": "GRPO-LoRA"}
    for cells in plan_table(dataset, asked).rows.values():
        assert [*cells] == ["lora", "qlora"]


def test_a_plan_has_the_interval_of_settings_that_are_written(dataset: Dataset) -> None:
    asked = {"model": "google/gemma-3-4b-it", "weights": "qlora", "memory": "16"}
    question = ask_plan(dataset, {**asked, "gpus": "1"})
    planned = settings_for(question, "RECOMMENDED")
    assert planned.verdict == "fits"
    assert question.start.first.upper_factor() > planned.upper_factor()


def test_without_hardware_what_fits_less_memory_fits_more(dataset: Dataset) -> None:
    asked = {"model": "32B", "weights": "full", "host_memory": "256"}
    for cells in plan_table(dataset, asked).rows.values():
        found = cells["full"].fits
        assert found
        assert found.values["gpus"] == 128
        assert found.verdict == "fits"


def _classes(dataset: Dataset) -> list[Device]:
    known = devices_of(dataset).known
    return [known[item["device"]] for item in rules()["class"]]


def test_a_script_that_does_not_fit_says_what_to_change(planned: Command) -> None:
    script = ROOT / "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    on_less = {"gpus": "4", "device": "a100-40g"}
    first, _, change, *_ = planned(on_less, script).splitlines()
    assert first == (
        f"Probably not: by arithmetic {script.name} does not fit on 4 GPUs of 40 GB as it is, "
        "but with this change it does."
    )
    assert change.startswith("-  add actor_rollout_ref.")
    first, *_ = planned({"gpus": "4", "device": "h100"}, script).splitlines()
    fits = "fits on 4 GPUs of 80 GB as it is, at most 67.2 of 84.6 GB a GPU."
    assert first == f"Probably: by arithmetic {script.name} {fits}"
    first, *_ = planned({}, script).splitlines()
    assert first == f"Yes: {script.name} ran on 2 \N{MULTIPLICATION SIGN} H800 80 GB."


def test_a_published_run_without_a_task_has_no_gap(dataset: Dataset) -> None:
    rows = published_runs(every_configuration(dataset))
    labels = [run_of_size(row)["label"] for row in rows]
    assert any("B on " in label for label in labels)
    assert not any("  " in label for label in labels)


def test_python_gives_the_answer_of_the_command(planned: Command) -> None:
    asked = {"model": "7B", "gpus": "8", "device": "h100"}
    answer = load(ROOT).plan(**asked)
    assert planned(asked) == str(answer)
    assert answer.as_dict()["verdict"] == "yes"
    assert answer.script("MIN").startswith("#!/usr/bin/env bash\n")


@each(CASES["first"], "asked first")
def test_an_answer_begins_with_this_line(
    asked: Mapping[str, str], first: str, planned: Command
) -> None:
    assert planned(asked).splitlines()[0] == first


def test_runs_of_a_config_are_those_of_its_size(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CASES["config"]))
    question = ask_plan(dataset, {"model": str(path), "gpus": "8", "device": "h100"})
    assert {row.size for row in question.scope} == {"1.5B"}


def test_the_time_of_a_step_and_the_hours_of_a_run_are_said(planned: Command) -> None:
    asked = {"model": "Qwen3-32B", "gpus": "16", "device": "h20"}
    text = planned(asked, "--steps", "100", "--price", "2.5")
    form = (
        r"   A step of 256 prompts, 5 each: [\d,]+ s, [\d,]+ to [\d,]+ \(estimated\), of it "
        r"generation [\d.,]+, log-probs [\d.]+, update [\d.]+, other [\d.]*\d(.*)\n"
        r"   [\d,]+ tokens/s \([\d,]+ to [\d,]+\) per GPU; 100 steps: [\d,]+ GPU hours "
        r"\([\d,]+ to [\d,]+\); [\d,]+ \([\d,]+ to [\d,]+\) at 2\.5 per GPU hour\.\n"
    )
    assert re.findall(form, text) == ["; the fastest of the settings that fit.", "."]


def test_hardly_any_script_has_what_is_called_rare() -> None:
    scripts = list((ROOT / "examples").rglob("*.sh"))
    policy = [path for path in scripts if "offload_policy=True" in path.read_text()]
    assert "offload_policy" in rules()["search"]["rare"]
    assert len(policy) * 50 < len(scripts)
