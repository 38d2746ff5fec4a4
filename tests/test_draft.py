"""`draft`: a script that ran becomes a row, and nothing is ever overwritten."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rl_resources.check import check_root
from rl_resources.cli import main
from rl_resources.contribute.facts import read_form
from rl_resources.package import read_package
from sample_tree import plant

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "tuning").rglob("*.sh"))
SCHEMA = read_package(ROOT).resources["tuning"].schema
STATED = {"script", "model", "task", "gpus", "device", "nodes", "train", "infer", "framework"}
STATED |= {"max_prompt_length", "max_response_length", "rollout_n"}

HEADER = "#!/usr/bin/env bash\n# Hardware: 2 x A100 80 GB\nset -euo pipefail\n"
SETTINGS: Mapping[str, str] = {
    "algorithm.adv_estimator": "grpo",
    "data.train_batch_size": "128",
    "data.max_prompt_length": "512",
    "data.max_response_length": "2048",
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-7B-Instruct",
    "actor_rollout_ref.model.enable_gradient_checkpointing": "True",
    "actor_rollout_ref.actor.ppo_mini_batch_size": "64",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": "4",
    "actor_rollout_ref.actor.fsdp_config.param_offload": "True",
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": "True",
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.n": "8",
    "actor_rollout_ref.rollout.tensor_model_parallel_size": "2",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": "4",
    "trainer.nnodes": "1",
    "trainer.n_gpus_per_node": "2",
}
NAME = "qwen2.5-7b-instruct_grpo_2_a100-80g_fsdp_vllm.sh"
PLACE = f"examples/tuning/7b/{NAME}"
HANDLE = "some-body"

Draft = Callable[..., dict[str, Any]]


def script(header: str = HEADER, **changed: str) -> str:
    chosen = {**SETTINGS, **{name.replace("__", "."): value for name, value in changed.items()}}
    overrides = "".join(f" \\\n    {key}={value}" for key, value in chosen.items() if value)
    return f'{header}python3 -m verl.trainer.main_ppo{overrides} \\\n    "$@"\n'


def step(number: int, seconds: float = 90.0) -> str:
    return (
        f"(TaskRunner pid=1) step:{number} - perf/max_memory_allocated_gb:61.500 - "
        f"timing_s/step:{seconds} - perf/throughput:1450.000\n"
    )


RAN = "".join(step(number) for number in range(1, 6))
FAILED = step(1) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The shipped dataset, to be written to."""
    root = tmp_path / "dataset"
    for name in ("records", "schema", "examples"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "datapackage.json", root)
    return root


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "run_it.sh"
    path.write_text(script())
    return path


@pytest.fixture
def draft(root: Path, capsys: pytest.CaptureFixture[str]) -> Draft:
    """The draft as its JSON says it, with exit status and messages."""

    def run(*arguments: object) -> dict[str, Any]:
        capsys.readouterr()
        status = main(["draft", *map(str, arguments), "--root", str(root), "--format", "json"])
        output = capsys.readouterr()
        found = json.loads(output.out) if output.out else {}
        return {**found, "exit": status, "said": output.err}

    return run


