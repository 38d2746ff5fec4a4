"""`new`: every record that it offers to make is one that all rules accept."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from botched_tree import IDENTITY, commit, git, plant_frozen
from cases import each, read_cases
from conftest import Answer
from rl_resources.check import chosen_rules, findings_in
from rl_resources.contribute import with_rows, with_script
from rl_resources.contribute.merge import Proposal
from rl_resources.contribute.new import (
    OPTIONS,
    batch_of,
    engines,
    new_record,
    strategies,
)
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import UnusableInput
from rl_resources.facts.script_names import PARTS
from rl_resources.facts.words import known_words
from rl_resources.package import Package
from rl_resources.script.algorithm import ALGORITHMS
from rl_resources.script.backends import BACKENDS
from rl_resources.script.framework.shipped import shipped
from rl_resources.snapshot import ScriptFile, Snapshot, take_snapshot
from sample_tree import changed_files, files
from website import ROOT, read_rows

CASES = read_cases("new")
ASKED = CASES["asked"]
NAME = "qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh"
PATH = f"examples/tuning/7b/{NAME}"
LARGE = "Qwen/Qwen2.5-72B-Instruct"
OFFERED = strategies(shipped("verl"))
TRAINS = tuple(sorted(OFFERED.keys() & BACKENDS))


@pytest.fixture(scope="module")
def dataset(frozen: Package) -> Dataset:
    return read_dataset(frozen)


@pytest.fixture(scope="module")
def snapshot(frozen: Package) -> Snapshot:
    return take_snapshot(frozen)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the dataset as it was once."""
    return plant_frozen(tmp_path)


@pytest.fixture
def new(root: Path, answer: Answer) -> Answer:
    """The command for `ASKED` with changes; `None` leaves an option out."""

    def run(status: int = 0, **changed: str | None) -> object:
        asked = (ASKED | changed).items()
        options = [f"--{name}={text}" for name, text in asked if text is not None]
        return answer("new", "--root", root, *options, status=status)

    return run


def _made(
    combinations: Iterable[Sequence[str]], dataset: Dataset, snapshot: Snapshot
) -> dict[str, Proposal]:
    """The records of the combinations that are offered, by their path."""
    found = {}
    for combination in combinations:
        asked = dict(zip(OPTIONS, combination, strict=True))
        with suppress(UnusableInput):
            record = new_record(asked, dataset, snapshot)
            found.setdefault(record.path, record)
    return found


