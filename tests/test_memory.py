"""The least memory of a run: the bytes of weights, gradients and optimizer states."""

import pytest

from rl_resources.dataset_rules.plausibility import minimum_memory_gb, parameters_in_name


@pytest.mark.parametrize(
    ("weights", "saved", "bytes_each"),
    [
        ("full", (), 16),
        ("", (), 16),
        ("full", ("bf16-optimizer",), 8),
        ("full", ("8-bit-optimizer",), 6),
        ("full", ("optimizer-offload",), 2),
        ("full", ("optimizer-offload", "parameter-offload"), 2),
        ("full", ("phase-offload", "activation-checkpointing"), 16),
        ("lora", (), 2),
        ("lora", ("parameter-offload", "fp8-rollout"), 1),
        ("qlora", (), 0.5),
        ("partial", (), 2),
        ("full", ("disk-offload",), 0),
    ],
)
def test_each_parameter_takes_so_many_bytes(weights, saved, bytes_each):
    assert minimum_memory_gb(7, weights, saved) == 7 * bytes_each


@pytest.mark.parametrize(
    ("name", "billions"),
    [("Qwen2.5-7B", 7), ("Qwen3-30B-A3B", 30), ("Mixtral 8x7B", 0), ("OPT-6.7b", 6.7), ("R1", 0)],
)
def test_a_name_says_all_parameters_of_a_model_or_none(name, billions):
    assert parameters_in_name(name) == billions