def log(tmp_path: Path, text: str, name: str = "run.log") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def table(root: Path, name: str) -> list[dict[str, str]]:
    with (root / "records" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.nightly
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_shipped_script_states_its_row_also_under_another_name(
    path: Path, tmp_path: Path
) -> None:
    """In a dataset without the record; its header names the hardware that its name names."""
    root = plant(tmp_path / "dataset")
    for name in ("records", "examples"):
        shutil.rmtree(root / name)
        shutil.copytree(ROOT / name, root / name)
    records = root / "records" / "tuning.csv"
    records.write_text(records.read_text().split("\n")[0] + "\n")
    (root / "records" / "trials.csv").write_text("script,order,batch,outcome\n")
    wanted = next(row for row in table(ROOT, "tuning") if row["script"] == path.name)
    strange = tmp_path / "run.sh"
    shutil.copy(path, strange)
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", output)
        assert main(["draft", str(strange), "--root", str(root)]) == 0
    (found,) = csv.DictReader(io.StringIO(output.getvalue()))
    assert {name: found[name] for name in STATED} == {name: wanted[name] for name in STATED}
    assert (found["status"], found["statement"]) == ("reported", "stated-run")
    others = {name for name in wanted if found[name]} - {"status", "statement"}
    assert {name: found[name] for name in others} == {name: wanted[name] for name in others}


def test_everything_that_a_script_states_becomes_the_row(draft: Draft, mine: Path) -> None:
    found = draft(mine)
    assert found["exit"] == 0
    assert found["path"] == PLACE
    row = found["row"]
    assert {name: value for name, value in row.items() if value is not None} == {
        "script": NAME,
        "tag": "MIN",
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "task": "GRPO",
        "weights": "full",
        "precision": "bf16",
        "memory_optimizations": [
            "activation-checkpointing",
            "parameter-offload",
            "optimizer-offload",
            "sequence-packing",
            "rollout-sleep",
        ],
        "gpus": 2,
        "device": "a100-80g",
        "nodes": 1,
        "micro_batch_per_gpu": 4,
        "train": "fsdp",
        "infer": "vllm",
        "framework": "verl",
        "max_prompt_length": 512,
        "max_response_length": 2048,
        "rollout_n": 8,
        "gpu_memory_utilization": 0.5,
        "status": "reported",
        "statement": "stated-run",
    }


OFF = {
    "actor_rollout_ref__actor__fsdp_config__param_offload": "False",
    "actor_rollout_ref__actor__fsdp_config__optimizer_offload": "False",
    "actor_rollout_ref__model__enable_gradient_checkpointing": "False",
}


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (
            {"actor_rollout_ref__model__lora_rank": "32"},
            {"weights": "lora", "lora_rank": 32},
        ),
        ({"actor_rollout_ref__model__lora_adapter_path": "/a"}, {"weights": None}),
        (
            {
                "actor_rollout_ref__actor__use_dynamic_bsz": "True",
                "actor_rollout_ref__actor__ppo_max_token_len_per_gpu": "16384",
            },
            {
                "micro_batch_per_gpu": None,
                "max_tokens_per_gpu": 16384,
                "memory_optimizations": [
                    "activation-checkpointing",
                    "parameter-offload",
                    "optimizer-offload",
                    "sequence-packing",
                    "dynamic-batch",
                    "rollout-sleep",
                ],
            },
        ),
        (
            {"actor_rollout_ref__actor__fsdp_config__dtype": "float16"},
            {"precision": "fp16"},
        ),
        (
            {"actor_rollout_ref__rollout__gpu_memory_utilization": "0.85"},
            {"gpu_memory_utilization": 0.85},
        ),
        (
            {
                "actor_rollout_ref__actor__fsdp_config__param_offload": "False",
                "actor_rollout_ref__actor__use_kl_loss": "True",
                "actor_rollout_ref__ref__fsdp_config__param_offload": "True",
                "actor_rollout_ref__rollout__free_cache_engine": "False",
            },
            {
                "memory_optimizations": [
                    "activation-checkpointing",
                    "optimizer-offload",
                    "reference-offload",
                    "sequence-packing",
                ]
            },
        ),
        (OFF, {"tag": "RECOMMENDED"}),
        ({"actor_rollout_ref__actor__fsdp_config__param_offload": "False"}, {"tag": None}),
        ({"algorithm__adv_estimator": "gae"}, {"task": "PPO"}),
        ({"algorithm__adv_estimator": "rloo"}, {"task": "RLOO"}),
        ({"actor_rollout_ref__model__lora_rank": "32"}, {"task": "GRPO-LoRA"}),
        ({"actor_rollout_ref__actor__policy_loss__loss_mode": "gspo"}, {"task": "GSPO"}),
        ({"algorithm__filter_groups__enable": "True"}, {"task": "DAPO"}),
        ({"actor_rollout_ref__actor__clip_ratio_high": "0.28"}, {"task": None}),
        ({"algorithm__adv_estimator": "my_own"}, {"task": None}),
        (
            {"actor_rollout_ref__model__path": "${MODEL_ROOT}/Qwen2.5-7B-Instruct"},
            {"model": "Qwen/Qwen2.5-7B-Instruct"},
        ),
        (
            {"header": "#!/usr/bin/env bash\n# Ascend 910B3\n", "trainer__device": "npu"},
            {"device": "ascend-910b3", "infer": "vllm-ascend", "train": "fsdp"},
        ),
    ],
)
def test_cells_follow_from_the_settings(
    draft: Draft, mine: Path, changed: dict[str, str], wanted: dict[str, object]
) -> None:
    mine.write_text(script(**changed))
    row = draft(mine)["row"]
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("comment", "column", "value"),
    [
        ("# 8xH800 80G", "device", "h800"),
        ("# tested on one A100-SXM4-40GB node", "device", "a100-40g"),
        ("# two A100s", "device", None),
        ("# Device: H20", "device", "h20"),
        ("# H20 with 141 GB", "device", "h20-141g"),
        ("# H100 or H200", "device", None),
        ("# nothing", "device", None),
        ("# ran with vllm==0.8.3", "infer_version", "0.8.3"),
        ("# vLLM 0.8.5.post1, torch 2.6", "infer_version", "0.8.5.post1"),
        ("# needs vllm 0.8.3", "infer_version", None),
        ("# written for vllm 0.8.3", "infer_version", None),
        ("# vllm>=0.8.3", "infer_version", None),
        ("# vllm 0.8.3 or newer", "infer_version", None),
        ("# vllm 0.8.2 and vllm 0.8.3", "infer_version", None),
        ("# vllm 0.8.x", "infer_version", None),
    ],
)
def test_a_comment_is_used_if_it_leaves_no_doubt(
    draft: Draft, mine: Path, comment: str, column: str, value: str | None
) -> None:
    mine.write_text(script(f"#!/usr/bin/env bash\n{comment}\n"))
    found = draft(mine)
    assert found["row"][column] == value
    assert (column in found["unknown"]) == (value is None)


