"""The memory of a run by arithmetic: an estimate, never mixed with records and reports."""

from collections.abc import Mapping

WORDS = ("model", "gpus", "device", "memory", "task", "weights", "train", "infer")
"""What is asked in a person's words; all else are inputs of the formula."""
NUMBERS: Mapping[str, str] = {
    "prompt_length": "tokens of a prompt, at most",
    "response_length": "tokens of a response, at most",
    "rollout_n": "responses for each prompt",
    "micro_batch": "sequences that a GPU trains at once",
    "lora_rank": "rank of the LoRA adapters",
}
"""Inputs with an option of their own."""
