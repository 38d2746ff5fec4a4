"""The estimate of memory: its terms, its questions, its knobs, and how wrong it is."""

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cases import cases, read_cases
from rl_resources import UnusableInput
from rl_resources.estimate.estimate import Estimate, knobs
from rl_resources.estimate.formula import evaluate, formula, parse
from rl_resources.script.backends import BACKENDS
from shipped import DATASET
from website import ROOT, read_rows

SCRIPT = ROOT / "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
QUESTION = {"model": "Qwen/Qwen2.5-7B-Instruct", "gpus": "8", "device": "h100"}
RUNS = read_rows(ROOT / "benchmarks/backtest.csv")
ORACLE = read_rows(ROOT / "benchmarks/memory_oracle.csv")


def asked(**words: object) -> Estimate:
    return DATASET.estimate(**{**QUESTION, **words})


def test_a_formula_is_arithmetic_on_names_and_nothing_else():
    assert parse("max(a, 2) * (b - 1)") == ["*", ["max", "a", 2], ["-", "b", 1]]
    assert parse("a if b > 0 else 1") == ["if", [">", "b", 0], "a", 1]
    for text in ("__import__('os')", "a.b", "a[0]", "lambda: 1", "a and b", "'a' * 2", "f(a)"):
        with pytest.raises(ValueError, match="no arithmetic"):
            parse(text)


def test_every_name_in_a_term_is_known_before_it_and_every_source_has_an_address():
    found, known = formula(), {*formula()["constants"]}
    known |= {item["name"] for item in found["input"]} | {*DATASET.models.columns}

    def names(tree: Any) -> set[str]:
        if isinstance(tree, list):
            return set().union(*map(names, tree[1:]))
        return {tree} if isinstance(tree, str) else set()

    for item in found["term"]:
        assert names(parse(item["formula"])) <= known, item["name"]
        known.add(item["name"])
    used = {source for item in found["term"] for source in item.get("source", ())}
    assert used <= found["sources"].keys()
    for moment in found["moment"]:
        assert set(moment["components"].values()) <= known


def test_offload_of_verl_lowers_the_phases_between_updates_and_not_the_update():
    plain, moved = asked(infer="vllm"), asked(infer="vllm").with_inputs(optimizer_offload=1)
    assert plain.phases["update"].peak_gb == moved.phases["update"].peak_gb
    saved = plain.phases["rollout"].peak_gb - moved.phases["rollout"].peak_gb
    assert saved == pytest.approx(8 * 7.61 / 8, rel=0.001)
    assert moved.host_memory_gb == pytest.approx(8 * 7.61, rel=0.001)


def test_a_compressed_kv_cache_is_whole_on_each_gpu():
    words = {"model": "deepseek-ai/DeepSeek-V3", "gpus": 64, "infer": "vllm"}
    for size in (1, 8):
        found = asked(**words, settings=[f"engine_tensor_parallel={size}"])
        assert found.values["kv_bytes"] == 2 * 61 * 576


def test_a_model_without_a_gate_in_its_mlp_says_so():
    words = {"device": "a100-80g", "gpus": 1, "weights": "lora"}
    found = {
        name: asked(model=name, **words).values for name in ("microsoft/phi-2", "Qwen/Qwen3-4B")
    }
    assert [values["matrices"] for values in found.values()] == [2, 3]
    assert found["microsoft/phi-2"]["parameters"] == pytest.approx(2.78e9, rel=0.01)