@pytest.mark.parametrize(
    ("comment", "limit", "batches"),
    [
        ("100 ok, 128 ok, 256 oom", 128, [(100, "ran"), (128, "ran"), (256, "out-of-memory")]),
        ("100 ok, 256 oom", None, []),  # may be per GPU
    ],
)
def test_a_search_in_comments_gives_limit_and_trials(
    draft: Draft, mine: Path, comment: str, limit: int | None, batches: list[tuple[int, str]]
) -> None:
    mine.write_text(script(f"{HEADER}# batch: {comment}\n"))
    found = draft(mine)
    assert found["row"]["max_batch"] == limit
    assert [(row["batch"], row["outcome"]) for row in found["trials"]] == batches


def test_the_row_is_csv_on_standard_output_and_the_rest_is_not(
    root: Path, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(root)
    assert main(["draft", str(mine), "--root", str(root)]) == 0
    output = capsys.readouterr()
    (row,) = csv.DictReader(io.StringIO(output.out))
    assert row["script"] == NAME
    assert tuple(row) == SCHEMA.names
    assert files(root) == before


def test_every_blank_column_is_told_with_how_to_find_out(draft: Draft, mine: Path) -> None:
    found = draft(mine)
    blank = {name for name, value in found["row"].items() if value is None} - {"notes"}
    assert set(found["unknown"]) == blank
    for name in blank:
        lines = [line for line in found["said"].splitlines() if f"draft: {name} is not" in line]
        assert len(lines) == 1
        assert f"--set {name}=" in lines[0]
    assert "own batch is 128" in found["unknown"]["max_batch"]


def test_what_is_stated_by_hand_counts_before_all_else(draft: Draft, mine: Path) -> None:
    found = draft(
        mine, "--device", "h100", "--contributor", f"@{HANDLE}", "--set", "host_memory_gb=512.0"
    )
    assert (found["row"]["device"], found["row"]["contributor"]) == ("h100", HANDLE)
    assert found["row"]["host_memory_gb"] == 512


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("devise=h100", "Did you mean `device`"),
        ("gpus=eight", "is not a whole number from"),
        ("tag=SMALL", "is not one of its words"),
        ("device", "COLUMN=VALUE"),
        ("script=x.sh", "is no column"),
    ],
)
def test_a_cell_that_cannot_be_is_wrong_usage(
    draft: Draft, mine: Path, pair: str, problem: str
) -> None:
    found = draft(mine, "--set", pair)
    assert found["exit"] == 2
    assert problem in found["said"]


def test_a_log_fills_the_figures_and_says_how_many_steps_it_saw(
    draft: Draft, mine: Path, tmp_path: Path
) -> None:
    text = (
        "Initializing a V1 LLM engine (v0.8.3) with config: x\n"
        + step(1, 400)
        + "".join(step(number) for number in range(2, 7))
    )
    found = draft(mine, "--log", log(tmp_path, text))
    row = found["row"]
    assert (row["peak_memory_gb"], row["step_seconds"]) == (61.5, 90)
    assert (row["tokens_per_second_per_gpu"], row["infer_version"]) == (1450, "0.8.3")
    assert (row["status"], row["statement"]) == ("reported", "measured-run")
    assert "6 training steps in the log; excluded are 1 as warm-up" in found["said"]
    assert [(item["batch"], item["outcome"]) for item in found["trials"]] == [(128, "ran")]


