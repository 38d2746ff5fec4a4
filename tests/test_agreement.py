"""Rules that hold a row to its script, and the run that both describe to the framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_resources.check.claim.max_batch import trials_in_comments
from rl_resources.check.claim.same_model import likeness, model_in_path
from rl_resources.check.registry import all_rules
from rl_resources.check.snapshot import take_snapshot
from rl_resources.check.target import Claim, Said, ScriptText, Trial, claims
from rl_resources.finding import Finding
from rl_resources.package import read_package
from rl_resources.script.algorithm import ESTIMATORS
from rl_resources.script.bash import read
from rl_resources.words import shown

ROOT = Path(__file__).parents[1]
PATH = "examples/tuning/7b/a.sh"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
MODEL = "actor_rollout_ref.model"
MICRO = f"{ACTOR}.ppo_micro_batch_size_per_gpu"
MOST_TOKENS = f"{ACTOR}.ppo_max_token_len_per_gpu"
HOST_OPTIMIZER = f"{ACTOR}.optim.override_optimizer_config"
SETTINGS = {
    "algorithm.adv_estimator": "grpo",
    "data.train_batch_size": "64",
    "data.max_prompt_length": "512",
    "data.max_response_length": "1024",
    f"{MODEL}.path": "Qwen/Qwen2.5-7B-Instruct",
    f"{ACTOR}.strategy": "fsdp",
    f"{ACTOR}.ppo_mini_batch_size": "64",
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": "8",
    f"{ACTOR}.fsdp_config.param_offload": "True",
    f"{ACTOR}.fsdp_config.optimizer_offload": "True",
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.n": "5",
    f"{ROLLOUT}.tensor_model_parallel_size": "2",
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": "8",
    "trainer.nnodes": "1",
    "trainer.n_gpus_per_node": "8",
}
ROW = {
    "script": "a.sh",
    "tag": "MIN",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "task": "GRPO",
    "weights": "full",
    "memory_optimizations": (
        "activation-checkpointing; parameter-offload; optimizer-offload; sequence-packing"
    ),
    "gpus": "8",
    "nodes": "1",
    "max_batch": "64",
    "micro_batch_per_gpu": "8",
    "max_tokens_per_gpu": "16384",
    "train": "fsdp",
    "infer": "vllm",
    "max_prompt_length": "512",
    "max_response_length": "1024",
    "rollout_n": "5",
    "status": "reported",
}
START = "python3 -m verl.trainer.main_ppo"


def script_of(settings: dict[str, str], before: str = "", start: str = START) -> str:
    """A script with one setting on each line, the first of them on the line after `before`."""
    lines = [start, *(f"{key}={value}" for key, value in settings.items() if value != "-")]
    return before + " \\\n    ".join(lines) + "\n"


def findings(
    rule: str,
    row: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
    *,
    before: str = "",
    start: str = START,
    trials: tuple[Trial, ...] = (),
    text: str | None = None,
    memory_gb: float = 80,
) -> list[Finding]:
    """What one rule says of the sound claim with these changes; `-` leaves a setting out."""
    cells = ROW | (row or {})
    said = {name: Said(cell, 2, at) for at, (name, cell) in enumerate(cells.items(), 1) if cell}
    script = ScriptText(PATH, text or script_of(SETTINGS | (settings or {}), before, start))
    facts = {"attention_heads": "28", "kv_heads": "4", "parameters_b": "7.6"}
    model = cells["model"]
    names = (model, model.rpartition("/")[2].lower())
    claim = Claim(
        "records/tuning.csv", "a.sh", said, script, trials, names, facts, device_memory_gb=memory_gb
    )
    return list(all_rules()[rule].findings(claim))


def message(*arguments: object, **named: object) -> str:
    """The only finding's message."""
    (finding,) = findings(*arguments, **named)  # type: ignore[arg-type]
    return finding.message


RULES = [name for name, rule in all_rules().items() if rule.family in {"agreement", "running"}]


@pytest.mark.parametrize("rule", RULES)
def test_a_sound_row_and_script_are_silent(rule: str) -> None:
    assert findings(rule) == []


@pytest.mark.parametrize("rule", RULES)
def test_the_shipped_rows_and_scripts_are_silent(rule: str) -> None:
    shipped = claims(take_snapshot(read_package(ROOT)))
    assert len(shipped) >= 12
    assert [found for claim in shipped for found in all_rules()[rule].findings(claim)] == []


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_said_where_nothing_is_known(rule: str) -> None:
    for text in (
        "",
        "echo done\n",
        f'{START} "$@"\n'.replace("main_ppo", "main_generation_server"),
        f"{START} data.train_batch_size=$BATCH trainer.nnodes=$N $MORE\n",
        script_of(SETTINGS) + script_of(SETTINGS | {"trainer.nnodes": "7"}),
    ):
        assert findings(rule, text=text) == []


@pytest.mark.parametrize("rule", RULES)
def test_a_command_that_is_cut_off_hides_no_default(rule: str) -> None:
    text = f"{START} \\\n    a.b=1\necho\n    trainer.nnodes=1\n"
    assert findings(rule, text=text) == []


def test_a_line_that_is_cut_off_is_held_to_the_row_as_it_was_meant() -> None:
    text = f"{START} \\\n    trainer.nnodes=1\n    trainer.n_gpus_per_node=4 \\\n    trainer.a=1\n"
    (finding,) = findings("gpus-agree", text=text)
    assert finding.message == (
        "gpus of a.sh is `8`, but examples/tuning/7b/a.sh:2 sets `trainer.nnodes` to `1` and "
        "examples/tuning/7b/a.sh:3 sets `trainer.n_gpus_per_node` to `4`, which makes `4`"
    )


