"""`new`: every record that it offers to make is one that all rules accept."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path

import pytest

from botched_tree import plant_frozen
from conftest import release_of_verl
from rl_resources.check import check
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.cli import main
from rl_resources.contribute import new as new_module
from rl_resources.contribute.changes import add_rows, preview
from rl_resources.contribute.new import OPTIONS, NewRecord, known_words, new_record
from rl_resources.contribute.offered import ALGORITHMS, engines, strategies
from rl_resources.contribute.start_values import (
    Cluster,
    Shape,
    batch_of,
    engine_size,
    megatron_sizes,
)
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding, Severity
from rl_resources.memory import parameters_in_name
from rl_resources.package import Package, read_package
from rl_resources.script.bash import read
from rl_resources.script.framework import compose_launch, shipped
from rl_resources.script.launch import launches

ROOT = Path(__file__).parents[1]
ASKED = {
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "task": "GRPO",
    "gpus": "8",
    "device": "h100",
    "train": "fsdp",
    "infer": "vllm",
    "tag": "MIN",
}
NAME = "qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh"
PATH = f"examples/tuning/7b/{NAME}"
SMALL, LARGE = "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-72B-Instruct"
EXPERTS, BARE = "Qwen/Qwen3-30B-A3B", "nvidia/NVIDIA-Nemotron-Nano-9B-v2"
GPUS = ("1", "2", "3", "6", "8", "12", "13", "24", "100", "512", "1000", "6000")
SOURCE = f"https://github.com/some/where/blob/{'0' * 40}/config.json#L1"
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return read_package(plant_frozen(tmp_path_factory.mktemp("frozen")))


@pytest.fixture(scope="module")
def dataset(package: Package) -> Dataset:
    return read_dataset(package)


@pytest.fixture(scope="module")
def snapshot(package: Package) -> Snapshot:
    return take_snapshot(package)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the dataset as it was once: what is asked for here may be shipped some day."""
    return plant_frozen(tmp_path)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Path(os.devnull).open())  # noqa: SIM115


def _arguments(root: Path, *more: str, **changed: str | None) -> list[str]:
    asked = {**ASKED, **changed}
    pairs = [(f"--{name}", text) for name, text in asked.items() if text is not None]
    return ["new", "--root", str(root), *chain.from_iterable(pairs), *more]


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _made(
    combinations: Iterable[Sequence[str]], dataset: Dataset, snapshot: Snapshot
) -> dict[str, NewRecord]:
    """The records of the combinations that are offered, by their path."""
    found = {}
    for combination in combinations:
        try:
            asked = dict(zip(OPTIONS, combination, strict=True))
            record = new_record(asked, {}, dataset, snapshot)
        except UnusableInput:
            continue
        found.setdefault(record.path, record)
    return found


def _text(record: NewRecord) -> str:
    return (record.changes[0].becomes or b"").decode()


def _assert_clean_if_there_is_room(
    made: Mapping[str, NewRecord], dataset: Dataset, snapshot: Snapshot
) -> None:
    """What all rules report of a dataset with these records added at once."""
    rows = add_rows(snapshot, {"tuning": [record.row for record in made.values()]})
    scripts = [record.changes[0] for record in made.values()]
    found = [f"{item.rule}: {item.message}" for item in check(preview(snapshot, [*scripts, *rows]))]
    small = [Path(path).name for path, record in made.items() if _lacks_room(record, dataset)]
    reported = [item.split(" is `")[0] for item in found]
    assert sorted(reported) == sorted(f"run-memory: gpus of {name}" for name in small)


def _lacks_room(record: NewRecord, dataset: Dataset) -> bool:
    """Whether 16 bytes of each parameter that trains, or 2 of one that does not, have no room."""
    row = record.row
    known_of = dataset.by_key["models"][row["model"]]["parameters_b"]
    parameters = float(str(known_of or parameters_in_name(row["model"])))
    memory = dataset.by_key["devices"][row["device"]]["memory_gb"]
    each = 2 if row["tag"] == "MIN" or row["weights"] == "lora" else 16
    return parameters * each > int(row["gpus"]) * float(str(memory or "inf"))