def test_figures_of_another_batch_are_not_taken(draft: Draft, mine: Path, tmp_path: Path) -> None:
    text = "  'train_batch_size': 64,\n" + RAN
    found = draft(mine, "--log", log(tmp_path, text))
    assert found["row"]["step_seconds"] is None
    assert found["trials"][0]["batch"] == 64
    assert "used a batch of 64, but the script asks for 128" in found["said"]


def test_a_run_out_of_memory_becomes_a_trial_and_no_figure(
    draft: Draft, mine: Path, tmp_path: Path, root: Path
) -> None:
    before = files(root)
    found = draft(mine, "--log", log(tmp_path, FAILED), "--write")
    assert [(item["batch"], item["outcome"]) for item in found["trials"]] == [
        (128, "out-of-memory")
    ]
    row = found["row"]
    assert (row["peak_memory_gb"], row["statement"]) == (None, "stated-run")
    assert found["exit"] == 1
    assert "a record is a run that fitted" in found["said"]
    assert files(root) == before


def test_a_run_out_of_memory_joins_the_record_of_a_run_that_fitted(
    draft: Draft, mine: Path, tmp_path: Path, root: Path
) -> None:
    assert draft(mine, "--contributor", HANDLE, "--log", log(tmp_path, RAN), "--write")["exit"] == 0
    larger = "  'train_batch_size': 256,\n" + FAILED
    found = draft(root / PLACE, "--log", log(tmp_path, larger), "--write")
    assert found["exit"] == 0
    assert [
        (item["order"], item["batch"], item["outcome"])
        for item in table(root, "trials")
        if item["script"] == NAME
    ] == [("1", "128", "ran"), ("2", "256", "out-of-memory")]
    (row,) = (row for row in table(root, "tuning") if row["script"] == NAME)
    assert (row["max_batch"], row["step_seconds"]) == ("128", "90")
    assert [item for item in check_root(root) if item.severity == "error"] == []


def test_want_of_host_memory_is_no_trial(draft: Draft, mine: Path, tmp_path: Path) -> None:
    line = "(raylet) Task was killed due to the node running low on memory.\n"
    found = draft(mine, "--log", log(tmp_path, RAN + line))
    assert (found["trials"], found["row"]["step_seconds"]) == ([], None)
    assert "out of host memory" in found["said"]


def test_write_adds_the_row_and_copies_the_script(draft: Draft, mine: Path, root: Path) -> None:
    before = files(root)
    found = draft(mine, "--contributor", HANDLE, "--write")
    assert (found["exit"], found["written"]) == (0, True)
    after = files(root)
    assert after.pop(PLACE) == mine.read_bytes()
    assert (root / PLACE).stat().st_mode & 0o111
    assert {path for path in after if after[path] != before.get(path)} == {"records/tuning.csv"}
    lines = after["records/tuning.csv"].split(b"\n")
    assert set(before["records/tuning.csv"].split(b"\n")) < set(lines)
    assert [item for item in check_root(root) if item.severity == "error"] == []


def test_write_moves_an_ill_named_script_of_the_dataset(draft: Draft, root: Path) -> None:
    wrong = root / "examples" / "tuning" / "7B" / "my_run.sh"
    wrong.parent.mkdir()
    wrong.write_text(script())
    found = draft(wrong, "--contributor", HANDLE, "--write")
    assert found["exit"] == 0
    assert not wrong.exists()
    assert (root / PLACE).read_text() == script()


def test_a_second_write_changes_nothing(draft: Draft, mine: Path, root: Path) -> None:
    draft(mine, "--contributor", HANDLE, "--write")
    before = files(root)
    found = draft(mine, "--contributor", "somebody-else", "--write")
    assert files(root) == before
    assert f"contributor is `{HANDLE}` there" in found["said"]


def test_another_script_in_its_place_is_not_overwritten(
    draft: Draft, mine: Path, root: Path
) -> None:
    (root / PLACE).write_text("#!/usr/bin/env bash\necho another\n")
    before = files(root)
    found = draft(mine, "--contributor", HANDLE, "--write")
    assert found["exit"] in {1, 2}
    assert files(root) == before