def test_a_row_with_another_model_is_told_at_its_cell() -> None:
    (finding,) = findings("model-agrees", settings={f"{MODEL}.path": "Qwen/Qwen2.5-3B-Instruct"})
    assert finding.message == (
        "model of a.sh is `Qwen/Qwen2.5-7B-Instruct`, but examples/tuning/7b/a.sh:6 sets "
        "`actor_rollout_ref.model.path` to `Qwen/Qwen2.5-3B-Instruct`: another model"
    )
    assert finding.help == "Write `Qwen/Qwen2.5-3B-Instruct`, or mend the script."
    assert (finding.path, finding.line, finding.column) == ("records/tuning.csv", 2, 3)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("Qwen/Qwen2.5-7B", "another variant of it"),
        ("$HOME/models/Qwen2.5-7B", "another variant of it"),
        ("/data/models/Qwen/Qwen2.5-14B-Instruct/", "another model"),
        ("/data/Qwen2.5-Coder-7B-Instruct", "another model"),
    ],
)
def test_another_checkpoint_is_told_by_its_folder(path: str, what: str) -> None:
    assert message("model-agrees", settings={f"{MODEL}.path": path}).endswith(what)


def test_a_name_without_owner_may_mean_the_family_so_its_variant_is_the_milder_mistake() -> None:
    row, settings = {"model": "Qwen2.5-7B"}, {f"{MODEL}.path": "Qwen/Qwen2.5-7B-Instruct"}
    (finding,) = findings("model-variant", row, settings=settings)
    assert finding.severity == "warning"
    assert finding.message.endswith("another variant of it")
    assert findings("model-agrees", row, settings=settings) == []


def test_an_id_names_one_checkpoint_so_its_variant_is_another_model() -> None:
    settings = {f"{MODEL}.path": "Qwen/Qwen2.5-7B"}
    assert findings("model-variant", {}, settings=settings) == []
    assert len(findings("model-agrees", {}, settings=settings)) == 1


@pytest.mark.parametrize(
    "path",
    [
        "$HOME/models/Qwen2.5-7B-Instruct",
        "/data/models/Qwen/Qwen2.5-7B-Instruct/",
        "qwen2.5-7b-instruct",
        "/models/Qwen2_5-7B-Instruct/snapshots/abcdef0123",
        "/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/abcdef0123",
        "/checkpoints/sft/global_step_100",
        "/checkpoints/qwen2.5-7b-instruct-sft",
        "$MODEL",
        "MODEL_PATH",
        "unsloth/Qwen2.5-7B-Instruct",
    ],
)
def test_folders_and_mirrors_of_the_same_model_are_silent(path: str) -> None:
    assert findings("model-agrees", settings={f"{MODEL}.path": path}) == []


def test_the_base_model_may_be_called_base_where_its_plain_name_is_the_base() -> None:
    assert likeness("Qwen/Qwen2.5-7B", ["Qwen2.5-7B-Base"]) == "same"
    assert likeness("Qwen/Qwen3-8B", ["Qwen/Qwen3-8B-Base"]) == "variant"
    assert likeness("meta-llama/Meta-Llama-3-8B", ["Llama-3-8B"]) == "same"
    assert model_in_path("/a/policy", ["Qwen/Qwen3-8B"]) is None


def test_a_script_without_a_model_trains_the_frameworks() -> None:
    assert message("model-agrees", settings={f"{MODEL}.path": "-"}) == (
        "model of a.sh is `Qwen/Qwen2.5-7B-Instruct`, but the run that "
        "examples/tuning/7b/a.sh:1 starts does not set "
        "`actor_rollout_ref.model.path`, and the framework then takes "
        "`~/models/deepseek-llm-7b-chat`: "
        "another model"
    )


CLIP_HIGHER = {f"{ACTOR}.clip_ratio_high": "0.28"}


@pytest.mark.parametrize(
    ("task", "settings", "key"),
    [
        ("GRPO", {"algorithm.adv_estimator": "rloo"}, "algorithm.adv_estimator"),
        ("GRPO", {"algorithm.adv_estimator": "-"}, "algorithm.adv_estimator"),
        ("PPO", {}, "algorithm.adv_estimator"),
        ("GRPO", {f"{ACTOR}.policy_loss.loss_mode": "gspo"}, f"{ACTOR}.policy_loss.loss_mode"),
        ("GSPO", {}, f"{ACTOR}.policy_loss.loss_mode"),
        ("DAPO", {}, "algorithm.filter_groups.enable"),
        (
            "GRPO",
            CLIP_HIGHER | {"algorithm.filter_groups.enable": "True"},
            "algorithm.filter_groups.enable",
        ),
        (
            "GRPO",
            CLIP_HIGHER | {"trainer.experiment_name": "DAPO-7B"},
            "trainer.experiment_name",
        ),
        ("Dr-GRPO", {}, "algorithm.norm_adv_by_std_in_grpo"),
        ("GRPO", {f"{MODEL}.lora_rank": "32"}, f"{MODEL}.lora_rank"),
        ("GRPO-LoRA", {}, f"{MODEL}.lora_rank"),
    ],
)
def test_a_task_that_the_script_does_not_train_is_told(
    task: str, settings: dict[str, str], key: str
) -> None:
    told = message("task-agrees", {"task": task}, settings)
    assert told.startswith(f"task of a.sh is `{task}`, but ")
    assert f"{PATH}:" in told
    assert f" `{key}`" in told


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("GRPO-LoRA", {f"{MODEL}.lora_rank": "32"}),
        ("GRPO-QLoRA", {f"{MODEL}.lora_rank": "32"}),
        ("GRPO", {f"{MODEL}.lora_rank": "$RANK"}),
        ("GRPO", {f"{ACTOR}.clip_ratio_high": "0.28"}),
        ("GRPO", {"algorithm.filter_groups.enable": "True"}),
        ("GRPO", {"trainer.experiment_name": "dapo-7b"}),
        ("GRPO", CLIP_HIGHER | {"trainer.experiment_name": "dapo_math_grpo"}),
        ("GRPO", CLIP_HIGHER | {"trainer.experiment_name": "7b-dapo-math"}),
        ("GRPO", {f"{ACTOR}.policy_loss.loss_mode": "clip_cov"}),
        ("DAPO", {f"{ACTOR}.clip_ratio_high": "0.28"}),
        ("DAPO", {"algorithm.filter_groups.enable": "True"}),
        ("GSPO", {f"{ACTOR}.policy_loss.loss_mode": "gspo"}),
        ("Dr-GRPO", {"algorithm.norm_adv_by_std_in_grpo": "False"}),
        ("PRIME", {"algorithm.adv_estimator": "rloo"}),
        ("GRPO", {"algorithm.adv_estimator": "my_own"}),
    ],
)
def test_a_task_that_the_script_may_train_is_silent(task: str, settings: dict[str, str]) -> None:
    assert findings("task-agrees", {"task": task}, settings) == []


