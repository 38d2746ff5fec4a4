"""What a run does: the script's settings over the framework's defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_resources.script.bash import read
from rl_resources.script.explained import explained
from rl_resources.script.framework import UNKNOWN, compose_launch, shipped
from rl_resources.script.launch import launches
from rl_resources.script.run import ACTOR, Run

ROOT = Path(__file__).parents[1]
TRAIN = "python3 -m verl.trainer.main_ppo"


def run_of(text: str) -> Run:
    """The first launch of a script."""
    launch = launches(read(text))[0]
    return Run(launch, compose_launch(shipped("verl"), launch))


def test_a_value_is_found_where_it_is_used_and_where_it_is_defined() -> None:
    run = run_of(f"NODES=${{NODES:-4}}\n{TRAIN} \\\n    trainer.nnodes=$NODES\n")
    setting = run.setting("trainer.nnodes")
    assert setting.value == 4
    assert setting.place is not None
    assert (setting.place.line, setting.place.column) == (3, 5)
    assert setting.origin is not None
    assert (setting.origin.line, setting.origin.column) == (1, 16)


def test_what_the_script_leaves_out_is_the_frameworks_default_without_a_place() -> None:
    setting = run_of(f"{TRAIN} trainer.nnodes=2\n").setting("data.train_batch_size")
    assert (setting.value, setting.place) == (1024, None)


def test_the_last_of_two_overrides_counts() -> None:
    run = run_of(f"{TRAIN} trainer.nnodes=2 trainer.nnodes=3\n")
    assert run.nodes.number == 3
    assert run.nodes.place is not None
    assert run.nodes.place.column > len(f"{TRAIN} trainer.nnodes=2")


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
def test_what_cannot_be_told_is_unknown(arguments: str) -> None:
    run = run_of(f"{TRAIN} trainer.nnodes=1 {arguments}\n")
    assert run.train_batch_size.value is UNKNOWN
    assert not run.train_batch_size.known
    assert run.train_batch_size.number is None
    assert run.nodes.number == 1


def test_arguments_that_a_caller_may_add_do_not_hide_the_defaults() -> None:
    assert run_of(f'{TRAIN} trainer.nnodes=2 "$@"\n').train_batch_size.number == 1024


def test_another_programs_settings_are_known_and_its_defaults_are_not() -> None:
    run = run_of(
        "python3 -m recipe.dapo.main_dapo data.train_batch_size=64 trainer.nnodes=2 "
        "actor_rollout_ref.actor.strategy=fsdp2\n"
    )
    assert run.composition.problem
    assert (run.train_batch_size.number, run.train_backend.text) == (64, "fsdp2")
    assert run.rollout_n.value is UNKNOWN


def test_a_key_that_the_release_refuses_keeps_the_scripts_value() -> None:
    run = run_of(f"{TRAIN} trainer.nnodes=2 actor_rollout_ref.actor.megatron.grad_offload=True\n")
    assert run.setting("actor_rollout_ref.actor.megatron.grad_offload").flag is True
    assert [rejection.kind for rejection in run.composition.rejected] == ["unknown-key"]


@pytest.mark.parametrize(
    ("arguments", "backend", "line"),
    [
        ("trainer.nnodes=1", "fsdp", None),
        ("actor_rollout_ref.actor.strategy=fsdp2 trainer.nnodes=1", "fsdp2", 1),
        ("model_engine=megatron trainer.nnodes=1", "megatron", 1),
        ("--config-name=ppo_megatron_trainer trainer.nnodes=1", "megatron", None),
        ("--config-path=config --config-name=ppo_megatron_trainer.yaml a.b=1", "megatron", None),
    ],
)
def test_the_training_backend_follows_from_strategy_engine_or_configuration(
    arguments: str, backend: str, line: int | None
) -> None:
    found = run_of(f"{TRAIN} {arguments}\n").train_backend
    assert found.text == backend
    assert (found.place.line if found.place else None) == line


@pytest.mark.parametrize(
    ("arguments", "rank"),
    [
        ("trainer.nnodes=1", 0),
        ("actor_rollout_ref.model.lora_rank=32", 32),
        ("model_engine=megatron actor_rollout_ref.model.lora.rank=16", 16),
        ("actor_rollout_ref.model.lora_rank=0", 0),
        ("actor_rollout_ref.model.lora_adapter_path=/adapters/one", None),
    ],
)
def test_the_rank_of_adapters_is_that_of_either_backend(arguments: str, rank: int | None) -> None:
    assert run_of(f"{TRAIN} trainer.nnodes=1 {arguments}\n").lora_rank.number == rank


@pytest.mark.parametrize(
    ("arguments", "gpus"),
    [
        ("trainer.nnodes=2", 16),
        ("trainer.nnodes=2 trainer.n_gpus_per_node=4", 8),
        ("trainer.nnodes=$N trainer.n_gpus_per_node=4", None),
        ("trainer.nnodes=2 actor_rollout_ref.rollout.nnodes=1", None),
    ],
)
def test_all_gpus_are_nodes_times_gpus_of_a_node_in_one_pool(
    arguments: str, gpus: int | None
) -> None:
    assert run_of(f"{TRAIN} a.b=1 {arguments}\n").gpus.number == gpus


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("Qwen/Qwen2-7B", "Qwen/Qwen2-7B"),
        ("$HOME/models/Qwen2-7B", "/models/Qwen2-7B"),
        ("$HOME/models/$NAME", "/models/Qwen3-8B"),
        ("${BASE}Qwen2-7B", None),
        ("$SOMEWHERE", None),
    ],
)
def test_the_end_of_a_models_path_is_known_where_its_beginning_is_not(
    path: str, end: str | None
) -> None:
    run = run_of(f"NAME=Qwen3-8B\n{TRAIN} trainer.nnodes=1 actor_rollout_ref.model.path={path}\n")
    assert run.model_path_end == end


def test_sizes_of_what_works_together_are_products() -> None:
    megatron = run_of(
        f"{TRAIN} model_engine=megatron"
        " actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4"
        " actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2"
        " actor_rollout_ref.rollout.data_parallel_size=2\n"
    )
    assert (megatron.training_model_size, megatron.rollout_model_size) == (8, 4)
    ulysses = run_of(f"{TRAIN} a.b=1 actor_rollout_ref.actor.ulysses_sequence_parallel_size=4\n")
    assert ulysses.training_model_size == 4
    renamed = "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2"
    assert run_of(f"{TRAIN} a.b=1 {renamed}\n").training_model_size == 2


def test_every_shipped_script_is_understood_whole() -> None:
    scripts = sorted((ROOT / "examples/tuning").glob("*/*.sh"))
    assert len(scripts) >= 12
    for script in scripts:
        run = run_of(script.read_text(encoding="utf-8"))
        assert not run.composition.problem
        assert not run.composition.rejected
        for value in (
            run.gpus.number,
            run.train_batch_size.number,
            run.rollout_n.number,
            run.training_model_size,
            run.rollout_model_size,
            run.estimator.text,
            run.model_path.text,
            run.gpu_memory_utilization.value,
        ):
            assert value is not None, script
            assert value is not UNKNOWN, script


OFFLOAD = {"param_offload", "optimizer_offload"}
ON = {*OFFLOAD, "enable_gradient_checkpointing"}


@pytest.mark.parametrize(
    ("backend", "arguments", "savers"),
    [
        ("fsdp", "", ON),
        ("fsdp2", f"{ACTOR}.strategy=fsdp2", ON),
        ("fsdp2", f"{ACTOR}.strategy=fsdp2 {ACTOR}.fsdp_config.offload_policy=True", ON - OFFLOAD),
        ("megatron", "model_engine=megatron", OFFLOAD),
        ("veomni", "model_engine=veomni", ON),
        ("veomni", f"model_engine=veomni {ACTOR}.veomni.enable_fsdp_offload=True", ON - OFFLOAD),
        ("torchtitan", "model_engine=torchtitan", ON),
        ("other", f"{ACTOR}.strategy=other", set()),
    ],
)
def test_each_backend_has_its_own_offload_settings(
    backend: str, arguments: str, savers: set[str]
) -> None:
    run = run_of(f"{TRAIN} trainer.nnodes=1 {arguments}\n")
    assert run.train_backend.text == backend
    assert {setting.key.rpartition(".")[2] for setting in run.memory_savers} == savers
    assert all(
        setting.flag is False or "checkpoint" in setting.key for setting in run.memory_savers
    )
    section = run.backend.section
    on = run_of(f"{TRAIN} {arguments} {ACTOR}.{section}.param_offload=True trainer.nnodes=1\n")
    assert on.param_offload.flag is True
    assert "parameter-offload" in on.optimizations_on
    shown = {item.title: item for item in explained(run)}
    assert shown["Parameter offload"].setting.key.startswith(f"{ACTOR}.{section}.")
    assert ("FSDP2 offload" in shown) == (backend in ("fsdp2", "veomni"))