def test_a_critic_is_sharded_as_the_backend_does_and_trains_with_its_gradients():
    words = {"train": "deepspeed", "gpus": 8, "task": "PPO"}
    values = asked(**words, settings=["shards_parameters=0"]).values
    parameters = values["parameters"]
    assert values["critic_state"] == pytest.approx(2 * parameters + 12 * parameters / 8)
    offloaded = ["critic_parameter_offload=1", "critic_optimizer_offload=1"]
    found = asked(gpus=8, task="PPO", settings=offloaded)
    assert found.phases["update"].name == "optimizer step of the critic"
    assert found.host_memory_gb == pytest.approx(12 * parameters / 1e9)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B", "Qwen/Qwen3-30B-A3B"]),
    st.sampled_from(["fsdp", "deepspeed", "transformers"]),
    st.sampled_from(["full", "lora", "qlora"]),
    st.integers(0, 6),
    st.integers(1, 32),
    st.integers(1, 32768),
)
def test_more_gpus_never_need_more_each_and_more_tokens_never_less(
    model, train, weights, power, micro, length
):
    words = {"model": model, "train": train, "weights": weights, "response_length": length}
    found = asked(**words, gpus=2**power, micro_batch=micro)
    assert found.peak_gb >= sum(found.training.components.values()) - 1e-9 > 0
    longer = found.with_inputs(response_length=2 * length).peak_gb
    assert longer >= found.peak_gb - 1e-9
    if power:  # with one GPU there are no buffers of communication
        assert found.with_inputs(gpus=2 ** (power + 1)).peak_gb <= found.peak_gb + 1e-9


@cases("estimate", "setting")
def test_a_setting_is_an_input_a_key_of_verl_or_the_end_of_one(setting, name, value):
    assert asked(settings=[setting]).configuration.inputs[name] == value


@cases("estimate", "backend")
def test_a_backend_that_nobody_names_follows_from_the_gpus(words, train, sharded):
    found = asked(**words)
    assert found.configuration.train == train
    assert found.values["shards_parameters"] == sharded


@pytest.mark.parametrize("train", sorted(BACKENDS))
def test_a_backend_of_verl_has_its_settings_in_its_own_section(train, tmp_path):
    key = f"actor_rollout_ref.actor.{BACKENDS[train].section}.param_offload"
    for setting in ("param_offload=True", f"{key}=True"):
        assert asked(train=train, settings=[setting]).values["parameter_offload"] == 1
    assert f"{key}=True" in {knob.setting for knob in knobs(asked(train=train, infer="vllm"))}
    script = tmp_path / f"qwen2.5-7b_grpo_8_h100_{train}_vllm.sh"
    choice = train.replace("fsdp2", "dp").replace("fsdp", "dp")
    strategy = f"model_engine={choice} actor_rollout_ref.actor.strategy={train}"
    script.write_text(f"python3 -m verl.trainer.main_ppo {strategy} {key}=True\n")
    assert DATASET.estimate(str(script)).values["parameter_offload"] == 1


def test_what_a_backend_lacks_is_no_knob_of_it():
    turned = {
        train: any("activation_offload" in knob.setting for knob in knobs(asked(train=train)))
        for train in ("fsdp", "veomni", "megatron", "deepspeed")
    }
    assert turned == {"fsdp": True, "veomni": True, "megatron": False, "deepspeed": True}


def test_a_knob_is_the_setting_of_the_framework_with_its_line_and_its_effect_recomputed():
    found = DATASET.estimate(str(SCRIPT))
    by_setting = {knob.setting: knob for knob in knobs(found)}
    key = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"
    knob = by_setting[f"{key}=8"]
    assert key in SCRIPT.read_text().splitlines()[knob.line - 1]
    halved = found.with_inputs(log_prob_micro_batch=8)
    lower = found.phases["log-probs"].peak_gb - halved.phases["log-probs"].peak_gb
    assert knob.saves["log-probs"] == pytest.approx(lower)
    assert not any("checkpointing" in setting for setting in by_setting), "it is on already"


def test_a_script_gives_its_settings_and_lists_every_default_that_was_taken():
    found = DATASET.estimate(str(SCRIPT))
    inputs, expected = found.configuration.inputs, read_cases("estimate")["script"]
    assert inputs.items() >= expected["inputs"].items()
    named = {item.input for item in found.configuration.assumed}
    taken = {*inputs} - named - {*DATASET.models.columns, "device_gb"}
    assert taken == {*expected["given"]}


def test_a_script_whose_engine_has_gpus_of_its_own_is_estimated_for_those_that_train():
    script = SCRIPT.with_name("qwen2.5-math-7b_dapo_64_h20_fsdp2_vllm.sh")
    found = DATASET.estimate(str(script))
    inputs = found.configuration.inputs
    assert (inputs["gpus"], inputs["has_engine"], "rollout" in found.phases) == (32, 0, False)