def test_a_row_that_says_grpo_where_dapos_trainer_runs_is_told() -> None:
    text = script_of(SETTINGS, start="python3 -m recipe.dapo.main_dapo")
    assert message("task-agrees", text=text) == (
        f"task of a.sh is `GRPO`, but {PATH}:1 sets `the program` to `recipe.dapo.main_dapo`"
    )
    assert findings("task-agrees", {"task": "DAPO"}, text=text) == []


def test_every_algorithm_that_is_held_to_an_estimator_is_a_task() -> None:
    tasks = (ROOT / "records/tasks.csv").read_text(encoding="utf-8").upper().splitlines()
    assert set(ESTIMATORS) <= {line.partition(",")[0] for line in tasks}


def test_other_gpus_than_the_script_asks_for_are_told_once() -> None:
    settings = {"trainer.nnodes": "${NNODES:-2}"}
    (finding,) = findings("gpus-agree", settings=settings)
    assert finding.message == (
        "gpus of a.sh is `8`, but examples/tuning/7b/a.sh:16 sets `trainer.nnodes` to `2` and "
        "examples/tuning/7b/a.sh:17 sets `trainer.n_gpus_per_node` to `8`, which makes `16`"
    )
    assert finding.help == "Write `16`, or mend the script."


def test_the_same_gpus_on_other_nodes_are_told() -> None:
    settings = {"trainer.nnodes": "2", "trainer.n_gpus_per_node": "4"}
    assert message("gpus-agree", settings=settings) == (
        "nodes of a.sh is `1`, but examples/tuning/7b/a.sh:16 sets `trainer.nnodes` to `2`"
    )


@pytest.mark.parametrize(
    ("row", "settings"),
    [
        ({"gpus": "16", "nodes": "2"}, {"trainer.nnodes": "${NNODES:-2}"}),
        ({}, {"trainer.nnodes": "$NNODES"}),
        ({}, {"trainer.nnodes": "$(wc -l < hosts)"}),
        ({"gpus": "16", "nodes": ""}, {f"{ROLLOUT}.n_gpus_per_node": "8"}),
        ({"gpus": ""}, {"trainer.n_gpus_per_node": "4"}),
        ({}, {"trainer.n_gpus_per_node": "-"}),
    ],
)
def test_gpus_that_agree_or_are_unknown_are_silent(
    row: dict[str, str], settings: dict[str, str]
) -> None:
    assert findings("gpus-agree", row, settings) == []


@pytest.mark.parametrize(
    ("row", "settings", "start", "told"),
    [
        ({"train": "fsdp2"}, {}, START, "train of a.sh is `fsdp2`"),
        ({}, {f"{ACTOR}.strategy": "-"}, f"{START} model_engine=megatron", "train of a.sh"),
        ({}, {f"{ROLLOUT}.name": "sglang"}, START, "infer of a.sh is `vllm`"),
    ],
)
def test_another_backend_is_told(
    row: dict[str, str], settings: dict[str, str], start: str, told: str
) -> None:
    assert message("backends-agree", row, settings, start=start).startswith(told)


def test_fsdp2_under_the_name_of_both_is_a_warning() -> None:
    assert message("backend-variant", settings={f"{ACTOR}.strategy": "fsdp2"}) == (
        f"train of a.sh is `fsdp`, but {PATH}:7 sets `{ACTOR}.strategy` to `fsdp2`"
    )
    assert findings("backend-variant", {"train": "fsdp2"}, {f"{ACTOR}.strategy": "fsdp2"}) == []
    assert findings("backend-variant", {"train": "fsdp2"}) == []


@pytest.mark.parametrize(
    ("row", "settings"),
    [
        ({"train": "FSDP", "infer": "vLLM"}, {}),
        ({"infer": "vllm-ascend"}, {}),
        ({"train": ""}, {f"{ACTOR}.strategy": "fsdp2"}),
        ({}, {f"{ROLLOUT}.name": "-"}),
        ({}, {f"{ROLLOUT}.name": "${ENGINE}"}),
        ({}, {f"{ACTOR}.strategy": "-"}),
        ({}, {f"{ACTOR}.strategy": "fsdp2"}),
    ],
)
def test_the_same_backend_is_silent(row: dict[str, str], settings: dict[str, str]) -> None:
    assert findings("backends-agree", row, settings) == []


LENGTHS = (
    *("max_prompt_length", "max_response_length", "rollout_n"),
    *("micro_batch_per_gpu", "max_tokens_per_gpu"),
)


@pytest.mark.parametrize("column", LENGTHS)
def test_another_length_is_told_and_a_blank_one_is_not(column: str) -> None:
    assert message("lengths-agree", {column: "7"}).startswith(f"{column} of a.sh is `7`, but ")
    assert findings("lengths-agree", {column: ""}) == []


