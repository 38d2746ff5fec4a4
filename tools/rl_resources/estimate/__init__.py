"""The memory of a run by arithmetic: an estimate, never mixed with records and reports."""

WORDS = (
    "model",
    "gpus",
    "device",
    "memory",
    "task",
    "weights",
    "train",
    "infer",
    "framework",
)
"""What is asked in a person's words; all else are inputs of the formula."""
NUMBERS = (
    "prompt_length",
    "response_length",
    "mean_response_length",
    "prompts_per_step",
    "rollout_n",
    "micro_batch",
    "lora_rank",
)
"""Inputs with an option of their own."""
PLAN_OPTIONS = (
    "model",
    "task",
    "weights",
    "gpus",
    "device",
    "memory",
    "length",
    "framework",
    "train",
    "infer",
    "host_memory",
)
"""What a plan may be asked for."""
SPEEDS = ("bf16_tflops", "memory_bandwidth_gb_s")
"""The inputs that a device's row has, under the same names."""
