"""The estimate of memory: its terms, its questions, its knobs, and how wrong it is."""

import json
import math
import re
from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cases import cases, each, read_cases, whole
from conftest import refused
from rl_resources import UnusableInput
from rl_resources.estimate import SPEEDS
from rl_resources.estimate.configuration import Assumed
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import (
    backends,
    evaluate,
    formula,
    inputs_by_name,
    parse,
)
from rl_resources.estimate.frameworks import (
    cells_of,
    frameworks,
    profile,
    profiles,
    released_cells,
)
from rl_resources.estimate.model import completed
from rl_resources.estimate.published import published
from rl_resources.estimate.search import Knob, knobs
from rl_resources.estimate.time import lacking, step_time
from rl_resources.query.estimate import estimate as estimated
from rl_resources.query.plan import evidence
from rl_resources.query.vocabulary import vocabulary
from rl_resources.script.backends import BACKENDS
from sample_tree import with_tables
from shipped import DATASET
from website import ROOT

SCRIPT = ROOT / "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
QUESTION = {"model": "Qwen/Qwen2.5-7B-Instruct", "gpus": "8", "device": "h100"}
RUNS = pl.read_csv(ROOT / "benchmarks/backtest.csv")
CASES = read_cases("estimate")
ORACLE = pl.read_csv(ROOT / "benchmarks/memory_oracle.csv")


def asked(**words: object) -> Estimate:
    return DATASET.estimate(**{**QUESTION, **words})


def test_an_estimate_prints_as_the_answer_of_the_command():
    printed = str(asked())
    verdict, _, estimated = printed.splitlines()[:3]
    assert " GB at the peak of training, 90 % interval " in verdict
    assert estimated == (
        "Estimated: Qwen/Qwen2.5-7B-Instruct on 8 GPUs, fsdp. GB are 10⁹ bytes of one GPU."
    )


def test_which_device_is_meant_and_what_it_lacks_is_said():
    printed = str(asked(device="V100"))
    assert (
        "\n“V100” is read as V100 16 GB or V100 32 GB. “V100” has no BF16: "
        "a run in BF16 or FP8 needs another precision on it.\n"
    ) in printed
    assert "\n  device_gb 16: the smallest of V100 16 GB, V100 32 GB\n" in printed


@cases("estimate", "tree")
def test_a_formula_is_arithmetic_on_names(text, tree):
    assert parse(text) == tree


@pytest.mark.parametrize("text", CASES["not_arithmetic"])
def test_a_formula_is_nothing_but_arithmetic(text):
    with pytest.raises(ValueError, match="is no arithmetic"):
        parse(text)


def names_in(tree: Any) -> set[str]:
    if isinstance(tree, str):
        return {tree}
    if isinstance(tree, list):
        _, *parts = tree
        return set().union(*map(names_in, parts))
    return set()


def test_every_name_in_a_term_is_known_before_it():
    found = formula()
    known = {*found["constants"], *inputs_by_name()}
    known.update(found["config"], ["parameters_b"])
    for item in found["term"]:
        name = item["name"]
        assert names_in(parse(item["formula"])) <= known, name
        known.add(name)
    for moment in found["moment"]:
        assert known.issuperset(moment["components"].values())


@pytest.mark.parametrize("item", formula()["term"], ids=lambda item: item["name"])
def test_a_term_has_a_unit_and_known_sources_and_is_no_longer_than_a_line(item):
    assert item["unit"]
    sources = formula()["sources"]
    assert sources.keys() >= set(item.get("source", ()))
    assert len(item["formula"]) <= 120


def test_offload_of_verl_lowers_the_phases_between_updates_and_not_the_update():
    plain = asked(infer="vllm")
    moved = plain.with_inputs(optimizer_offload=1)
    before = {name: phase.peak_gb for name, phase in plain.phases.items()}
    after = {name: phase.peak_gb for name, phase in moved.phases.items()}
    assert before["update"] == after["update"]
    saved = 7.61
    assert before["rollout"] - after["rollout"] == pytest.approx(saved, rel=0.001)
    waits_gb = moved.values["node_state"] / 1e9
    assert waits_gb == pytest.approx(8 * saved, rel=0.001)
    assert moved.host_memory_gb > plain.host_memory_gb