def test_what_one_gpu_takes_at_a_time_is_that_of_the_script() -> None:
    assert message("lengths-agree", settings={MICRO: "4"}) == (
        f"micro_batch_per_gpu of a.sh is `8`, but {PATH}:9 sets `{MICRO}` to `4`"
    )
    assert message("lengths-agree", settings={MOST_TOKENS: "24576"}) == (
        f"max_tokens_per_gpu of a.sh is `16384`, but {PATH}:18 sets `{MOST_TOKENS}` to `24576`"
    )
    assert message("lengths-agree", {"max_tokens_per_gpu": "8192"}) == (
        f"max_tokens_per_gpu of a.sh is `8192`, but the run that {PATH}:1 starts does not set "
        f"`{MOST_TOKENS}`, and the framework then takes `16384`"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {MICRO: "$MICRO"},
        {MICRO: "-", f"{ACTOR}.use_dynamic_bsz": "True"},
        {MOST_TOKENS: "$TOKENS"},
        {MOST_TOKENS: "$((512 + $MORE))"},
    ],
)
def test_what_one_gpu_takes_is_unknown_before_the_run(settings: dict[str, str]) -> None:
    assert findings("lengths-agree", settings=settings) == []


RANK = f"{MODEL}.lora_rank"


@pytest.mark.parametrize(
    ("weights", "rank", "told"),
    [
        ("full", "32", f"weights of a.sh is `full`, but {PATH}:18 sets `{RANK}` to `32`"),
        ("lora", "0", f"weights of a.sh is `lora`, but {PATH}:18 sets `{RANK}` to `0`"),
        (
            "qlora",
            "-",
            f"weights of a.sh is `qlora`, but the run that {PATH}:1 starts does not set `{RANK}`, "
            "and the framework then takes `0`",
        ),
        (
            "partial",
            "-",
            f"weights of a.sh is `partial`, but the run that {PATH}:1 starts does not set "
            f"`{RANK}`, and the framework then takes `0`",
        ),
    ],
)
def test_other_weights_than_the_script_trains_are_told(weights: str, rank: str, told: str) -> None:
    (finding,) = findings("weights-agree", {"weights": weights}, {RANK: rank})
    assert (finding.severity, finding.message) == ("error", told)
    right = "full" if rank in {"0", "-"} else "lora"
    assert finding.help == f"Write `{right}`, or mend the script."
    assert (finding.line, finding.column) == (2, list(ROW).index("weights") + 1)


@pytest.mark.parametrize(
    ("weights", "rank"),
    [("full", "0"), ("lora", "32"), ("qlora", "32"), ("", "32"), ("full", "$RANK"), ("lora", "$R")],
)
def test_weights_that_agree_or_are_unknown_are_silent(weights: str, rank: str) -> None:
    assert findings("weights-agree", {"weights": weights}, {RANK: rank}) == []


ALL_SAVED = ROW["memory_optimizations"].split("; ")


@pytest.mark.parametrize(
    ("word", "key", "value", "line"),
    [
        ("activation-checkpointing", f"{MODEL}.enable_gradient_checkpointing", "False", 18),
        ("parameter-offload", f"{ACTOR}.fsdp_config.param_offload", "False", 10),
        ("optimizer-offload", f"{ACTOR}.fsdp_config.optimizer_offload", "False", 11),
        ("sequence-packing", f"{MODEL}.use_remove_padding", "False", 18),
        ("dynamic-batch", f"{ACTOR}.use_dynamic_bsz", "True", 18),
    ],
)
def test_an_optimization_that_only_row_or_script_has_is_told(
    word: str, key: str, value: str, line: int
) -> None:
    (finding,) = findings("optimizations-agree", settings={key: value})
    assert (finding.severity, finding.message) == (
        "error",
        f"memory_optimizations of a.sh is `{shown('; '.join(ALL_SAVED))}`, but {PATH}:{line} sets "
        f"`{key}` to `{value}`",
    )
    change = "Add" if word == "dynamic-batch" else "Remove"
    assert finding.help == f"{change} `{word}`, or correct the script."
    assert finding.column == list(ROW).index("memory_optimizations") + 1
    said = [*ALL_SAVED, word] if change == "Add" else [one for one in ALL_SAVED if one != word]
    row = {"memory_optimizations": "; ".join(said)}
    assert findings("optimizations-agree", row, {key: value}) == []
    assert len(findings("optimizations-agree", row)) == 1


@pytest.mark.parametrize(
    ("row", "settings"),
    [
        ({"memory_optimizations": ""}, {f"{ACTOR}.fsdp_config.param_offload": "False"}),
        ({}, {f"{ACTOR}.fsdp_config.param_offload": "$OFFLOAD"}),
        (
            {},
            {
                f"{ACTOR}.strategy": "fsdp2",
                f"{ACTOR}.fsdp_config.param_offload": "-",
                f"{ACTOR}.fsdp_config.optimizer_offload": "-",
                f"{ACTOR}.fsdp_config.offload_policy": "True",
            },
        ),
        ({"memory_optimizations": "; ".join([*ALL_SAVED, "fp8-rollout"])}, {}),
    ],
)
def test_optimizations_that_agree_or_are_unknown_are_silent(
    row: dict[str, str], settings: dict[str, str]
) -> None:
    assert findings("optimizations-agree", row, settings) == []


def test_megatron_offloads_and_recomputes_by_its_own_settings() -> None:
    start = (
        f"{START} model_engine=megatron {ACTOR}.megatron.param_offload=True "
        f"{ACTOR}.megatron.optimizer_offload=True "
        f"+{ACTOR}.megatron.override_transformer_config.recompute_granularity=full"
    )
    assert findings("optimizations-agree", settings=MEGATRON, start=start) == []
    off = start.replace("param_offload=True", "param_offload=False")
    assert message("optimizations-agree", settings=MEGATRON, start=off).endswith(
        f"sets `{ACTOR}.megatron.param_offload` to `False`"
    )