@pytest.mark.parametrize(
    "arguments",
    [
        (),  # nobody is named as contributor or source
        ("--contributor", "your-handle"),
        ("--contributor", HANDLE, "--device", "h1000"),
        ("--contributor", HANDLE, "--set", "gpus=4"),
    ],
)
def test_what_a_rule_objects_to_is_told_and_not_written(
    draft: Draft, mine: Path, root: Path, arguments: tuple[str, ...]
) -> None:
    before = files(root)
    found = draft(mine, *arguments, "--write")
    assert (found["exit"], found["written"]) == (1, False)
    assert "error:" in found["said"]
    assert files(root) == before


def test_a_row_that_lacks_a_required_cell_is_not_written(
    draft: Draft, mine: Path, root: Path
) -> None:
    mine.write_text(script("#!/usr/bin/env bash\n"))
    before = files(root)
    found = draft(mine, "--write")
    assert found["exit"] == 1
    assert "the row lacks script, device" in found["said"]
    assert files(root) == before


def test_a_record_that_new_made_waits_for_the_log_of_its_first_run(
    draft: Draft, tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"model": "Qwen/Qwen2.5-3B-Instruct", "task": "GRPO", "gpus": "4", "device": "h100"}
    asked |= {"train": "fsdp", "infer": "vllm", "tag": "MIN", "contributor": HANDLE}
    options = [word for name, value in asked.items() for word in (f"--{name}", value)]
    assert main(["new", *options, "--root", str(root)]) == 0
    path = root / "examples" / "tuning" / "3b" / "qwen2.5-3b-instruct_grpo_4_h100_fsdp_vllm.sh"
    row = draft(path)["row"]
    assert (row["status"], row["statement"]) == ("untested", None)
    assert draft(path, "--log", log(tmp_path, RAN), "--write")["exit"] == 0
    (row,) = (row for row in table(root, "tuning") if row["script"] == path.name)
    assert (row["status"], row["statement"]) == ("reported", "measured-run")
    assert (row["step_seconds"], row["framework_version"]) == ("90", "")
    assert [item for item in check_root(root) if item.severity == "error"] == []


def test_a_log_of_another_release_fills_nothing(
    draft: Draft, mine: Path, tmp_path: Path, root: Path
) -> None:
    draft(mine, "--contributor", HANDLE, "--set", "infer_version=0.8.3", "--write")
    text = "Initializing a V1 LLM engine (v0.9.1) with config: x\n" + RAN
    found = draft(root / PLACE, "--log", log(tmp_path, text), "--write")
    (row,) = (row for row in table(root, "tuning") if row["script"] == NAME)
    assert (row["step_seconds"], row["infer_version"]) == ("", "0.8.3")
    assert "infer_version is `0.8.3` there; what was read now says `0.9.1`" in found["said"]


FORM = """### Tag

MIN

### Model

Qwen/Qwen2.5-7B-Instruct

### Task

GRPO

### GPUs

2

### Device

a100-80g

### Train

fsdp

### Infer

vllm

### Framework

verl

### Peak memory

_No response_

### Contributor

@some-body
"""


def test_an_issue_form_becomes_a_row(draft: Draft, tmp_path: Path) -> None:
    found = draft("--issue", log(tmp_path, FORM.replace("\n", "\r\n"), "issue.md"))
    row = found["row"]
    assert found["exit"] == 0
    assert (row["script"], row["contributor"], row["gpus"]) == (NAME, HANDLE, 2)
    assert row["peak_memory_gb"] is None
    assert "a record needs its script" in found["said"]


def test_a_script_in_an_issue_form_is_read_and_written(
    draft: Draft, tmp_path: Path, root: Path
) -> None:
    text = script(f"{HEADER}### Notes\n# ```\n")
    body = f"### Script\n\n```shell\n{text}```\n\n### Contributor\n\n{HANDLE}\n"
    found = draft("--issue", log(tmp_path, body, "issue.md"), "--write")
    assert found["exit"] == 0
    assert found["row"]["notes"] is None
    assert (root / PLACE).read_text() == text


def test_an_answer_that_cannot_stand_in_its_column_is_told(draft: Draft, tmp_path: Path) -> None:
    body = FORM.replace("\n2\n", "\ntwo\n").replace("### Device", "### Devise")
    found = draft("--issue", log(tmp_path, body, "issue.md"))
    assert found["row"]["gpus"] is None
    assert "`GPUs`: `two` is not a whole number from" in found["said"]
    assert "`Devise` is no column. Did you mean `device`?" in found["said"]