def test_a_critic_is_sharded_as_the_backend_does_and_trains_with_its_gradients():
    words = {"train": "deepspeed", "gpus": 8, "task": "PPO"}
    values = asked(**words, settings=["shards_parameters=0"]).values
    parameters = values["parameters"]
    sharded = 12 * parameters / 8
    expected = 2 * parameters + sharded
    assert values["critic_state"] == pytest.approx(expected)
    offloaded = ["critic_parameter_offload=1", "critic_optimizer_offload=1"]
    found = asked(gpus=8, task="PPO", settings=offloaded)
    assert found.phases["update"].name == "optimizer step of the critic"
    optimizer_gb = 12 * parameters / 1e9
    assert found.values["node_state"] / 1e9 == pytest.approx(optimizer_gb)


@cases("estimate", "host")
def test_host_memory_is_that_of_one_node(words, loading, state):
    found = asked(**words)
    low, high = found.host_interval_gb
    assert low < found.host_memory_gb < high
    values = found.values
    parameters = values["parameters"]
    assert values["loading"] == pytest.approx(loading * parameters)
    assert values["node_state"] == pytest.approx(state * parameters)
    held = max(values["loading"], values["node_state"] + values["object_store"])
    assert values["host_peak"] == pytest.approx(values["processes"] + held)


@cases("estimate", "floors")
def test_what_cannot_fit_says_what_it_needs_at_least(words, gb):
    found = asked(**words)
    assert found.verdict == "cannot fit"
    assert found.floor_gb == pytest.approx(gb, rel=0.01)
    assert f" At least {found.floor_gb:.1f} GB are needed.\n" in str(found)


def test_what_a_question_leaves_open_is_what_fits():
    words = {"model": "google/gemma-2-9b", "gpus": 1, "device": "", "weights": "qlora"}
    batch = ["micro_batch=2", "prompt_length=0", "response_length=2048"]
    large = asked(**words, memory=80, settings=batch)
    small = asked(**words, memory=16, settings=batch)
    reason = "instead of 0, not given, derived: what fits, else the best"
    derived = ("fused_logits", 1, reason)
    assert assumed(small)["fused_logits"] == derived
    assert small.peak_gb < small.device_gb < large.peak_gb < small.interval_gb[1]
    assert small.verdict == "tight"
    tiny = asked(**words, memory=4, settings=batch)
    assert assumed(tiny)["fused_logits"] == derived
    assert tiny.device_gb < tiny.peak_gb < small.peak_gb


@cases("estimate", "released")
def test_a_default_that_another_release_has_otherwise_is_open(words, opened):
    found = asked(**words, gpus=1)
    assert opened.items() <= found.usual.items()
    for name in opened:
        assert name in found.doubts
    named = asked(**{**words, "framework": f"{words['framework']} 99"}, gpus=1)
    assert named.doubts.keys().isdisjoint(opened)


@cases("estimate", "counters")
def test_what_pytorch_counts_of_a_sleeping_engine_is_said(model, framework, said):
    found = asked(task="GRPO", infer="vllm", framework=framework, model=model)
    lines = str(found).splitlines()
    assert [line for line in lines if "PyTorch" in line] == list(filter(None, [said]))


def test_a_reading_of_an_unnamed_release_counts_the_engine_but_surely_not():
    import backtest

    found = asked(task="GRPO", infer="vllm", framework="verl", model="7B")
    least, most = found.allocated_gb
    assert found.peak_gb * backtest._read_share(found, "allocated") == most
    assert backtest._least_read(found, "allocated") == pytest.approx(least / most)


def test_a_setting_multiplies_what_another_one_says_wherever_it_stands():
    settings = ["actor-num-nodes=2", "actor-num-gpus-per-node=8"]
    for ordered in (settings, settings[::-1]):
        found = asked(framework="slime", gpus="", task="GRPO", settings=ordered)
        assert found.values["gpus"] == 16


@cases("estimate", "more")
def test_an_input_changes_what_it_decides_and_by_how_much(
    words, setting, term, before, after
):
    plain = asked(**words)
    settings_before = words.get("settings", [])
    changed = asked(**{**words, "settings": [*settings_before, setting]})
    assert plain.values[term] == pytest.approx(before, rel=0.01)
    assert changed.values[term] == pytest.approx(after, rel=0.01)