NO_OFFLOAD = {
    f"{ACTOR}.fsdp_config.param_offload": "False",
    f"{ACTOR}.fsdp_config.optimizer_offload": "False",
}


def test_devices_without_room_for_weights_and_states_are_told() -> None:
    row = {"gpus": "1", "memory_optimizations": ""}
    (finding,) = findings("run-memory", row, NO_OFFLOAD)
    assert (finding.severity, finding.message, finding.help) == (
        "error",
        f"gpus of a.sh is `1`: 80 GB together, but 7.6 billion parameters need 122 GB at the "
        f"least, as {PATH} trains them",
        "Take more devices, or offload.",
    )
    assert (finding.path, finding.line) == ("records/tuning.csv", 2)
    assert finding.column == list(ROW).index("gpus") + 1


@pytest.mark.parametrize(
    ("row", "settings", "memory_gb", "needed"),
    [
        # 7.6 x 16 bytes; without what is offloaded; the engine's 2 bytes at the least
        ({"weights": "", "memory_optimizations": ""}, NO_OFFLOAD, 15, 122),
        ({"memory_optimizations": "optimizer-offload"}, NO_OFFLOAD, 1.5, 15),
        ({}, {}, 1.5, 15),
        ({"memory_optimizations": "parameter-offload"}, {}, 11, 91),
        ({"weights": "lora", "memory_optimizations": ""}, NO_OFFLOAD, 1.5, 15),
        ({"weights": "qlora", "memory_optimizations": "4-bit-base"}, {}, 0.4, 4),
    ],
)
def test_what_the_row_says_is_saved_counts_before_what_the_script_saves(
    row: dict[str, str], settings: dict[str, str], memory_gb: float, needed: int
) -> None:
    assert message("run-memory", row, settings, memory_gb=memory_gb) == (
        f"gpus of a.sh is `8`: {8 * memory_gb:g} GB together, but 7.6 billion parameters need "
        f"{needed} GB at the least, as {PATH} trains them"
    )
    assert findings("run-memory", row, settings, memory_gb=needed / 8 + 0.1) == []


@pytest.mark.parametrize(
    ("row", "settings", "memory_gb"),
    [
        ({}, {}, 0),
        ({"gpus": ""}, {}, 1),
        ({"model": ""}, {}, 1),
        ({"weights": ""}, {RANK: "$RANK"}, 1),
    ],
)
def test_nothing_is_said_of_room_where_devices_or_weights_are_unknown(
    row: dict[str, str], settings: dict[str, str], memory_gb: float
) -> None:
    assert findings("run-memory", row, settings, memory_gb=memory_gb) == []


def test_a_batch_above_the_rows_limit_is_told() -> None:
    (finding,) = findings("max-batch-agrees", {"max_batch": "32"})
    assert (finding.severity, finding.message) == (
        "error",
        "max_batch of a.sh is `32`, but examples/tuning/7b/a.sh:3 sets "
        "`data.train_batch_size` to `64`",
    )


@pytest.mark.parametrize(
    "row", [{"max_batch": ""}, {"max_batch": "128"}, {"max_batch": "32", "status": "disputed"}]
)
def test_a_batch_within_the_rows_limit_is_silent(row: dict[str, str]) -> None:
    assert findings("max-batch-agrees", row) == []


def test_a_limit_that_nothing_shows_is_a_warning() -> None:
    (finding,) = findings("max-batch-shown", {"max_batch": "128"})
    assert (finding.severity, finding.help) == ("warning", "Write `64`, or mend the script.")


@pytest.mark.parametrize(
    ("row", "before", "trials"),
    [
        ({"max_batch": "128"}, "", (Trial(128, True),)),
        ({"max_batch": "128"}, "# 128 ok, 130 oom\n", ()),
        ({"max_batch": "128"}, "# 16 ok, 17 oom for each of them\n", ()),
        ({"max_batch": "128", "status": "disputed"}, "", ()),
        ({"max_batch": ""}, "", ()),
        ({"max_batch": "32"}, "", ()),
    ],
)
def test_a_limit_that_a_trial_shows_is_silent(
    row: dict[str, str], before: str, trials: tuple[Trial, ...]
) -> None:
    assert findings("max-batch-shown", row, before=before, trials=trials) == []


@pytest.mark.parametrize(
    ("comment", "limit", "reason"),
    [
        ("# 64√ 128\u00d7 96√ 100√ 101\u00d7", "16", "a trial of 100 ran"),
        ("# batch 100 ok, 101 OOM", "101", "a trial of 101 failed"),
        ("# 44√ 45\u00d7", "360", "a trial of 45 failed"),
        ("nproc_per_gpu=45 # 32√ → 64x → 48x → 44√ → 45x", "360", "a trial of 45 failed"),
    ],
)
def test_a_limit_that_the_comments_contradict_is_told(
    comment: str, limit: str, reason: str
) -> None:
    told = message("max-batch-against-trials", {"max_batch": limit}, before=f"{comment}\n")
    assert told == f"max_batch of a.sh is `{limit}`, but {reason}"


@pytest.mark.parametrize(
    ("comment", "limit", "status"),
    [
        ("# 64√ 128\u00d7 100√ 101\u00d7", "100", "reported"),
        ("# 64√ 128\u00d7 100√ 101\u00d7", "16", "disputed"),
        ("# 44√ 45\u00d7", "352", "reported"),
        ("# 44√ 45\u00d7", "44", "reported"),
        ("# micro batch 4 ok, 8 oom", "64", "reported"),
        ("# 8 \u00d7 H800, 2x8 GPUs", "64", "reported"),
        ("# 0.4 ok, 0.6 oom", "64", "reported"),
        ("# 32 ok", "64", "reported"),
        ("# 128 ok, 32 oom", "64", "reported"),
    ],
)
def test_a_limit_that_the_comments_may_mean_is_silent(
    comment: str, limit: str, status: str
) -> None:
    row = {"max_batch": limit, "status": status}
    assert findings("max-batch-against-trials", row, before=f"{comment}\n") == []


