"""What a run does: the script's settings over the framework's defaults."""

import pytest

from rl_resources.script.backends import ACTOR
from rl_resources.script.bash import read
from rl_resources.script.framework import UNKNOWN, compose_launch, shipped
from rl_resources.script.launch import launches
from rl_resources.script.run import Run
from rl_resources.script.settings import Setting

TRAIN = "python3 -m verl.trainer.main_ppo"


def run_of(text: str) -> Run:
    """The first launch of a script."""
    launch = launches(read(text))[0]
    return Run(launch, compose_launch(shipped("verl"), launch))


def test_a_value_is_found_where_it_is_used_and_where_it_is_defined():
    run = run_of(f"A=4\nNODES=${{NODES:-$A}}\n{TRAIN} \\\n    trainer.nnodes=$NODES\n")
    setting = run.setting("trainer.nnodes")
    assert setting.value == 4
    assert setting.place and setting.origin
    assert (setting.place.line, setting.place.column) == (4, 5)
    assert (setting.origin.line, setting.origin.column) == (1, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        "data.train_batch_size=$(nproc)",
        "data.train_batch_size=$SOMEWHERE",
        "~data.train_batch_size",
        "$MORE",
        "--config-dir=elsewhere",
        "data.train_batchsize=64",
        "'data.train_batch_size=choice(1,2)'",
    ],
)
def test_what_is_not_known_is_unknown(arguments):
    run = run_of(f"{TRAIN} trainer.nnodes=1 {arguments}\n")
    assert run.train_batch_size.value is UNKNOWN
    assert not run.train_batch_size.known
    assert run.train_batch_size.number is None
    assert run.nodes.number == 1


ENGINE = "actor_rollout_ref.actor.megatron"
ROLLOUT = "actor_rollout_ref.rollout"
POOL = "++rollout.nnodes=1 ++rollout.n_gpus_per_node=4"
CASES = [
    ("", "train_batch_size", 1024),
    ('"$@"', "train_batch_size", 1024),
    ("trainer.nnodes=2 trainer.nnodes=3", "nodes", 3),
    ("trainer.nnodes=2", "gpus", 16),
    ("trainer.nnodes=2 trainer.n_gpus_per_node=4", "gpus", 8),
    ("trainer.nnodes=$N trainer.n_gpus_per_node=4", "gpus", None),
    (f"trainer.nnodes=2 {ROLLOUT}.nnodes=1", "gpus", None),
    (f"trainer.nnodes=2 {POOL}", "gpus", 20),
    (f"trainer.nnodes=2 {POOL}", "nodes", None),
    ("trainer.nnodes=2 rollout.nnodes=1", "gpus", None),
    ("", "train_backend", "fsdp"),
    (f"{ACTOR}.strategy=fsdp2", "train_backend", "fsdp2"),
    ("model_engine=megatron", "train_backend", "megatron"),
    ("--config-path=config --config-name=ppo_megatron_trainer.yaml", "train_backend", "megatron"),
    ("", "lora_rank", 0),
    ("actor_rollout_ref.model.lora_rank=32", "lora_rank", 32),
    ("model_engine=megatron actor_rollout_ref.model.lora.rank=16", "lora_rank", 16),
    ("actor_rollout_ref.model.lora_adapter_path=/adapters/one", "lora_rank", None),
    ("actor_rollout_ref.model.path=Qwen/Qwen2-7B", "model_path_end", "Qwen/Qwen2-7B"),
    ("actor_rollout_ref.model.path=$HOME/models/$NAME", "model_path_end", "/models/Qwen3-8B"),
    ("actor_rollout_ref.model.path=${BASE}Qwen2-7B", "model_path_end", None),
    (f"{ACTOR}.ulysses_sequence_parallel_size=4", "training_model_size", 4),
    (f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size=2", "training_model_size", 2),
    (
        f"model_engine=megatron {ENGINE}.tensor_model_parallel_size=4 "
        f"{ENGINE}.pipeline_model_parallel_size=2",
        "training_model_size",
        8,
    ),
    (f"{ROLLOUT}.data_parallel_size=2", "rollout_model_size", 4),
]


@pytest.mark.parametrize(("arguments", "name", "expected"), CASES)
def test_what_a_run_does_follows_from_its_arguments(arguments, name, expected):
    found = getattr(run_of(f"NAME=Qwen3-8B\n{TRAIN} trainer.val_only=False {arguments}\n"), name)
    if isinstance(found, Setting):
        found = found.text if isinstance(found.value, str) else found.number
    assert found == expected


def test_another_programs_settings_are_known_and_its_defaults_are_not():
    run = run_of(
        "python3 -m recipe.dapo.main_dapo data.train_batch_size=64 trainer.nnodes=2 "
        "actor_rollout_ref.actor.strategy=fsdp2\n"
    )
    assert run.composition.problem
    assert (run.train_batch_size.number, run.train_backend.text) == (64, "fsdp2")
    assert run.rollout_n.value is UNKNOWN


def test_a_key_that_the_release_refuses_keeps_the_scripts_value():
    run = run_of(f"{TRAIN} trainer.nnodes=2 {ENGINE}.grad_offload=True\n")
    assert run.setting(f"{ENGINE}.grad_offload").flag is True
    assert [rejection.kind for rejection in run.composition.rejected] == ["unknown-key"]
