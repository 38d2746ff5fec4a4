"""What the name of an experiment says of its run, held against the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rl_resources.script.run import Run

_SIZE = re.compile(r"(?<![a-z0-9.])\d+(?:\.\d+)?b(?![a-z0-9])")
_ALGORITHMS: Mapping[str, str] = {"gae": "ppo", "grpo": "grpo", "rloo": "rloo", "remax": "remax"}
_ENGINES = frozenset({"vllm", "sglang"})
_TRAINERS = frozenset({"fsdp", "fsdp2", "megatron"})


def contradictions(name: str, run: Run) -> Iterator[tuple[str, str]]:
    """What `name` says, and what the run is instead; both in lower case."""
    words = set(re.split(r"[^a-z0-9]+", name.lower().replace("main_ppo", "")))
    yield from _size(name.lower(), (run.model_path_end or "").lower())
    algorithm = _ALGORITHMS.get(run.estimator.text or "", "")
    yield from _other(words, frozenset(_ALGORITHMS.values()), algorithm)
    yield from _other(words, _ENGINES, run.infer_backend.text or "")
    yield from _other(words, _TRAINERS, (run.train_backend.text or "").removesuffix("2"))
    if "lora" in words and run.lora_rank.number == 0:
        yield "lora", "all weights"


def _size(name: str, path: str) -> Iterator[tuple[str, str]]:
    """Sizes may be written `0.5b`, `0_5b` or `0p5b`, and stand behind a version: `2_5_7b`."""
    plain = re.sub(r"[^a-z0-9.]+", " ", name)
    dotted = re.sub(r"(\d)[_p-](?=\d)", r"\1.", name)
    said = {*_SIZE.findall(plain), *_SIZE.findall(re.sub(r"[^a-z0-9.]+", " ", dotted))}
    held = set(_SIZE.findall(path.rpartition("/")[2]))
    if len(held) == 1 and said and not held & said:
        yield min(said), held.pop()


def _other(words: set[str], known: frozenset[str], held: str) -> Iterator[tuple[str, str]]:
    said = {word.removesuffix("2") for word in words & known}
    if held in known and len(said) == 1 and held not in said:
        yield said.pop(), held