def test_recorded_trials_are_batches_of_all_gpus() -> None:
    trials = (Trial(44, True), Trial(45, False))
    (finding,) = findings("max-batch-against-trials", {"max_batch": "64"}, trials=trials)
    assert finding.message == "max_batch of a.sh is `64`, but a trial of 45 failed"
    assert finding.help == "Write `44`, the largest batch that ran; or mark the row as disputed."


def test_signs_and_words_after_numbers_are_trials() -> None:
    comment = "# 64√, 128 \u00d7, 96: ok, 100 -> OOM\n"
    assert trials_in_comments(read(comment)) == (
        Trial(64, True),
        Trial(128, False),
        Trial(96, True),
        Trial(100, False),
    )


def test_a_min_script_without_offload_is_told_once() -> None:
    off = {
        f"{ACTOR}.fsdp_config.param_offload": "-",
        f"{ACTOR}.fsdp_config.optimizer_offload": "False",
        f"{MODEL}.enable_gradient_checkpointing": "False",
    }
    (finding,) = findings("min-saves-memory", settings=off)
    assert finding.message == (
        "tag of a.sh is `MIN`, but the script does not turn on "
        "`actor_rollout_ref.actor.fsdp_config.param_offload`, "
        "`actor_rollout_ref.actor.fsdp_config.optimizer_offload` and "
        "`actor_rollout_ref.model.enable_gradient_checkpointing`"
    )
    assert (finding.severity, finding.path, finding.line) == ("warning", PATH, 10)


@pytest.mark.parametrize(
    ("tag", "start", "settings"),
    [
        ("RECOMMENDED", START, {f"{ACTOR}.fsdp_config.param_offload": "False"}),
        ("MIN", START, {"actor_rollout_ref.ref.fsdp_config.param_offload": "False"}),
        ("MIN", START, {f"{ACTOR}.fsdp_config.param_offload": "$OFFLOAD"}),
        (
            "MIN",
            START,
            {
                f"{ACTOR}.strategy": "fsdp2",
                f"{ACTOR}.fsdp_config.param_offload": "-",
                f"{ACTOR}.fsdp_config.offload_policy": "True",
            },
        ),
        (
            "MIN",
            f"{START} model_engine=megatron {ACTOR}.megatron.param_offload=True "
            f"{ACTOR}.megatron.optimizer_offload=True",
            {f"{ACTOR}.strategy": "megatron", f"{MODEL}.enable_gradient_checkpointing": "False"},
        ),
        (
            "MIN",
            f"{START} model_engine=megatron {ACTOR}.megatron.param_offload=True "
            f"+{HOST_OPTIMIZER}.optimizer_cpu_offload=True",
            {
                f"{ACTOR}.strategy": "megatron",
                f"+{HOST_OPTIMIZER}.optimizer_offload_fraction": "1.0",
            },
        ),
    ],
)
def test_a_script_that_saves_memory_in_its_own_way_is_silent(
    tag: str, start: str, settings: dict[str, str]
) -> None:
    assert findings("min-saves-memory", {"tag": tag}, settings, start=start) == []


def test_half_an_optimizer_in_host_memory_is_not_all_of_it() -> None:
    start = (
        f"{START} model_engine=megatron {ACTOR}.megatron.param_offload=True "
        f"{ACTOR}.megatron.optimizer_offload=False +{HOST_OPTIMIZER}.optimizer_cpu_offload=True"
    )
    settings = {
        f"{ACTOR}.strategy": "megatron",
        f"+{HOST_OPTIMIZER}.optimizer_offload_fraction": "0.5",
    }
    (finding,) = findings("min-saves-memory", settings=settings, start=start)
    assert "`actor_rollout_ref.actor.megatron.optimizer_offload`" in finding.message


def test_a_recommended_script_that_offloads_is_told() -> None:
    settings = {f"{ACTOR}.fsdp_config.optimizer_offload": "False"}
    assert message("recommended-is-fast", {"tag": "RECOMMENDED"}, settings) == (
        "tag of a.sh is `RECOMMENDED`, but the script sets "
        "`actor_rollout_ref.actor.fsdp_config.param_offload`"
    )


def test_a_recommended_script_may_offload_its_reference_and_recompute() -> None:
    settings = {
        f"{ACTOR}.fsdp_config.param_offload": "False",
        f"{ACTOR}.fsdp_config.optimizer_offload": "False",
        "actor_rollout_ref.ref.fsdp_config.param_offload": "True",
        f"{MODEL}.enable_gradient_checkpointing": "True",
    }
    assert findings("recommended-is-fast", {"tag": "RECOMMENDED"}, settings) == []


DISTILLATION = {
    "distillation.enabled": "True",
    "distillation.distillation_loss.use_task_rewards": "False",
}
"""The loss is the teacher's alone, so that no responses are compared."""


@pytest.mark.parametrize(
    ("size", "told", "line"),
    [("1", "is", 13), ("-", "is not set, and the framework then takes", 2)],
)
def test_a_group_of_one_is_told(size: str, told: str, line: int) -> None:
    (finding,) = findings("group-size", settings={f"{ROLLOUT}.n": size})
    assert finding.message == f"`grpo` compares responses, but `{ROLLOUT}.n` {told} `1`"
    assert (finding.path, finding.line) == (PATH, line)