@pytest.mark.nightly
@pytest.mark.parametrize("tag", ["MIN", "RECOMMENDED"])
def test_every_combination_that_is_offered_is_clean_where_it_has_room(
    tag: str, dataset: Dataset, snapshot: Snapshot
) -> None:
    """Each word of each option at least once, with neighbours that change from one to the next."""
    tasks, trains, infers = (known_words(dataset, name) for name in ("task", "train", "infer"))
    devices, models = known_words(dataset, "device"), known_words(dataset, "model")
    backends = product((SMALL, EXPERTS), tasks, ("8",), ("h100", "ascend-910b3"), trains, infers)
    sizes = product((LARGE, BARE), ("GRPO",), GPUS, ("h20",), ("fsdp2", "megatron"), ("sglang",))
    each_device = product((SMALL,), ("PPO",), ("16",), devices, ("fsdp",), ("vllm",))
    each_model = product(models, ("DAPO",), ("32",), ("h200",), ("megatron",), ("vllm",))
    every = [*_thinned(backends), *sizes, *each_device, *each_model]
    made = _made(((*item, tag) for item in every), dataset, snapshot)
    assert len(made) > len(models) + len(devices) + len(GPUS)
    _assert_clean_if_there_is_room(made, dataset, snapshot)


def test_a_sample_of_what_is_offered_is_clean(dataset: Dataset, snapshot: Snapshot) -> None:
    made = _made(
        [
            *((SMALL, "PPO-LoRA", "8", "h100", train, "vllm", "MIN") for train in _TRAINS),
            *((EXPERTS, "DAPO", "16", "h200", train, "sglang", "RECOMMENDED") for train in _TRAINS),
            (SMALL, "GRPO", "8", "ascend-910b3", "mindspeed", "vllm-ascend", "MIN"),
            (LARGE, "RLOO", "4", "t4", "fsdp2", "trtllm", "MIN"),
        ],
        dataset,
        snapshot,
    )
    assert len(made) == 10  # two backends train no adapters
    _assert_clean_if_there_is_room(made, dataset, snapshot)


_TRAINS = ("fsdp", "fsdp2", "megatron", "torchtitan", "veomni")