def test_an_engine_on_gpus_of_its_own_takes_none_of_those_that_train():
    shared = asked(infer="vllm")
    own = asked(infer="vllm", settings=["engine_gpus=4", "engine_tensor_parallel=2"])
    assert own.phases["rollout"].name == "generation on GPUs of its own"
    saved = shared.peak_gb - own.peak_gb
    assert saved == pytest.approx(shared.values["sleeping_engine_bytes"] / 1e9)


def test_a_vision_tower_is_part_of_the_model_and_takes_patches():
    words = {"model": "Qwen/Qwen2.5-VL-7B-Instruct"}
    found = asked(**words, settings=["image_tokens=1024"])
    without = asked(**words, settings=["image_tokens=0"])
    assert found.values["tower_parameters"] == pytest.approx(0.63e9, rel=0.01)
    assert found.values["patches"] == pytest.approx(4 * 1024)
    kept = found.values["kept_activations"] - without.values["kept_activations"]
    assert kept == pytest.approx(4096 * 2 * 32 * 1280)
    adapters = asked(**words, weights="lora", settings=["image_tokens=1024"])
    assert adapters.values["image_activations"] == 0


@cases("estimate", "typical")
def test_a_model_without_layers_has_those_of_the_nearest_and_says_so(
    name, parameters, said
):
    found = asked(model=name)
    assert found.values["parameters"] == pytest.approx(parameters)
    assert {*said} <= {*reasons(found).values()}


@pytest.mark.parametrize("size", ["100B-A10B", "200B-A20B", "400B-A30B"])
def test_experts_are_as_wide_as_a_size_asks_for(size):
    values = asked(model=size, gpus=64).values
    assert values["expert_parameters"] > 0.9 * values["parameters"]


@pytest.mark.parametrize("model", vocabulary(DATASET).models)
def test_every_model_is_estimated_also_of_reports(model):
    assert asked(model=model, gpus=1024).peak_gb > 0


def test_without_a_model_of_its_kind_there_is_no_estimate():
    with pytest.raises(UnusableInput, match="neither layers nor size known"):
        completed({"model": "an/other"}, (), 0)


@pytest.mark.parametrize("device", DATASET.records["devices"], ids=itemgetter("device"))
def test_every_device_is_estimated(device):
    assert asked(device=device["device"]).device_gb > 0


def test_a_directory_with_a_config_json_stands_for_a_model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert asked(model=str(tmp_path)).values["layers"] == 28


@cases("estimate", "counted")
def test_a_config_json_gives_all_parameters(config, parameters, of_config):
    values = of_config(json.dumps(config)).values
    assert values["parameters"] / 1e9 == pytest.approx(parameters, rel=0.01)


@settings(deadline=None, max_examples=60)
@given(
    model=st.sampled_from(
        ["Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B", "Qwen/Qwen3-30B-A3B"]
    ),
    train=st.sampled_from(["fsdp", "deepspeed", "transformers"]),
    weights=st.sampled_from(["full", "lora", "qlora"]),
    power=st.integers(0, 6),
    micro=st.integers(1, 32),
    length=st.integers(1, 32768),
)
def test_more_gpus_never_need_more_each_and_more_tokens_never_less(
    *, model, train, weights, power, micro, length
):
    words = {"model": model, "train": train, "weights": weights}
    words["response_length"] = length
    gpus = 2**power
    found = asked(**words, gpus=gpus, micro_batch=micro)
    peak = found.peak_gb
    rounding = 1e-9
    components = sum(found.training.components.values())
    assert components > 0
    assert peak >= components - rounding
    longer = found.with_inputs(response_length=2 * length)
    assert longer.peak_gb >= peak - rounding
    if gpus > 1:  # with one GPU there are no buffers of communication
        spread = found.with_inputs(gpus=2 * gpus)
        assert spread.peak_gb <= peak + rounding


def assumed(found: Estimate) -> dict[str, Assumed]:
    return {item.input: item for item in found.configuration.assumed}


def reasons(found: Estimate) -> dict[str, str]:
    """Why each input has its value that nobody gave."""
    return {name: item.reason for name, item in assumed(found).items()}


FACTS = {
    "train": attrgetter("configuration.train"),
    "weights": attrgetter("weights"),
    "notes": attrgetter("configuration.notes"),
    "read_as": attrgetter("configuration.read_as"),
    "inputs": attrgetter("configuration.inputs"),
    "verdict": attrgetter("verdict"),
    "values": attrgetter("values"),
    "reasons": reasons,
}
"""What a case may expect of an estimate; of the last of many only those that it names."""
ANSWERS = {}
for kind in CASES["answers"]:
    for sentence, case in CASES[kind].items():
        ANSWERS[f"{kind}: {sentence}"] = case