@pytest.mark.parametrize(
    "settings",
    [
        {f"{ROLLOUT}.n": "2"},
        {f"{ROLLOUT}.n": "$N"},
        {f"{ROLLOUT}.n": "1", "algorithm.adv_estimator": "gae"},
        {f"{ROLLOUT}.n": "1", "algorithm.adv_estimator": "remax"},
        {f"{ROLLOUT}.val_kwargs.n": "1"},
        {f"{ROLLOUT}.n": "1", **DISTILLATION},
    ],
)
def test_estimators_without_groups_take_one_response(settings: dict[str, str]) -> None:
    assert findings("group-size", settings=settings) == []


TENSOR = f"{ROLLOUT}.tensor_model_parallel_size"
SEQUENCE = f"{ACTOR}.ulysses_sequence_parallel_size"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({TENSOR: "3"}, f"`{TENSOR}` is `3`: 8 GPUs cannot be divided into groups of it"),
        (
            {TENSOR: "4", f"{ROLLOUT}.data_parallel_size": "4"},
            f"`{TENSOR}` is `4`: 8 GPUs cannot be divided into its groups of 16 in all",
        ),
        (
            {TENSOR: "8"},
            f"`{TENSOR}` is `8`: the model's 28 attention heads cannot be divided by it",
        ),
        (
            {"trainer.nnodes": "3", "trainer.n_gpus_per_node": "4", TENSOR: "6"}
            | {f"{MODEL}.path": "/models/policy"},
            f"`{TENSOR}` is `6`: an engine of 6 GPUs does not fill nodes of 4, "
            "as verl demands since 0.7.0",
        ),
        ({SEQUENCE: "3"}, f"`{SEQUENCE}` is `3`: 8 GPUs cannot be divided into groups of it"),
        (
            {SEQUENCE: "2", f"{MODEL}.use_remove_padding": "False"},
            f"`{MODEL}.use_remove_padding` is `False`: sequence parallel size 2 needs packed "
            "sequences",
        ),
        (
            {"trainer.n_gpus_per_node": "1", TENSOR: "-"},
            f"`{TENSOR}` is `2`: 1 GPU cannot be divided into groups of it",
        ),
    ],
)
def test_parallel_sizes_that_do_not_divide_are_told(settings: dict[str, str], told: str) -> None:
    assert message("parallel-sizes", {"gpus": ""}, settings) == told


@pytest.mark.parametrize(
    "settings",
    [
        {"trainer.nnodes": "4", TENSOR: "16", f"{MODEL}.path": "Qwen/Qwen2-72B-Instruct"},
        {TENSOR: "8", f"{MODEL}.path": "/models/policy"},
        {TENSOR: "$TP"},
        {TENSOR: "3", "trainer.n_gpus_per_node": "$GPUS", f"{MODEL}.path": "/models/policy"},
        {SEQUENCE: "4"},
        {TENSOR: "3", f"{ROLLOUT}.name": "hf"},
    ],
)
def test_parallel_sizes_that_the_framework_takes_are_silent(settings: dict[str, str]) -> None:
    assert findings("parallel-sizes", settings=settings) == []


def test_megatrons_sizes_divide_the_gpus_together() -> None:
    start = (
        f"{START} model_engine=megatron {ACTOR}.megatron.tensor_model_parallel_size=4 "
        f"{ACTOR}.megatron.pipeline_model_parallel_size=3"
    )
    assert message("parallel-sizes", settings={f"{ACTOR}.strategy": "megatron"}, start=start) == (
        f"`{ACTOR}.megatron.tensor_model_parallel_size` is `4`: "
        "8 GPUs cannot be divided into its groups of 12 in all"
    )


BATCH = "data.train_batch_size"
MINI = f"{ACTOR}.ppo_mini_batch_size"
TOTAL = f"{ACTOR}.ppo_micro_batch_size"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {BATCH: "63", MINI: "63"},
            f"`{BATCH}` 63 x `{ROLLOUT}.n` 5 = 315 responses cannot be divided by 8, "
            "the number of GPUs",
        ),
        ({MINI: "128"}, f"`{MINI}` is `128`, more than `{BATCH}` `64`"),
        (
            {MICRO: "7"},
            f"`{MICRO}` 7 does not divide 40, the share of each rank in "
            f"`{MINI}` 64 x `{ROLLOUT}.n` 5 = 320 responses",
        ),
        (
            {MICRO: "-", TOTAL: "48"},
            f"`{TOTAL}` 48 does not divide `ppo_mini_batch_size` 64",
        ),
        (
            {MICRO: "-", TOTAL: "4"},
            f"`{TOTAL}` 4 gives some of the 8 GPUs nothing to do",
        ),
    ],
)
def test_batches_that_the_framework_refuses_are_told(settings: dict[str, str], told: str) -> None:
    assert message("batch-divisibility", settings=settings) == told