def test_what_a_script_leaves_open_is_named_with_the_default_taken(tmp_path):
    script = tmp_path / SCRIPT.name
    text = SCRIPT.read_text().replace('length="${MAX_RESPONSE_LENGTH}"', 'length="$1"')
    script.write_text(text)
    found = DATASET.estimate(str(script))
    reasons = {item.input: item.reason for item in found.configuration.assumed}
    line = next(at for at, text in enumerate(text.splitlines(), 1) if 'length="$1"' in text)
    expected = f"data.max_response_length is not known without running the script (line {line})"
    assert reasons["response_length"] == expected


@cases("estimate", "refused")
def test_wrong_input_is_one_line_with_a_fix_and_exit_2(words, message, command):
    asked = words.replace("ASKED", "--model Qwen2.5-7B --gpus 8 --device h100").split()
    said = command("estimate", *asked, "--root", ROOT, status=2)
    assert message in said.splitlines()[0]


CONFIG = read_cases("estimate")["config"]


@pytest.fixture
def of_config(tmp_path: Path) -> Callable[[str], Estimate]:
    """The estimate of a model whose `config.json` has this text."""
    path = tmp_path / "config.json"

    def estimate(text: str) -> Estimate:
        path.write_text(text)
        return asked(model=str(path))

    return estimate


def test_a_config_json_stands_for_a_model_and_what_it_leaves_out_is_listed(of_config):
    found = of_config(json.dumps(CONFIG | {"num_key_value_heads": 4}))
    assert found.peak_gb == pytest.approx(asked().peak_gb, rel=0.01)
    found = of_config(json.dumps({"text_config": "none", "llm_config": CONFIG}))
    listed = {item.input: item.value for item in found.configuration.assumed}
    assert listed.items() >= {"kv_heads": 28, "tie_word_embeddings": 0}.items()


def test_a_config_json_says_whether_the_kv_cache_is_compressed(of_config):
    found = of_config(json.dumps(CONFIG | {"kv_lora_rank": 512, "qk_rope_head_dim": 64}))
    assert found.values["kv_bytes"] == 2 * 28 * 576


@cases("estimate", "figure")
def test_a_figure_of_a_config_json_that_cannot_be_is_named(change, message, of_config):
    changed = CONFIG | json.loads(change.replace("HUGE", str(10**400)))
    with pytest.raises(UnusableInput, match=re.escape(message)):
        of_config(json.dumps(changed))


@pytest.mark.parametrize("text", ["[]", "{", "\0", "[" * 500_000])
def test_what_is_no_config_json_is_unusable(text, of_config):
    with pytest.raises(UnusableInput):
        of_config(text)


def test_a_group_of_more_than_all_gpus_is_all_of_them_as_in_verl():
    every = asked(gpus=8).peak_gb
    for size in (16, 8, -1):
        assert asked(gpus=8, settings=[f"fsdp_size={size}"]).peak_gb == every


def test_what_is_asked_wins_over_the_script():
    found = DATASET.estimate(str(SCRIPT), memory=24, task="PPO")
    assert found.values["device_gb"] == 24
    assert found.values["has_critic"] == 1


def test_a_value_that_a_script_sets_and_that_cannot_be_is_an_error(tmp_path):
    script = tmp_path / SCRIPT.name
    text = SCRIPT.read_text()
    script.write_text(text.replace('length="${MAX_RESPONSE_LENGTH}"', "length=-5"))
    with pytest.raises(UnusableInput, match="response_length: -5 is not possible"):
        DATASET.estimate(str(script))


def test_json_has_what_the_contract_names_and_text_the_same_figures(command):
    arguments = ("estimate", SCRIPT, "--root", ROOT)
    found = json.loads(command(*arguments, "--format", "json"))
    contract = "peak_gb interval_gb verdict phases components knobs host_memory_gb assumed"
    assert {*contract.split()} <= found.keys()
    assert list(found["phases"]) == ["rollout", "log-probs", "update"]
    text = command(*arguments)
    assert f"{found['verdict']}: {found['peak_gb']:.1f} GB at the peak of training" in text
    assert all(knob["setting"] in text for knob in found["knobs"][:8])
    assert text.startswith("Estimated: ")
    given = "Given: gpus 2, device_gb 80, prompt_length 1024, response_length 1024, rollout_n 5, "
    assert f"{given}micro_batch 16" in text


