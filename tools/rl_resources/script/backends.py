"""The words of the framework for what trains and what generates."""

from __future__ import annotations

from collections.abc import Mapping

TRAIN_BACKENDS = frozenset({"fsdp", "fsdp2", "megatron", "veomni", "torchtitan"})
INFER_BACKENDS = frozenset({"vllm", "sglang", "hf", "trtllm", "vllm_omni"})
SAME_BACKEND: Mapping[str, str] = {
    "mindspeed": "megatron",
    "vllm-ascend": "vllm",
    "vllm-omni": "vllm_omni",
}
"""What is a word of ours alone, with the one that the framework knows it by."""