@pytest.mark.parametrize(
    "settings",
    [
        {BATCH: "1000", MINI: "200", MICRO: "25"},
        {BATCH: "63", MINI: "63", f"{ACTOR}.use_dynamic_bsz": "True"},
        {BATCH: "63", MINI: "63", "trainer.n_gpus_per_node": "$GPUS"},
        {BATCH: "176", MINI: "176", MICRO: "44", SEQUENCE: "2"},
        {BATCH: "116", MINI: "116", MICRO: "116", "trainer.n_gpus_per_node": "1"},
        {f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": "48"},
        {MICRO: "-", TOTAL: "4", SEQUENCE: "2"},
    ],
)
def test_batches_that_the_framework_takes_are_silent(settings: dict[str, str]) -> None:
    assert findings("batch-divisibility", {"gpus": ""}, settings) == []
    assert findings("uneven-update", {"gpus": ""}, settings) == []


MEGATRON = {
    f"{ACTOR}.strategy": "megatron",
    f"{ACTOR}.fsdp_config.param_offload": "-",
    f"{ACTOR}.fsdp_config.optimizer_offload": "-",
}


@pytest.mark.parametrize(
    ("settings", "start", "told"),
    [
        (
            {MINI: "12"},
            START,
            f"`{MINI}` 12 x `{ROLLOUT}.n` 5 = 60 responses cannot be divided over 8 data-parallel "
            "ranks, as verl demands since 0.8.0",
        ),
        (
            MEGATRON | {MINI: "16", MICRO: "4"},
            f"{START} model_engine=megatron",
            f"`{MICRO}` 4 does not divide 10, the share of each rank in `{MINI}` 16 x "
            f"`{ROLLOUT}.n` 5 = 80 responses, as verl demands since 0.8.0",
        ),
    ],
)
def test_updates_that_only_newer_releases_refuse_are_warnings(
    settings: dict[str, str], start: str, told: str
) -> None:
    assert message("uneven-update", settings=settings, start=start) == told
    assert findings("batch-divisibility", settings=settings, start=start) == []


@pytest.mark.parametrize("gpus", ["3", "1", "12"])
def test_a_wrong_number_of_gpus_is_one_mistake(gpus: str) -> None:
    settings = {"trainer.n_gpus_per_node": gpus, f"{MODEL}.path": "/models/policy"}
    told = [rule for rule in RULES for _ in findings(rule, settings=settings)]
    assert told == ["gpus-agree"]


@pytest.mark.parametrize("gpus", ["3", "1"])
def test_gpus_that_nothing_divides_are_one_mistake(gpus: str) -> None:
    settings = {"trainer.n_gpus_per_node": gpus, f"{MODEL}.path": "/models/policy"}
    told = [rule for rule in RULES for _ in findings(rule, {"gpus": gpus}, settings)]
    assert told == ["parallel-sizes"]


TOKENS = f"{ROLLOUT}.max_num_batched_tokens"
CHUNKED = f"{ROLLOUT}.enable_chunked_prefill"


@pytest.mark.parametrize(
    ("settings", "tokens", "sequence"),
    [
        ({CHUNKED: "False", TOKENS: "1024"}, 1024, 1536),
        ({CHUNKED: "False", TOKENS: "1536", f"{ROLLOUT}.max_model_len": "2048"}, 1536, 2048),
        ({CHUNKED: "False", "data.max_response_length": "16384"}, 8192, 16896),
    ],
)
def test_a_sequence_that_does_not_fit_is_told(
    settings: dict[str, str], tokens: int, sequence: int
) -> None:
    assert message("batched-tokens", settings=settings) == (
        f"`{TOKENS}` is `{tokens}`, less than one sequence of {sequence} tokens, "
        "and chunked prefill is off"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {CHUNKED: "False", TOKENS: "1536"},
        {TOKENS: "1024"},
        {CHUNKED: "True", TOKENS: "1024"},
        {CHUNKED: "False", TOKENS: "1024", f"{ROLLOUT}.name": "sglang"},
        {CHUNKED: "False", TOKENS: "$TOKENS"},
        {CHUNKED: "False", TOKENS: "1024", f"{ROLLOUT}.max_model_len": "$LENGTH"},
    ],
)
def test_a_sequence_that_fits_or_is_cut_is_silent(settings: dict[str, str]) -> None:
    assert findings("batched-tokens", settings=settings) == []


EXPERTS = f"{ACTOR}.megatron.expert_model_parallel_size"


@pytest.mark.parametrize(("shared", "told"), [("", 1), ("null", 1), ("1", 0), ("$SIZE", 0)])
def test_the_groups_of_experts_divide_the_gpus(shared: str, told: int) -> None:
    """Experts are cut like all other weights unless the script says otherwise."""
    sizes = f" {ACTOR}.megatron.expert_tensor_parallel_size={shared}" if shared else ""
    start = (
        f"{START} model_engine=megatron {ACTOR}.megatron.tensor_model_parallel_size=4 "
        f"{EXPERTS}=4{sizes}"
    )
    found = findings("parallel-sizes", settings={f"{ACTOR}.strategy": "megatron"}, start=start)
    assert [item.message for item in found] == [
        f"`{EXPERTS}` is `4`: 8 GPUs cannot be divided into its groups of 4 x 4 x 1 = 16, "
        "experts x their tensor parallel size x stages"
    ] * told


def test_both_kinds_of_micro_batch_are_told_at_the_total() -> None:
    (finding,) = findings("micro-batch-keys", settings={TOTAL: "64"})
    assert finding.message == f"both `{TOTAL}` and `{MICRO}` are set"
    assert finding.help == f"Leave out `{TOTAL}`."
    assert (finding.path, finding.line) == (PATH, 18)


def test_neither_kind_of_micro_batch_is_told() -> None:
    assert message("micro-batch-keys", settings={MICRO: "-"}) == (
        f"neither `{MICRO}` nor its total is set, and `{ACTOR}.use_dynamic_bsz` is off"
    )


REFERENCE = "actor_rollout_ref.ref.log_prob_micro_batch_size"


@pytest.mark.parametrize(
    "settings",
    [
        {MICRO: "-", TOTAL: "64"},
        {TOTAL: "null"},
        {TOTAL: "64", f"{ACTOR}.use_dynamic_bsz": "True"},
        {MICRO: "$MICRO", TOTAL: "64"},
        {REFERENCE: "8", f"{REFERENCE}_per_gpu": "8"},
    ],
)
def test_one_kind_of_micro_batch_is_silent(settings: dict[str, str]) -> None:
    assert findings("micro-batch-keys", settings=settings) == []


def test_a_reference_model_needs_its_micro_batch() -> None:
    settings = {f"{ACTOR}.use_kl_loss": "True"}
    assert message("micro-batch-keys", settings=settings).startswith(
        f"neither `{REFERENCE}_per_gpu` nor its total is set"
    )


def test_a_comment_of_a_number_and_a_long_blank_is_read_in_the_end() -> None:
    assert trials_in_comments(read(f"# batch 64{' ' * 300_000}?\n")) == ()