def test_the_inputs_are_listed_with_the_keys_of_the_framework(command):
    shown = command("estimate", "--set", "list").splitlines()
    assert {item["name"] for item in formula()["input"]} <= set(shown)
    assert "    actor_rollout_ref.actor.fsdp_config.optimizer_offload" in shown


def test_on_measured_runs_whose_tokens_are_known_the_error_is_within_the_goals():
    chosen = [case for case in RUNS if case["measured_gb"] and case["known"] == "true"]
    chosen = [case for case in chosen if case["kind"] == "measured"]
    ratios = [float(case["estimated_gb"]) / float(case["measured_gb"]) for case in chosen]
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    assert statistics.median(errors) <= 0.08
    assert errors[int(0.9 * len(errors))] <= 0.20
    assert 0.85 <= within(chosen) <= 0.96


def within(chosen: list[dict[str, str]]) -> float:
    """The share of measured peaks that lie in the interval of the other projects' errors."""
    inside = [
        float(case["low_gb"]) <= float(case["measured_gb"]) <= float(case["high_gb"])
        for case in chosen
    ]
    return sum(inside) / len(inside)


@pytest.mark.parametrize("kinds", [{"measured"}, {"measured", "report"}])
def test_the_interval_holds_where_only_the_longest_sequence_is_known(kinds):
    chosen = [case for case in RUNS if case["measured_gb"] and case["known"] == "false"]
    assert 0.85 <= within([case for case in chosen if case["kind"] in kinds]) <= 0.95


def test_where_only_the_longest_is_known_the_interval_is_as_wide_as_the_tokens_decide():
    few, many = (asked(micro_batch=1, response_length=length).interval_gb for length in (64, 8192))
    assert many[1] / many[0] > 1.1 * few[1] / few[0]


def test_no_run_that_ran_cannot_fit_and_most_that_did_not_are_tight_or_worse():
    decided = [case for case in RUNS if case["verdict"]]
    ran = [case["verdict"] for case in decided if case["outcome"] == "ran"]
    assert "cannot fit" not in ran
    assert ran.count("unlikely") <= 0.03 * len(ran)
    failed = [case["verdict"] for case in decided if case["outcome"] == "out-of-memory"]
    assert failed.count("fits") <= 0.2 * len(failed)


def test_the_committed_cases_are_those_of_the_formula(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import backtest

    made = {case.id: case for case in backtest.measured(DATASET, [])}
    written = [case for case in RUNS if case["kind"] in {"measured", "varied"}]
    assert {case["id"] for case in written} == made.keys(), "run make backtest"
    for case in written:
        assert float(case["estimated_gb"]) == pytest.approx(made[case["id"]].estimated_gb, rel=1e-3)
    files = [pl.read_csv(ROOT / "benchmarks" / f"backtest{end}.csv") for end in ("", "_errors")]
    assert_frame_equal(backtest.errors(files[0]), files[1], check_dtypes=False, abs_tol=1e-4)


def test_the_terms_of_a_question_have_no_surprise_at_the_edges():
    inputs = {**asked().configuration.inputs}
    for name, value in (("micro_batch", 1e6), ("gpus", 65536), ("response_length", 1e7)):
        assert all(number == number for number in evaluate({**inputs, name: value}).values())


# The committed figures of `make oracle`


def test_every_case_of_the_oracle_has_one_row(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from memory_cases import CASES

    assert sorted(row["id"] for row in ORACLE) == sorted({case.id for case in CASES})


def test_the_kinds_add_up_to_the_highest_phase():
    for row in ORACLE:
        size = {name: float(row[name]) for name in row if name.endswith("_gb")}
        peak, host = size.pop("peak_gb"), size.pop("host_gb")
        phases = [size.pop(f"{phase}_gb") for phase in ("forward", "backward", "step")]
        assert (host > 0.01) == (row["offload"] != "none"), row["id"]
        assert peak == max(phases) == float(row[f"{row['at_phase']}_gb"]), row["id"]
        assert sum(size.values()) == pytest.approx(peak, abs=0.001), row["id"]
