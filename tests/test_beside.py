"""Another process says of a dataset what `check_root` says, and nobody waits for it in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_resources import InvalidDataset, UnreadableDataset
from rl_resources.check import beside, check_root
from rl_resources.check.beside import judged_beside
from sample_tree import plant

SCRIPT = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
NO_PROCESS = {
    "that cannot be started": ("/nowhere",),
    "that fails": ("false",),
    "that says something else": ("echo", "[1"),
}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A dataset with an error in a table, one in a script, and words that are not ASCII."""
    root = plant(tmp_path / "dataset")
    for path, old, new in (
        ("records/tuning.csv", ",h800,", ",h€00,"),
        (SCRIPT, "trainer.n_gpus_per_node=", "trainer.n_gpus_per_nodes="),
    ):
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


def test_another_process_finds_the_same(broken: Path) -> None:
    with judged_beside(broken) as verdict:
        assert verdict.findings == check_root(broken)
    assert {item.path for item in verdict.findings} == {"records/tuning.csv", SCRIPT}


def test_a_dataset_that_breaks_rules_is_held_to_them(broken: Path) -> None:
    with judged_beside(broken) as verdict, pytest.raises(InvalidDataset) as raised:
        verdict.hold()
    assert list(raised.value.findings) == verdict.findings


@pytest.mark.parametrize("kind", NO_PROCESS)
def test_without_an_answer_of_a_process_the_rules_are_asked_here(
    kind: str, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "COMMAND", NO_PROCESS[kind])
    with judged_beside(broken) as verdict:
        assert verdict.findings == check_root(broken)


def test_a_folder_that_is_no_dataset_is_told_as_such(tmp_path: Path) -> None:
    with judged_beside(tmp_path) as verdict, pytest.raises(UnreadableDataset):
        verdict.hold()


def test_who_leaves_early_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "COMMAND", ("tail", "-f", "/dev/null"))
    with judged_beside(tmp_path) as verdict:
        assert not verdict.known
    assert verdict.known