def _assert_clean(made: Mapping[str, Proposal], snapshot: Snapshot) -> None:
    """No rule reports any of these records, added at once, but for too little memory.

    Some of the combinations are too large for their GPUs.
    """
    rows = [record.row for record in made.values()]
    after = with_rows(snapshot, {"tuning": rows})
    for path, record in made.items():
        data = record.sources.script.text.encode()
        after = with_script(after, ScriptFile(path, data, executable=True))
    of_memory = ["run-memory", "unlikely-memory"]
    assert findings_in(after, chosen_rules(ignore=of_memory)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("tag", ["MIN", "RECOMMENDED"])
def test_every_combination_that_is_offered_is_clean_but_for_its_memory(
    tag, dataset, snapshot
):
    """Each word of each option at least once, in combinations that change from one to the next."""
    words = {name: known_words(dataset, name) for name in PARTS}
    tagged = []
    for options in CASES["products"]:
        chosen = words | options
        lists = [chosen[name] for name in PARTS]
        tagged += product(*lists, [tag])
    made = _made(_thinned(tagged), dataset, snapshot)
    assert len(made) > len(words["model"])
    _assert_clean(made, snapshot)


def _thinned(combinations: Iterator[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Every task and backend that is offered, each pair of them once."""
    seen = set()
    for item in combinations:
        model, task, gpus, device, train, infer, _ = item
        if train not in OFFERED and train != "mindspeed":
            continue
        pairs = {(task, train), (train, infer, device), (model, gpus, train)}
        if not pairs <= seen:
            seen |= pairs
            yield item


def test_a_sample_of_what_is_offered_is_clean(dataset, snapshot):
    made = _made(CASES["sample"]["offered"], dataset, snapshot)
    assert len(made) == len(CASES["sample"]["offered"])
    _assert_clean(made, snapshot)


def test_every_task_and_backend_is_offered_or_refused_with_what_is(dataset, snapshot):
    verl = shipped("verl")
    refused = {}
    assert set(engines(verl)) == {"vllm", "sglang", "trtllm"}
    for option in ("task", "train", "infer"):
        for word in known_words(dataset, option):
            try:
                new_record({**ASKED, option: word}, dataset, snapshot)
            except UnusableInput as error:
                refused[word] = str(error)
    backends = ", ".join(sorted(strategies(verl)))
    assert refused["deepspeed"].endswith(f"it offers {backends}")
    assert refused["lmdeploy"].endswith("it offers sglang, trtllm, vllm")
    assert "for accelerators of Huawei, not for NVIDIA H100" in refused["vllm-ascend"]
    tasks = [task for task in known_words(dataset, "task") if task not in refused]
    assert {task.removesuffix("-LoRA") for task in tasks} == set(ALGORITHMS)


@pytest.mark.parametrize("train", TRAINS)
@each(CASES["tags"], "tag on header saves shards")
def test_the_tag_turns_every_memory_switch_of_the_backend(
    train, tag, on, header, saves, shards, dataset, snapshot
):
    asked = {**ASKED, "task": "PPO", "train": train, "tag": tag}
    record = new_record(asked, dataset, snapshot)
    text = record.sources.script.text
    assert record.row["tag"] == tag
    assert text.splitlines()[2] == header
    names = r"(?!\w*activation_offload)\w*offload|enable_gradient_checkpointing"
    assert set(re.findall(rf"\b(?:{names})=(\w+)", text)) == {str(on)}
    of_actor_and_critic = re.findall(r"\boptimizer_offload=", text)
    assert len(of_actor_and_critic) == 2
    found = set(record.row["memory_optimizations"].split("; "))
    # RECOMMENDED takes fused logits where nothing else fits.
    assert found - {"fused-logits"} == {*saves, *shards.get(train, ())}


def test_new_writes_a_script_that_can_be_started_and_its_row(root, new, command):
    before = files(root)
    out, err = new()
    assert out.splitlines() == [PATH, "records/tuning.csv"]
    assert f"bash {PATH}" in err
    assert "--contributor HANDLE --write" in err
    assert (root / PATH).stat().st_mode & 0o111
    assert sorted(changed_files(before, files(root))) == out.splitlines()
    text = (root / PATH).read_text()
    assert "\n# Data:     verl's examples/data_preprocess/gsm8k.py" in text
    assert "\n# Hardware: 8 x NVIDIA H100" in text
    assert "nobody has run it yet" in text
    assert max(map(len, text.splitlines())) <= 110
    command("check", "--strict", "--root", root)
    subprocess.run(["bash", "-n", root / PATH], check=True)


def test_a_question_mark_lists_the_words(root, command):
    out = command("new", "?", "--root", root)
    assert " Qwen/Qwen2.5-7B-Instruct, " in " ".join(out.split())
    assert "--tag: MIN, RECOMMENDED\n" in out
    assert "\n--gpus: a number\n" in out


@pytest.mark.parametrize("gpus, rule", [("4", "run-memory"), ("16", "unlikely-memory")])
def test_a_configuration_without_room_is_refused(gpus, rule, root, new):
    before = files(root)
    out, err = new(1, model=LARGE, device="t4", gpus=gpus)
    assert f": {rule}: " in err
    assert err.endswith("new: Nothing was written: change what you ask for.\n")
    assert out == ""
    assert files(root) == before


def test_a_configuration_of_another_tag_lies_beside_the_one_of_its_name(
    root, new, command
):
    new(tag="MIN", gpus="8卡")
    out, err = new(tag="RECOMMENDED")
    beside = f"examples/tuning/7b/recommended/{NAME}"
    assert out.splitlines() == [beside, "records/tuning.csv"]
    assert f"bash {beside}" in err
    run = f"recommended_{NAME}".removesuffix(".sh")
    assert f"EXPERIMENT_NAME:-{run}" in (root / beside).read_text()
    tags = {row["script"]: row["tag"] for row in read_rows(root / "records/tuning.csv")}
    assert tags[NAME] == "MIN"
    assert tags[f"recommended/{NAME}"] == "RECOMMENDED"
    command("check", "--strict", "--root", root)
    said = new(2, tag="RECOMMENDED").err
    assert f"has a row for recommended/{NAME} already" in said


def test_two_new_records_that_are_neighbors_merge_by_pull_and_fmt(
    root, tmp_path_factory, unchecked, new, command
):
    shutil.copy(ROOT / ".gitattributes", root)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    devices = {"first": "h100", "neighbor": "h800"}
    for branch, device in devices.items():
        git(root, "switch", "--quiet", "--create", branch, "main")
        new(device=device)
        commit(root)
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "--quiet", "--branch", "neighbor", str(root), ".")
    git(clone, *IDENTITY, "pull", "--quiet", "--no-rebase", "origin", "first")
    command("fmt", "--root", clone)
    scripts = {row["script"] for row in read_rows(clone / "records/tuning.csv")}
    assert scripts >= {NAME, NAME.replace("h100", "h800")}
    command("check", "--strict", "--root", clone)


def test_batches_are_multiples_of_the_gpus():
    for gpus in (*range(1, 130), 1000, 6000, 100000):
        step, update = batch_of(gpus)
        assert step % gpus == 0
        assert update % gpus == 0
        assert step % update == 0
        assert update >= 64
