"""A rollout engine with keys of its own is one entry of `ENGINES`, and all else reads it there."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cases import findings_in
from conftest import answers_in_node
from rl_resources.check import all_rules
from rl_resources.contribute.new import ScriptRequest, script_text
from rl_resources.contribute.training_log import read_log
from rl_resources.estimate.configuration import DERIVED
from rl_resources.estimate.formula import formula
from rl_resources.estimate.frameworks import _cells
from rl_resources.estimate.published import published
from rl_resources.estimate.search import knobs
from rl_resources.facts.pairs import Pair, Said
from rl_resources.query.estimate import estimate
from rl_resources.query.plan import settings_for
from rl_resources.query.plan_question import ask_plan
from rl_resources.script.backends import (
    ENGINES,
    ROLLOUT,
    SAME_BACKEND,
    Engine,
    named_version,
)
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.run import Run
from rl_resources.script.script_text import ScriptText
from rl_resources.site import api
from shipped import DATASET, estimate_as_published
from test_agreement import SETTINGS, script_of
from test_estimate import settings_of

OWN = f"{ROLLOUT}.engine_kwargs.swift"
SWIFT = Engine(
    divides=True,
    utilization=f"{OWN}.memory_fraction",
    sleep=f"{OWN}.sleeps",
    tensor_parallel=f"{OWN}.shards",
    data_parallel=f"{OWN}.copies",
    releases=(named_version("swift"),),
)
MODEL = "Qwen/Qwen2.5-7B-Instruct"
QUESTION = {"model": MODEL, "gpus": "8", "device": "h100", "infer": "vllm"}


KEPT = (_cells, published, api._estimate_parts)
"""What is kept of the engines that there are."""


@pytest.fixture(autouse=True)
def swift(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ENGINES, "swift", SWIFT)
    for kept in KEPT:
        kept.cache_clear()
    yield
    for kept in KEPT:
        kept.cache_clear()


def test_every_engine_is_a_backend_of_the_dataset():
    rows = DATASET.records["backends"]
    words = {str(row["backend"]) for row in rows if row["role"] == "infer"}
    known = {SAME_BACKEND.get(word, word) for word in words}
    assert ENGINES.keys() - {"swift"} <= known


def script_with(**own: object) -> ScriptText:
    """The sound script of `agreement.toml` with this engine and these of its settings."""
    settings = SETTINGS | {f"{ROLLOUT}.name": "swift"}
    for name, value in own.items():
        settings[f"+{OWN}.{name}"] = str(value)
    return ScriptText("a.sh", script_of(settings))


def run_with(**own: object) -> Run:
    run = script_with(**own).training
    assert run is not None
    return run


def messages(rule: str, target: object) -> list[str]:
    return [finding.message for finding in findings_in(target, all_rules()[rule])]


def pair_with(cells: Mapping[str, str], **own: object) -> Pair:
    """A row with these cells and the script with these settings of the engine."""
    said = {name: Said(cell, 2, 1) for name, cell in cells.items()}
    return Pair("tuning.csv", "a.sh", said, script_with(**own), (), (MODEL,), {}, {})


def test_a_run_has_its_settings():
    run = run_with(memory_fraction=0.7, sleeps=False, shards=3, copies=1)
    assert run.gpu_memory_utilization.value == 0.7
    assert run.rollout_sleep.flag is False
    assert "rollout-sleep" not in run.optimizations_on
    assert run.rollout_tensor_parallel_size.number == 3
    assert run.rollout_model_size == 3


def test_a_setting_that_the_engine_lacks_is_not_known(monkeypatch):
    monkeypatch.setitem(ENGINES, "swift", Engine(utilization="", pipeline_parallel=""))
    run = run_with()
    assert not run.gpu_memory_utilization.known
    assert run.rollout_model_size == run.rollout_tensor_parallel_size.number


@pytest.fixture
def path(tmp_path: Path) -> str:
    script = tmp_path / "qwen2.5-7b-instruct_grpo_8_h100_fsdp_swift.sh"
    own = {"memory_fraction": 0.7, "sleeps": False, "shards": 2, "copies": 2}
    script.write_text(script_with(**own).text)
    return str(script)


def test_the_estimate_of_a_script_reads_them(path):
    found = estimate(DATASET, {}, script=path)
    assert found.values["gpu_memory_utilization"] == 0.7
    assert found.values["engine_sleeps"] == 0
    assert found.values["engine_tensor_parallel"] == 2
    assert found.values["engine_data_parallel"] == 2


def test_the_formula_writes_no_key_of_an_engine_itself():
    for item in formula()["input"]:
        keys = set(item.get("key", {}).values())
        assert keys.isdisjoint(Engine()), item["name"]


def test_an_estimate_says_what_it_assumes_where_the_script_does_not_set_them(tmp_path):
    script = tmp_path / "qwen2.5-7b-instruct_grpo_8_h100_fsdp_swift.sh"
    script.write_text(script_with().text)
    found = estimate(DATASET, {}, script=str(script))
    by_input = {item.input: item for item in found.configuration.assumed}
    assumed = by_input["gpu_memory_utilization"]
    assert assumed.value == 0.5
    unknown = f"{SWIFT.utilization} is not known without running the script"
    assert assumed.reason == f"{unknown}, {DERIVED}"


def test_what_would_lower_a_peak_is_named_by_its_key(path):
    found = estimate(DATASET, {}, script=path)
    assert f"{SWIFT.utilization}=0.525" in settings_of(knobs(found))


def test_a_setting_of_the_question_may_be_its_key(path):
    found = estimate(DATASET, {}, [f"{SWIFT.utilization}=0.3"], path)
    assert found.values["gpu_memory_utilization"] == 0.3


def test_the_page_names_it_by_its_key_too(tmp_path):
    asked = [{**QUESTION, "infer": "swift"}, QUESTION]
    published = estimate_as_published()
    words = json.loads(published["words.json"])
    words["vocabulary"]["spellings"]["infer"]["swift"] = "swift"
    published["words.json"] = json.dumps(words)
    answers = answers_in_node("estimate", published, asked, tmp_path)
    for engine, answer in zip((SWIFT, Engine()), answers, strict=True):
        written = {setting for setting, *_ in answer["knobs"]}
        assert f"{engine.utilization}=0.375" in written


def test_rules_on_scripts_read_them():
    script = script_with(memory_fraction=60, shards=0)
    assert messages("value-range", script) == [
        f"`{SWIFT.utilization}` is `60`, which is more than 1",
        f"`{SWIFT.tensor_parallel}` is `0`, which is less than 1",
    ]


def test_rules_on_a_row_with_its_script_read_them():
    pair = pair_with({"gpu_memory_utilization": "0.5"}, memory_fraction=0.7)
    (message,) = messages("lengths-agree", pair)
    assert f"`{SWIFT.utilization}`" in message
    pair = pair_with({"memory_optimizations": "rollout-sleep"}, sleeps=False)
    assert any(
        f"`{SWIFT.sleep}`" in text for text in messages("optimizations-agree", pair)
    )


def test_rules_on_what_the_framework_refuses_read_them():
    (message,) = messages("parallel-sizes", pair_with({}, shards=3, copies=1))
    assert message.startswith(f"`{SWIFT.tensor_parallel}` is `3`: ")


def new_script() -> str:
    """What `new` writes for this engine."""
    known = DATASET.by_key
    asked = {
        "model": MODEL,
        "gpus": "8",
        "device": "h100",
        "train": "fsdp",
        "infer": "vllm",
    }
    rows = {
        "model": known["models"][MODEL],
        "task": known["tasks"]["GRPO"],
        "device": known["devices"]["h100"],
        "train": known["backends"]["fsdp"],
        "infer": {**known["backends"]["vllm"], "backend": "swift"},
    }
    wanted = ScriptRequest(rows, settings_for(ask_plan(DATASET, asked), "MIN"), "MIN")
    return script_text(wanted, shipped("verl"), "name")


def test_new_writes_the_keys_of_the_engine():
    text = new_script()
    assert f'    {SWIFT.utilization}="${{GPU_MEMORY_UTILIZATION}}"\n' in text
    assert f'    {SWIFT.tensor_parallel}="${{ROLLOUT_TENSOR_PARALLEL_SIZE}}"\n' in text
    assert Engine().utilization not in text
    assert Engine().tensor_parallel not in text


def test_new_writes_no_setting_that_the_engine_lacks(monkeypatch):
    monkeypatch.setitem(ENGINES, "swift", Engine(utilization="", tensor_parallel=""))
    text = new_script()
    assert "GPU_MEMORY_UTILIZATION=" not in text
    assert "ROLLOUT_TENSOR_PARALLEL_SIZE=" not in text


def test_a_training_log_names_its_release():
    log = read_log(["step:1 - timing_s/step:9", "INFO swift version: 1.2.0"], "run.log")
    assert log.releases == {"swift": "1.2.0"}