@whole(ANSWERS)
def test_what_is_asked_decides_what_is_taken_and_said(case):
    found = asked(**case["words"])
    for name in case.keys() - {"words"}:
        fact = FACTS[name](found)
        if isinstance(fact, Mapping):
            fact = {key: fact[key] for key in case[name]}
        assert fact == case[name], name


@whole(CASES["noted"])
def test_where_nothing_is_known_of_a_framework_knobs_have_names_of_ours(case):
    for knob in knobs(asked(**case["words"])):
        assert knob.setting.partition("=")[0] in inputs_by_name()


@whole(CASES["offline"])
def test_a_task_without_rollouts_has_no_phase_and_no_time_of_them(case):
    found = asked(**case["words"])
    assert "rollout" not in found.phases
    has_reference = found.configuration.offline in {"dpo", "kto", "gkd"}
    assert ("log-probs" in found.phases) == has_reference
    assert lacking(found) == [
        "a task of RL, the only ones whose published times it was checked against"
    ]


def of_script(script: Path = SCRIPT, **words: object) -> Estimate:
    return DATASET.estimate(str(script), **words)


CELLS = [(name, cell) for name in profiles() for cell in cells_of(name) if cell.source]
DECISIVE = set(CASES["decisive"])


TASKS = [*map(str.lower, formula()["offline"])]
CONDITIONS = {
    "no release",
    "offload",
    *backends(),
    "vllm",
    "full",
    "lora",
    "rl",
    "offline",
    *TASKS,
}
"""What a cell may depend on."""


@pytest.mark.parametrize("name", profiles())
def test_a_profile_leaves_nothing_open_that_decides(name):
    row = profiles()[name]
    assert name in DATASET.by_key["frameworks"]
    assert backends().keys() >= {*row["trains"], *row.get("chosen", ())}
    for train in row["trains"]:
        found = asked(framework=name, train=train, weights="full").configuration
        assert {
            item.input for item in found.assumed if item.reason == "not given"
        }.isdisjoint(DECISIVE)


@pytest.mark.parametrize(("name", "cell"), CELLS)
def test_a_cell_is_of_an_input_and_has_a_line_of_a_source(name, cell):
    item = inputs_by_name()[cell.input]
    repository, path = cell.source.split(" ")
    assert repository in frameworks()["repositories"]
    assert re.fullmatch(r"[\w./-]+#L\d+(-L\d+)?", path)
    assert cell.names or cell.value is not None
    assert {*cell.when} <= CONDITIONS
    for value in filter(None, (cell.value, *cell.words.values())):
        if isinstance(value, str):  # the input whose value it takes
            assert value in inputs_by_name()
        else:
            assert item["minimum"] <= value <= item["maximum"]


def test_no_cell_of_a_profile_is_hidden_by_one_before_it():
    for name in profiles():
        seen = set()
        own = {cell["source"] for cell in profiles()[name]["cells"]}
        for cell in released_cells(name, profile(name).release):
            if cell.value is None or cell.source not in own:
                continue
            key = (cell.input, *sorted(cell.when))
            assert key not in seen, (name, cell)
            assert (cell.input,) not in seen or not cell.when, (name, cell)
            seen.add(key)


@cases("estimate", "named")
def test_a_setting_is_an_input_or_has_the_name_that_its_framework_gives_it(
    framework, setting, inputs
):
    found = asked(framework=framework, settings=[setting]).configuration
    assert found.inputs.items() >= inputs.items()


@cases("estimate", "sizes")
def test_the_interval_of_a_size_has_the_models_of_that_size(size, models):
    words = {
        "micro_batch": 4,
        "weights": "full",
        "train": "fsdp",
        "settings": ["fill=1"],
    }
    found = asked(model=size, **words)
    low, high = found.interval_gb
    for model in models:
        assert low < asked(model=model, **words).peak_gb < high
    assert "vocab_size" in [item.input for item, _ in found.decisive]
    assert "vocab_size" not in asked(model=models[0], **words).doubts