def _thinned(combinations: Iterator[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Every task and backend that is offered, each pair of them once."""
    seen = set()
    for item in combinations:
        _, task, _, device, train, infer = item
        pair = (task, train), (train, infer, device)
        offered = train in (*strategies(shipped("verl")), "mindspeed")
        if offered and any(part not in seen for part in pair):
            seen.update(pair)
            yield item


def test_every_task_and_backend_is_offered_or_refused_with_what_is(
    dataset: Dataset, snapshot: Snapshot
) -> None:
    refused = {}
    for option in ("task", "train", "infer"):
        for word in known_words(dataset, option):
            asked = {**ASKED, option: word}
            try:
                new_record(asked, {}, dataset, snapshot)
            except UnusableInput as error:
                refused[word] = str(error)
    assert "deepspeed" in refused and "lmdeploy" in refused and "Online-DPO" in refused
    assert refused["deepspeed"].endswith("it offers fsdp, fsdp2, megatron, torchtitan, veomni")
    assert refused["lmdeploy"].endswith("it offers sglang, trtllm, vllm")
    assert "for accelerators of Huawei, not for NVIDIA H100" in refused["vllm-ascend"]
    offered = set(known_words(dataset, "task")) - set(refused)
    assert {word.removesuffix("-LoRA") for word in offered} == set(ALGORITHMS)


@pytest.mark.parametrize("train", ["fsdp", "fsdp2", "megatron", "torchtitan", "veomni"])
@pytest.mark.parametrize(("tag", "on"), [("MIN", True), ("RECOMMENDED", False)])
def test_the_tag_turns_every_memory_switch_of_the_backend(
    train: str, tag: str, on: bool, dataset: Dataset, snapshot: Snapshot
) -> None:
    asked = {**ASKED, "task": "PPO", "train": train, "tag": tag}
    record = new_record(asked, {}, dataset, snapshot)
    text = _text(record)
    (launch,) = launches(read(text))
    composed = compose_launch(shipped("verl"), launch)
    assert composed.accepted
    section = {"fsdp": "fsdp_config", "fsdp2": "fsdp_config"}.get(train, train)
    critic = {"fsdp": "fsdp", "fsdp2": "fsdp"}.get(train, train)
    for place in (f"actor_rollout_ref.actor.{section}", f"critic.{critic}"):
        assert composed.value(f"{place}.param_offload") is on
        assert composed.value(f"{place}.optimizer_offload") is on
        if train == "megatron":
            granularity = composed.value(
                f"{place}.override_transformer_config.recompute_granularity"
            )
            assert granularity == ("full" if on else None)
    if train != "megatron":
        for model in ("actor_rollout_ref.model", "critic.model"):
            assert composed.value(f"{model}.enable_gradient_checkpointing") is on
    switched = {"activation-checkpointing", "parameter-offload", "optimizer-offload"}
    switched |= {"megatron": {"gradient-offload"}, "torchtitan": set(), "veomni": set()}.get(
        train, {"activation-offload"}
    )
    always = {"sequence-packing", "dynamic-batch", "rollout-sleep"}
    found = record.row["memory_optimizations"].split("; ")
    assert sorted(found) == sorted(always | switched if on else always)


@pytest.mark.nightly
def test_scripts_compose_with_the_framework_s_own_configuration(
    dataset: Dataset, snapshot: Snapshot
) -> None:
    real = release_of_verl(shipped("verl").version)
    pairs = product(
        known_words(dataset, "task"), strategies(shipped("verl")), ("MIN", "RECOMMENDED")
    )
    combinations = (
        (EXPERTS, task, "16", "h100", train, "vllm", tag)
        for task, train, tag in pairs
        if task in {"PPO", "PPO-LoRA", "GRPO-LoRA"} or (train, tag) == ("fsdp2", "MIN")
    )
    made = _made(combinations, dataset, snapshot)
    assert len(made) > 20
    for record in made.values():
        (launch,) = launches(read(_text(record)))
        composed = compose_launch(real, launch)
        assert composed.accepted, (record.path, composed.rejected, composed.problem)
        assert composed.missing == ("reward.reward_model.rollout.name",)


def test_new_writes_a_script_that_can_be_started_and_its_row(root: Path, capsys: Output) -> None:
    before = _files(root)
    assert main(_arguments(root)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [PATH, "records/tuning.csv"]
    assert f"bash {PATH}" in err and "--contributor HANDLE --write" in err
    assert (root / PATH).stat().st_mode & 0o111
    after = _files(root)
    assert {name for name in after if after[name] != before.get(name)} == set(out.splitlines())
    text = (root / PATH).read_text()
    assert "\n# Hardware: 8 x NVIDIA H100" in text and "nobody has run it yet" in text
    assert max(map(len, text.splitlines())) <= 100
    assert main(["check", "--strict", "--root", str(root)]) == 0
    subprocess.run(["bash", "-n", root / PATH], check=True)
    for kind in ("markdown", "rst"):
        capsys.readouterr()
        assert main(["export", kind, "--size", "7B", "--root", str(root)]) == 0
        assert "untested" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, {"status": "untested", "max_batch": "", "statement": "", "contributor": ""}),
        ({}, {"weights": "full", "lora_rank": "", "precision": "bf16", "micro_batch_per_gpu": ""}),
        ({"task": "GRPO-LoRA"}, {"weights": "lora", "lora_rank": "32"}),
        ({"tag": "MIN"}, {"max_tokens_per_gpu": "2048", "gpu_memory_utilization": "0.6"}),
        ({"tag": "RECOMMENDED"}, {"max_tokens_per_gpu": "8192", "gpu_memory_utilization": "0.4"}),
    ],
)
def test_the_row_says_what_the_script_sets_and_that_nobody_has_run_it(
    changed: dict[str, str], wanted: dict[str, str], dataset: Dataset, snapshot: Snapshot
) -> None:
    row = new_record({**ASKED, **changed}, {}, dataset, snapshot).row
    assert {name: row.get(name, "") for name in wanted} == wanted


@pytest.mark.parametrize(
    ("changed", "more", "status", "messages"),
    [
        (
            {"model": LARGE, "device": "t4", "gpus": "4"},
            (),
            1,
            [
                "run-memory: gpus of qwen2.5-72b-instruct_grpo_4_t4_fsdp_vllm.sh is `4`: 64 GB",
                "72.7 billion parameters need 145 GB at the least",
            ],
        ),
        (
            {"tag": None, "infer": None, "device": "h1000", "gpus": "0", "task": "GRP0"},
            (),
            2,
            [
                "missing: --infer, --tag",
                "`h1000` is not known. Did you mean `h100`",
                "--add-device name=… vendor=… source=… adds it to records/devices.csv",
                "gpus `0` is not a whole number from 1 to 100000",
                "Did you mean `GRPO`",
            ],
        ),
        (
            {"model": "Some/Thing-9B"},
            ("--add-model", "parameters=9"),
            2,
            ["`parameters` is no column of records/models.csv"],
        ),
        (
            {"model": "Some/Thing-9B"},
            ("--add-model", "nonsense"),
            2,
            ["`nonsense` is not COLUMN=VALUE"],
        ),
        (
            {"model": "Some/Thing-9B"},
            ("--add-model", "parameters_b=nine"),
            2,
            ["parameters_b `nine` is not a number"],
        ),
        (
            {"model": "Some/Thing-9B"},
            ("--add-model", "parameters_b=9"),
            1,
            ["source of Some/Thing"],
        ),
        ({"gpus": "16", "nodes": "3"}, (), 2, ["16 GPUs cannot be divided over 3 nodes"]),
    ],
)
def test_what_cannot_be_is_refused_with_everything_that_is_wrong(
    changed: dict[str, str | None],
    more: tuple[str, ...],
    status: int,
    messages: list[str],
    root: Path,
    capsys: Output,
) -> None:
    before = _files(root)
    assert main(_arguments(root, *more, **changed)) == status
    err = capsys.readouterr().err
    for message in messages:
        assert message in err
    assert _files(root) == before


def test_nothing_is_overwritten(root: Path, capsys: Output) -> None:
    (root / PATH).write_text("mine")
    before = _files(root)
    assert main(_arguments(root)) == 2
    assert "exists already, and nothing is overwritten" in capsys.readouterr().err
    assert _files(root) == before
    (root / PATH).unlink()
    assert main(_arguments(root)) == 0
    before = _files(root)
    assert main(_arguments(root, tag="RECOMMENDED")) == 2
    assert f"there is a row for {NAME} already" in capsys.readouterr().err
    assert _files(root) == before


def test_a_dry_run_shows_the_changes_and_makes_none(root: Path, capsys: Output) -> None:
    before = _files(root)
    assert main(_arguments(root, "--dry-run", gpus="16", nodes="1")) == 0
    out = capsys.readouterr().out
    assert "+qwen2.5-7b-instruct_grpo_16_h100_fsdp_vllm.sh,MIN," in out
    assert "GPUS_PER_NODE:-16}" in out
    assert _files(root) == before


def test_json_names_row_and_files(root: Path, capsys: Output) -> None:
    assert main(_arguments(root, "--format", "json", contributor="some-body")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written"] is True
    assert found["files"] == [found["script"], "records/tuning.csv"]
    assert found["row"]["contributor"] == "some-body"


def test_an_unknown_model_is_added_with_the_columns_it_needs(root: Path) -> None:
    cells = ("--add-model", "parameters_b=9", f"source={SOURCE}")
    assert main(_arguments(root, *cells, model="Some/Thing-9B")) == 0
    assert (root / "examples/tuning/7b/thing-9b_grpo_8_h100_fsdp_vllm.sh").is_file()
    assert main(["check", "--strict", "--root", str(root)]) == 0


class Terminal:
    """A process at a pseudo terminal: what it prints, and answers to it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        code = "import sys; from rl_resources.cli import main; sys.exit(main(sys.argv[1:]))"
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(sys.executable, [sys.executable, "-c", code, *arguments])  # noqa: S606
        self.text = ""

    def answer(self, prompt: str, text: str) -> None:
        """Wait for a prompt, then type an answer."""
        at = len(self.text)
        while prompt not in self.text[at:]:
            self.text += os.read(self.fd, 4096).decode()
        os.write(self.fd, f"{text}\n".encode())

    def end(self) -> int:
        """Read to the end; the exit status."""
        try:
            while data := os.read(self.fd, 4096):
                self.text += data.decode()
        except OSError:  # how the end of a pseudo terminal shows
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_at_a_terminal_what_is_missing_is_asked_for(root: Path) -> None:
    terminal = Terminal(["new", "--root", str(root), "--train", "fsdp", "--infer", "vlm"])
    terminal.answer("Model", "qwen2.5-7b-instruct")
    terminal.answer("Task", "?")
    terminal.answer("DAPO-LoRA", "grpo")
    terminal.answer("GPUs", "many")
    terminal.answer("is not a whole number", "8")
    terminal.answer("Device", "h101")
    terminal.answer("[h100]", "")
    terminal.answer("[vllm]", "")
    terminal.answer("Tag (MIN, RECOMMENDED)", "min")
    terminal.answer("Contributor", "not a handle")
    terminal.answer("is not one such as", "some-body")
    assert terminal.end() == 0, terminal.text
    row = next(
        line
        for line in (root / "records/tuning.csv").read_text().splitlines()
        if line.startswith("qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh,MIN")
    )
    assert ",some-body," in row
    assert main(["check", "--strict", "--root", str(root)]) == 0


def test_a_dialogue_that_is_left_writes_nothing(root: Path) -> None:
    before = _files(root)
    terminal = Terminal(["new", "--root", str(root)])
    terminal.answer("Model", "qwen2.5-7b-instruct")
    terminal.answer("Task", "\x04")
    assert terminal.end() == 2
    assert "Nothing was written" in terminal.text and "Traceback" not in terminal.text
    assert _files(root) == before


def _git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    subprocess.run(["git", "-C", root, *who, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Qwen/Qwen2.5-14B", "Qwen/Qwen3-8B"),  # neighbours in canonical order
        ("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1"),  # both after the last row
    ],
)
def test_two_branches_that_add_a_record_of_different_models_merge_without_conflict(
    one: str, other: str, root: Path
) -> None:
    shutil.copy(ROOT / ".gitattributes", root)
    _git(root, "init", "-b", "main")
    _git(root, "add", "-A")
    _git(root, "commit", "-m", "base")
    for branch, model in (("one", one), ("other", other)):
        _git(root, "checkout", "-b", branch, "main")
        assert main(_arguments(root, model=model, gpus="64")) == 0
        _git(root, "add", "-A")
        _git(root, "commit", "-m", branch)
    _git(root, "merge", "one")
    assert main(["check", "--root", str(root)]) == 0
    assert main(["check", "--strict", "--root", str(root)]) == 0
    text = (root / "records/tuning.csv").read_text()
    assert text.count(",untested,") == 2


def test_engines_are_the_smallest_that_hold_the_weights_twice() -> None:
    model = Shape(72.7, 80, 64, 8, None)
    assert engine_size(model, Cluster(8, 1, 80), 0.6) == 8
    assert engine_size(model, Cluster(8, 1, 288), 0.6) == 2
    assert engine_size(model, Cluster(6, 1, 80), 0.6) == 2  # 64 heads are not divided by 3 or 6
    assert engine_size(model, Cluster(32, 4, None), 0.6) == 8


def test_megatron_splits_a_model_over_stages_when_a_node_does_not_hold_it() -> None:
    split = megatron_sizes(Shape(405, 128, 128, 8, None), Cluster(64, 8, 80), offload=True)
    assert (split.tensor, split.pipeline) == (8, 8)
    uneven = megatron_sizes(Shape(405, 126, 128, 8, None), Cluster(64, 8, 80), offload=True)
    assert (uneven.tensor, uneven.pipeline) == (8, 2)  # 126 layers are not divided by 4 or 8


@pytest.mark.parametrize("gpus", [*range(1, 130), 1000, 6000, 100000])
def test_batches_are_multiples_of_the_gpus(gpus: int) -> None:
    batch = batch_of(gpus)
    assert batch.step % gpus == batch.update % gpus == batch.step % batch.update == 0
    assert batch.update >= 64


def test_what_is_offered_is_read_off_the_shipped_configuration() -> None:
    verl = shipped("verl")
    assert set(strategies(verl)) == {"fsdp", "fsdp2", "megatron", "torchtitan", "veomni"}
    assert set(engines(verl)) == {"vllm", "sglang", "trtllm"}


@pytest.mark.parametrize(("severity", "status"), [("warning", 0), ("error", 1)])
def test_a_warning_about_what_was_written_is_shown_and_an_error_prevents_writing(
    severity: Severity, status: int, root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = Finding("some-rule", severity, "x.sh", 1, 1, "is not so good", "Fix it.")
    monkeypatch.setattr(new_module, "findings_about", lambda *_: [finding])
    before = _files(root)
    assert main(_arguments(root, gpus="13")) == status
    out, err = capsys.readouterr()
    assert f"x.sh:1:1: {severity}: some-rule: is not so good" in err
    assert (_files(root) == before) == (out == "") == (status == 1)
    assert ("Fix this before you commit" in err) == (status == 0)
    assert ("It has 13 nodes of 1 GPU; --nodes changes that" in err) == (status == 0)