def test_every_column_can_be_answered_by_its_title() -> None:
    body = "".join(f"### {field.title}\n\n{field.example}\n\n" for field in SCHEMA.fields)
    facts = read_form(body, SCHEMA).facts
    wanted = {field.name: field.write(field.read(field.example)) for field in SCHEMA.fields}
    wanted.pop("script")
    assert {name: fact.text for name, fact in facts.items()} == wanted


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"### Device\n\nh100 \xb2\n", "issue.md: is no text in UTF-8 (byte 17)"),
        (FORM.encode("utf-16"), "issue.md: is no text in UTF-8 (byte 0)"),
        (b"please add my run", "issue.md: has no answer of an issue form"),
        (b"", "issue.md: has no answer of an issue form"),
    ],
)
def test_what_is_no_issue_form_is_refused(
    draft: Draft, tmp_path: Path, body: bytes, told: str
) -> None:
    (tmp_path / "issue.md").write_bytes(body)
    found = draft("--issue", tmp_path / "issue.md")
    assert (found["exit"], told in str(found["said"])) == (2, True)


def test_hostile_answers_reach_no_terminal(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = FORM.replace("MIN", "\x1b[2J\x07MIN\x00").replace("### Task", "### T\x1b]0;x\x07ask")
    issue, run = log(tmp_path, body, "issue.md"), log(tmp_path, FAILED + "\x1b[31m\x07", "a.log")
    main(["draft", "--issue", str(issue), "--log", str(run), "--root", str(root)])
    output = capsys.readouterr()
    assert not set(output.out + output.err) & set("\x1b\x07\x00")


def test_the_log_of_an_issue_form_gives_figures(draft: Draft, tmp_path: Path) -> None:
    body = f"### Script\n\n```bash\n{script()}```\n\n### Log\n\n```text\n{RAN}```\n"
    found = draft("--issue", log(tmp_path, body, "issue.md"))
    row = found["row"]
    assert (row["peak_memory_gb"], row["step_seconds"]) == (61.5, 90)
    assert "5 training steps in the log" in found["said"]


def test_a_script_is_mended_on_its_way_and_its_author_keeps_theirs(
    draft: Draft, mine: Path, root: Path
) -> None:
    theirs = script("# Hardware: 2 x A100 80 GB\n").replace('"$@"', "$@").replace("\n", "\r\n")
    mine.write_bytes(theirs.encode())
    found = draft(mine, "--contributor", HANDLE, "--write")
    assert found["fixed"] == ["line-ending", "shebang", "strict-mode", "unquoted-arguments"]
    assert "ready to commit" in found["said"]
    assert check_root(root) == []
    assert mine.read_bytes() == theirs.encode()
    again = draft(mine, "--contributor", HANDLE, "--write")
    assert (again["exit"], again["written"], again["fixed"]) == (0, False, [])
    assert "the dataset has all of this" in again["said"]


def test_what_is_refused_is_told_of_the_file_that_its_author_has(draft: Draft, mine: Path) -> None:
    mine.write_text(script("# Hardware: 2 x A100 80 GB\n") + "if true; then\n")
    found = draft(mine, "--contributor", HANDLE, "--write")
    assert (found["exit"], found["written"]) == (1, False)
    assert {item["path"] for item in found["findings"]} == {str(mine)}
    assert "Nothing was written: " in found["said"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"\xff\xfe\x00", "no text in UTF-8"), (b"x" * (1 << 21), "larger than 1 MiB")],
)
def test_what_is_no_script_is_unreadable_input(
    draft: Draft, mine: Path, data: bytes, problem: str
) -> None:
    mine.write_bytes(data)
    found = draft(mine)
    assert found["exit"] == 2
    assert problem in found["said"]


def test_missing_files_and_arguments_are_wrong_usage(draft: Draft, mine: Path) -> None:
    assert draft()["exit"] == 2
    assert draft("none.sh")["exit"] == 2
    assert draft(mine, "--log", "none.log")["exit"] == 2
    assert draft("--issue", "none.md")["exit"] == 2


def test_a_script_that_starts_no_training_is_told(draft: Draft, mine: Path) -> None:
    mine.write_text("#!/usr/bin/env bash\necho hello\n")
    found = draft(mine)
    assert "starts no training" in found["said"]
    assert found["row"]["model"] is None


def test_a_script_is_read_and_never_run(draft: Draft, mine: Path, tmp_path: Path) -> None:
    mine.write_text(script(f"#!/usr/bin/env bash\ntouch {tmp_path}/ran\n"))
    draft(mine)
    assert not (tmp_path / "ran").exists()