def test_nine_of_ten_dense_models_have_a_usual_vocabulary():
    least, most = formula()["span"]["any"]["vocab_size"]
    rows = [
        row
        for row in DATASET.records["models"]
        if row["vocab_size"] and not row["experts"]
    ]
    shapes = {(row["layers"], row["hidden_size"], row["vocab_size"]) for row in rows}
    usual = [vocab for _, _, vocab in shapes if least <= vocab <= most]
    assert len(usual) / len(shapes) == pytest.approx(0.9, abs=0.04)


@cases("estimate", "knobs")
def test_a_setting_is_offered_where_it_is_one_and_helps(words, offered, missing):
    found = settings_of(knobs(asked(**words)))
    assert offered in found
    assert missing not in found


@each(CASES["foreign"], "script train inputs note")
def test_a_script_of_another_framework_is_read(script, train, inputs, note, tmp_path):
    path = tmp_path / "run.sh"
    path.write_text(script)
    made = DATASET.estimate(str(path), device="h100")
    found = made.configuration
    assert found.train == train
    assert found.model == "Qwen/Qwen2.5-7B-Instruct"
    assert found.inputs.items() >= inputs.items()
    assert "gpus" not in assumed(made)
    assert not note or note in found.notes


def test_what_fits_never_has_the_vocabulary_of_another_model():
    words = {
        "weights": "qlora",
        "framework": "llama-factory",
        "gpus": 8,
        "device": "a100-80g",
    }
    found = DATASET.estimate(model="7B", task="DPO", **words)
    known = DATASET.estimate(model="Qwen2.5-7B", task="DPO", **words)
    assert found.peak_gb > found.device_gb
    assert found.values["vocab_size"] == known.values["vocab_size"]


def test_runs_of_rl_say_nothing_of_a_task_without_rollouts():
    words = {"model": "Qwen2.5-7B", "gpus": 4, "device": "a100-80g"}
    assert evidence(DATASET, DATASET.estimate(task="GRPO", **words))
    assert evidence(DATASET, DATASET.estimate(task="DPO", **words)) == []


