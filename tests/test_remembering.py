"""Whatever is remembered of a clean dataset, each change is told as by who remembers nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rl_resources import cache
from rl_resources.check import chosen_rules, findings_in, subject
from rl_resources.check.script import shellcheck
from rl_resources.check.snapshot import take_snapshot
from rl_resources.finding import Finding
from rl_resources.package import read_package
from rl_resources.schema import verdicts
from sample_tree import Edit, apply, plant
from test_bad import FINDINGS

TUNING, MODELS, TRIALS = "records/tuning.csv", "records/models.csv", "records/trials.csv"
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
PATH = f"examples/tuning/7b/{SCRIPT}"
LARGER = "qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh"
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"


def changed(path: str, old: str, new: str, *, every: bool = False) -> Edit:
    """An edit that puts one text in the place of another."""
    return {"file": path, "replace": old, "with": new, "all": every}


CHANGES: dict[str, list[Edit]] = {
    "a bound of the schema": [
        changed("schema/trials.json", '"minimum": 1', '"minimum": 99', every=True)
    ],
    "a pattern of the schema": [
        changed("schema/sizes.json", '"pattern": "', '"pattern": "X', every=True)
    ],
    "a word of a vocabulary": [changed("records/devices.csv", "\nh800,", "\nh801,")],
    "the key of a model": [
        changed(MODELS, "\nQwen/Qwen2-7B-Instruct,", "\nQwen/Qwen2-7B-Instrukt,")
    ],
    "a fact of a model": [changed(MODELS, ",Qwen2,7B,7.6,", ",Qwen2,7B,17.6,")],
    "the bounds of a size": [
        changed("records/sizes.csv", "7B,4,4.58,9.9", "7B,4,4.58,7"),
        changed("records/sizes.csv", "14B,5,9.9,", "14B,5,7,"),
    ],
    "a trial": [{"file": TRIALS, "append": f"{LARGER},1,128,ran\n"}],
    "a dispute": [changed(TUNING, ",disputed,", ",reported,")],
    "a cell that rules hold to the script": [{"file": TUNING, "line": 2, "set": {"gpus": "4"}}],
    "a cell that is taken away": [{"file": TUNING, "line": 2, "set": {"task": ""}}],
    "a cell that is filled": [{"file": TUNING, "line": 2, "set": {"max_batch": "7"}}],
    "what trains, beside a task that is none of it": [
        {"file": TUNING, "line": 2, "set": {"weights": "lora"}}
    ],
    "an optimization that the script has not on": [
        {"file": TUNING, "line": 2, "set": {"memory_optimisations": "dynamic-batch"}}
    ],
    "a word of the memory optimizations": [
        {"file": TUNING, "line": 2, "set": {"memory_optimisations": "activation-checkpointing"}},
        changed(
            "records/memory_optimisations.csv",
            "\nactivation-checkpointing,",
            "\nactivation-recomputation,",
        ),
    ],
    "a script": [changed(PATH, "trainer.n_gpus_per_node=", "trainer.n_gpus_per_nodes=")],
    "a script in another folder": [{"file": PATH, "rename": f"../14b/{SCRIPT}"}],
    "an exemption that lets nothing off": [
        {"file": "records/exemptions.csv", "append": f"{SCRIPT},min-saves-memory,As published.\n"}
    ],
    "a key that stands twice": [
        {"file": TRIALS, "append": f"{LORA},1,64,ran\n"},
    ],
    **{name: case["edit"] for name, case in [*FINDINGS.items()][::9]},
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """A cache that holds what is known of the sample, and whatever cases before have left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RL_RESOURCES_CACHE", str(tmp_path_factory.mktemp("warm")))
        patch.setattr(verdicts, "cache_folder", cache.cache_folder)
        patch.setattr(shellcheck, "_program", lambda: None)
        root = plant(tmp_path_factory.mktemp("sample") / "dataset")
        assert told(root) == []
        yield patch


def told(root: Path, *paths: str) -> list[Finding]:
    """What all rules say of a dataset, or of these files of it."""
    asked = paths.__contains__ if paths else lambda _: True
    return findings_in(take_snapshot(read_package(root)), chosen_rules([], []), asked)


@pytest.mark.parametrize("edits", CHANGES.values(), ids=CHANGES.keys())
def test_no_memory_hides_a_finding(
    edits: list[Edit], memory: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = plant(tmp_path / "dataset")
    apply(root, edits)
    paths = {edit["file"] for edit in edits}
    warm = told(root), told(root, *paths)
    with memory.context() as patch:
        patch.setenv("RL_RESOURCES_CACHE", str(tmp_path / "empty"))
        assert warm == (told(root), told(root, *paths))
    assert warm[0]


def test_what_is_known_is_not_asked_again(memory: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = plant(tmp_path / "dataset")
    assert told(root) == []
    apply(root, [changed(TUNING, "the trials reached 100", "the trials came to 100")])

    def read(*_: Any) -> Any:
        raise AssertionError("a script was read whose row says nothing new to any rule")

    with memory.context() as patch:
        patch.setattr(subject.ScriptText, "script", property(read))
        assert told(root) == []