@pytest.mark.parametrize("framework", ["ms-swift", "MS Swift", "swift@4.5.2"])
def test_a_script_is_read_however_its_framework_is_written(framework, tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-7B-Instruct\n")
    found = DATASET.estimate(str(path), device="h100", framework=framework)
    assert found.configuration.framework == "ms-swift"


def settings_of(found: list[Knob]) -> set[str]:
    return {knob.setting for knob in found}


def offer(found: Estimate) -> str:
    """The settings of all knobs as one text."""
    return " ".join(settings_of(knobs(found)))


@pytest.mark.parametrize("train", sorted(BACKENDS))
def test_a_backend_of_verl_has_its_settings_in_its_own_section(train, tmp_path):
    key = f"actor_rollout_ref.actor.{BACKENDS[train].section}.param_offload"
    for setting in ("param_offload=True", f"{key}=True"):
        found = asked(train=train, settings=[setting])
        assert found.values["parameter_offload"] == 1
    offered = knobs(asked(train=train, infer="vllm"))
    assert f"{key}=True" in settings_of(offered)
    # A script has them there too.
    choice = re.sub(r"fsdp2?", "dp", train)
    strategy = f"model_engine={choice} actor_rollout_ref.actor.strategy={train}"
    script = tmp_path / f"qwen2.5-7b_grpo_8_h100_{train}_vllm.sh"
    script.write_text(f"{TRAIN} {strategy} {key}=True\n")
    found = of_script(script)
    assert found.values["parameter_offload"] == 1


def test_what_a_profile_does_not_say_is_published_as_null():
    cells = [cell for item in published()["frameworks"] for cell in item["cells"]]
    for name in ("setting", "source"):
        said = [cell[name] for cell in cells]
        assert None in said, name
        assert "" not in said, name


def test_a_knob_is_published_for_one_training_backend_at_a_time():
    settings = set().union(*(item["settings"] for item in published()["knobs"]))
    assert "ms-swift fsdp2 sft" in settings
    for words in settings:
        assert len(backends().keys() & words.split()) <= 1, words


@cases("estimate", "offload")
def test_what_a_backend_lacks_is_no_knob_of_it(train, offered):
    configuration = asked(train=train).configuration
    (item,) = [
        knob for knob in formula()["knob"] if knob["input"] == "activation_offload"
    ]
    assert bool(configuration.written(item, 1)) == offered


def test_a_knob_is_the_setting_of_the_framework_with_its_line_and_its_effect_recomputed():
    found = of_script()
    by_setting = {knob.setting: knob for knob in knobs(found)}
    key = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
    knob = by_setting[f"{key}=8"]
    lines = SCRIPT.read_text().splitlines()
    assert key in lines[knob.line - 1]
    before = found.phases["update"].peak_gb
    halved = found.with_inputs(micro_batch=8)
    saved = before - halved.phases["update"].peak_gb
    assert knob.saves["update"] == pytest.approx(saved)


def test_what_is_on_already_is_no_knob():
    found = offer(of_script())
    assert "batch_size" in found
    assert "checkpointing" not in found


@cases("estimate", "time_lacks")
def test_what_a_question_lacks_for_the_time_of_a_step_is_named(words, without, lacks):
    engines = " or ".join(formula()["time"]["engine"])
    found = lacking(asked(**words, **dict.fromkeys(without)))
    assert found == [text.replace("ENGINES", engines) for text in lacks]


def test_a_time_is_assumed_for_a_reason():
    words = {
        "infer": "vllm",
        "prompts_per_step": 64,
        "rollout_n": 8,
        "response_length": 2048,
    }
    found = asked(**words, device="a100")
    assert assumed(found)["bf16_tflops"].reason == "the slowest of these devices"
    said = {item.input: item.reason for item in step_time(found).assumed}
    assert said["rollout_gpus"] == "not given"
    assert said["max_tokens"] == "no micro batch is given"
    assert said["mean_response_length"] == "usual with this longest response"


def test_a_script_gives_its_settings_and_lists_every_default_that_was_taken():
    found = of_script()
    inputs = found.configuration.inputs
    expected = CASES["script"]
    assert inputs.items() >= expected["inputs"].items()
    of_dataset = {*formula()["config"], "parameters_b", "thinks", "device_gb", *SPEEDS}
    given = inputs.keys() - assumed(found)
    assert given - of_dataset == set(expected["given"])


def test_a_script_whose_engine_has_gpus_of_its_own_is_estimated_for_those_that_train():
    script = SCRIPT.with_name("qwen2.5-math-7b_dapo_64_h20_fsdp2_vllm.sh")
    found = of_script(script)
    inputs = found.configuration.inputs
    assert inputs["gpus"] == 32
    assert inputs["has_engine"] == 0
    assert "rollout" not in found.phases


@cases("estimate", "refused")
def test_wrong_input_is_one_line_with_a_fix_and_exit_2(
    words, message, fix, command, monkeypatch
):
    monkeypatch.chdir(ROOT)
    options = words.replace("ASKED", "--model Qwen2.5-7B --gpus 8 --device h100")
    options = options.replace("SCRIPT", str(SCRIPT))
    said = command("estimate", *options.split(), status=2)
    assert said == f"rl-resources: error: {message}\n  help: {fix}\n"


def test_a_backend_that_the_formula_lacks_is_named(dataset):
    rows = dataset.records["backends"]
    another = {**dataset.by_key["backends"]["fsdp2"], "backend": "fsdp9"}
    changed = with_tables(dataset, backends=[*rows, another])
    message = "fsdp9: no estimate for this training backend"
    with refused(message, "Did you mean `fsdp` or `fsdp2`?"):
        estimated(changed, {**QUESTION, "train": "fsdp9"})


CONFIG = CASES["config"]


@pytest.fixture
def of_config(tmp_path: Path) -> Callable[[str], Estimate]:
    """The estimate of a model whose `config.json` has this text."""
    path = tmp_path / "config.json"

    def estimate(text: str) -> Estimate:
        path.write_text(text)
        return asked(model=str(path))

    return estimate


def test_a_config_json_stands_for_a_model(of_config):
    config = {**CONFIG, "num_key_value_heads": 4}
    found = of_config(json.dumps(config))
    listed = asked()
    assert found.peak_gb == pytest.approx(listed.peak_gb, rel=0.01)


def test_what_a_config_json_leaves_out_is_listed_as_assumed(of_config):
    config = {"text_config": "none", "llm_config": CONFIG}
    listed = assumed(of_config(json.dumps(config)))
    for name, value in {"kv_heads": 28, "tie_word_embeddings": 0}.items():
        assert listed[name] == Assumed(name, value, "not known of this model")


@cases("estimate", "attention")
def test_a_config_json_says_what_a_layer_keeps_of_the_sequence(
    config, terms, of_config
):
    values = of_config(json.dumps({**CONFIG, **config})).values
    assert {name: values[name] for name in terms} == terms


@cases("estimate", "figure")
def test_a_figure_of_a_config_json_that_cannot_be_is_named(
    change, message, fix, of_config, tmp_path
):
    huge = str(10**400)
    changed = CONFIG | json.loads(change.replace("HUGE", huge))
    with refused(f"{tmp_path}/{message}", fix):
        of_config(json.dumps(changed, indent=1))


@cases("estimate", "not_config")
def test_what_is_no_config_json_is_unusable(text, said, of_config):
    with pytest.raises(UnusableInput, match=said):
        of_config(text.replace("MANY", "[" * 500_000))


@pytest.mark.parametrize("size", [16, 8, -1])
def test_a_group_of_more_than_all_gpus_is_all_of_them_as_in_verl(size):
    setting = f"fsdp_size={size}"
    found = asked(gpus=8, settings=[setting])
    assert found.peak_gb == asked(gpus=8).peak_gb


def test_what_is_asked_wins_over_the_script():
    found = of_script(memory=24, task="PPO")
    assert found.values["device_gb"] == 24
    assert found.values["has_critic"] == 1


CONTRACT = set(CASES["contract"])


def test_json_has_what_the_contract_names_and_text_the_same_figures(command):
    arguments = ("estimate", SCRIPT, "--root", ROOT)
    as_json = command(*arguments, "--format", "json")
    found = json.loads(as_json)
    assert found.keys() >= CONTRACT
    assert list(found["phases"]) == ["loading", "rollout", "log-probs", "update"]
    text = command(*arguments)
    verdict = found["verdict"].capitalize()
    peak = found["peak_gb"]
    assert text.startswith(f"{verdict}: {peak:.1f} GB at the peak of training")
    for knob in found["knobs"][:8]:
        assert knob["setting"] in text
    given = (
        "Given: gpus 2, gpus_per_node 2, device_gb 80, "
        "prompt_length 1024, response_length 1024,"
    )
    assert given in text
    node = f"Host memory: {found['host_memory_gb']:.0f} GB of a node with 2 GPUs, 90 % interval"
    assert node in text


def test_the_inputs_are_listed_with_the_keys_of_the_framework(command):
    shown = command("estimate", "--set", "list").splitlines()
    assert inputs_by_name().keys() <= set(shown)
    assert "    actor_rollout_ref.actor.fsdp_config.optimizer_offload" in shown
    of_swift = command("estimate", "--set", "list", "--framework", "swift").splitlines()
    assert inputs_by_name().keys() <= set(of_swift)
    assert "    sleep_level" in of_swift
    assert "    actor_rollout_ref.actor.fsdp_config.optimizer_offload" not in of_swift


def measured(*kinds: str, known: bool) -> pl.DataFrame:
    """The errors of runs whose tokens are known, or only their longest sequence.

    `within` says whether the peak lies in the interval of the other projects' errors.
    """
    peak = pl.col("measured_gb")
    is_meant = pl.col("kind").is_in(kinds) & (pl.col("known") == known) & (peak > 0)
    return RUNS.filter(is_meant).select(
        error=(pl.col("estimated_gb") / peak - 1).abs(),
        within=peak.is_between("low_gb", "high_gb"),
    )


def test_on_measured_runs_whose_tokens_are_known_the_error_is_within_the_goals():
    found = measured("measured", known=True)
    assert found["error"].median() <= 0.08
    assert found["error"].quantile(0.9, "higher") <= 0.20
    assert 0.85 <= found["within"].mean() <= 0.96


@pytest.mark.parametrize("kinds", [["measured"], ["measured", "report"]])
def test_the_interval_holds_where_only_the_longest_sequence_is_known(kinds):
    assert 0.85 <= measured(*kinds, known=False)["within"].mean() <= 0.95


def width_of_interval(response_length: int) -> float:
    found = asked(micro_batch=1, response_length=response_length)
    low, high = found.interval_gb
    return high / low


def test_where_only_the_longest_is_known_the_interval_is_as_wide_as_the_tokens_decide():
    narrow = width_of_interval(64)
    assert width_of_interval(8192) > 1.1 * narrow


def verdicts(outcome: str) -> list[str]:
    return RUNS.filter(outcome=outcome)["verdict"].drop_nulls().to_list()


def test_no_run_that_ran_cannot_fit():
    ran = verdicts("ran")
    assert "cannot fit" not in ran
    assert ran.count("unlikely") <= 0.07 * len(ran)


def test_most_runs_that_did_not_run_are_tight_or_worse():
    failed = verdicts("out-of-memory")
    assert failed.count("fits") <= 0.2 * len(failed)


def test_the_committed_cases_are_those_of_the_formula():
    import backtest

    every = [*backtest.measured(DATASET, []), *backtest.reports(DATASET, [])]
    every += backtest.questions(DATASET, "strangers.csv", backtest.STRANGER)
    every += backtest.questions(DATASET, "asked.csv", backtest.ASKED)
    made = {case.id: case.estimated_gb for case in every}
    kinds = ["measured", "varied", "stranger", "asked", "report"]
    rows = RUNS.filter(pl.col("kind").is_in(kinds)).select("id", "estimated_gb").rows()
    assert dict(rows) == pytest.approx(made, rel=1e-3), "run make backtest"
    hosts = pl.read_csv(ROOT / "benchmarks/host_memory.csv")
    errors = pl.concat([backtest.errors(RUNS), backtest.host_errors(hosts)])
    committed = pl.read_csv(ROOT / "benchmarks/backtest_errors.csv")
    assert_frame_equal(errors, committed, check_dtypes=False, abs_tol=1e-4)


@cases("estimate", "edge")
def test_the_terms_of_a_question_have_no_surprise_at_the_edges(name, value):
    inputs = {**asked().configuration.inputs, name: value}
    values = evaluate(inputs).values()
    assert not any(map(math.isnan, values))


# The committed figures of `make oracle`


def test_every_case_of_the_oracle_has_one_row():
    import memory_cases

    wanted = {case.id for case in memory_cases.CASES}
    assert sorted(ORACLE["id"]) == sorted(wanted)


def test_the_kinds_add_up_to_the_highest_phase_and_offload_alone_needs_the_host():
    phases = [f"{name}_gb" for name in ("forward", "backward", "step")]
    peak = pl.col("peak_gb")
    kinds = pl.col("^.+_gb$").exclude("peak_gb", "host_gb", *phases)
    is_offloaded = pl.col("offload") != "none"
    found = ORACLE.select(
        highest=peak == pl.max_horizontal(phases),
        at_phase=(pl.concat_str("at_phase", pl.lit("_gb"))).is_in(phases),
        sum=(pl.sum_horizontal(kinds) - peak).abs() < 0.001,
        host=(pl.col("host_gb") > 0.01) == is_offloaded,
    )
    assert found.row(0) == (True,) * 4
    assert found.n_unique() == 1


# Scripts of others

TRAIN = "python3 -m verl.trainer.main_ppo"
KNOWN = (
    "actor_rollout_ref.model.path=/data/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm"
)


@pytest.fixture
def foreign(tmp_path: Path) -> Callable[[str], Path]:
    """A script with this text, under a name that looks like one of ours in part."""
    path = tmp_path / "run_qwen2_5_vl_7b_fsdp.sh"

    def written(text: str) -> Path:
        text = text.replace("TRAIN", TRAIN).replace("KNOWN", KNOWN)
        path.write_text(text)
        return path

    return written


@cases("estimate", "others")
def test_of_a_script_of_others_it_is_said_what_is_assumed(text, inputs, why, foreign):
    found = of_script(foreign(text), device="h100")
    taken = found.configuration.inputs
    assert found.configuration.model == "Qwen/Qwen2.5-7B"
    assert taken.items() >= inputs.items()
    assert taken["has_engine"]
    assert reasons(found).items() >= why.items()


@each(CASES["hidden"], "text task message fix")
def test_what_a_script_hides_or_contradicts_is_refused_with_its_line(
    text, task, message, fix, foreign
):
    script = foreign(text)
    with refused(message.replace("SCRIPT", str(script)), fix):
        of_script(script, device="h100", task=task)


def test_of_several_trainings_that_of_the_task_is_read(foreign):
    one = "trl {} --model_name_or_path Qwen/Qwen2.5-7B --num_processes 4 --bf16\n"
    script = foreign(one.format("dpo") + one.format("sft"))
    assert of_script(script, device="h100").configuration.offline == "dpo"
    found = of_script(script, device="h100", task="SFT")
    assert found.configuration.offline == "sft"
