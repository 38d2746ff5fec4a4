"""A dataset as a git repository to botch, and what is done to it.

The dataset is the shipped one as it was once, with a few of its many reports, so that a record that
is added today moves no line of a case. Schemas and descriptor are those of today.

An edit is one of `sample_tree`. A case may write `SCRIPT`, `LORA`, `TUNING`, … for what `WORDS`
says. With `new` the case begins from a good contribution: one more script and its row.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sample_tree import REPOSITORY, apply

DATASET = Path(__file__).parent / "botched/dataset"
SCRIPT = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
NEW = "examples/tuning/7b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh"
NEW_ROW = (
    "qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh,MIN,Qwen/Qwen2.5-7B-Instruct,GRPO,8,h100,1,,"
    "fsdp,vllm,,verl,,1024,1024,5,,,,,your-handle,,,,reported,"
)
NEW_LINE = 6
ROWS = (DATASET / "records/tuning.csv").read_text(encoding="utf-8").splitlines()
WORDS: Mapping[str, str] = {
    "SCRIPT": SCRIPT,
    "NEWROW": NEW_ROW,
    "BLANKNODES": NEW_ROW.replace("h100,1,", "h100,,"),
    "TABBEDROW": NEW_ROW.replace(",", "\t"),
    "SEMICOLONROW": NEW_ROW.replace(",", ";"),
    "RECOMMENDEDROW": NEW_ROW.replace(",MIN,", ",RECOMMENDED,"),
    "OTHERROW": NEW_ROW.replace("your-handle", "her-handle"),
    "NEW": NEW,
    "LORA": "examples/tuning/7b/qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh",
    "TUNING": "records/tuning.csv",
    "TRIALS": "records/trials.csv",
    "MODELS": "records/models.csv",
    "COMPATIBILITY": "records/compatibility.csv",
    "SEARCHED": "examples/tuning/14b/qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh",
    "MODELROW": "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4",
    "LASTROW": ROWS[-1],
    "HEADER": ROWS[0],
    "QUOTEDROW": f'{NEW_ROW}"Ran on one node, without NVLink, at night."',
    "OPENROW": f'{NEW_ROW}"Ran on one node, without NVLink, at night.',
    "CLOSEDROW": f'{NEW_ROW}Ran on one node, without NVLink, at night."',
}

Case = Mapping[str, Any]


def load(path: Path) -> dict[str, Any]:
    """The cases of a file by the sentence that they stand under."""
    cases: dict[str, Any] = _spelt_out(tomllib.loads(path.read_text(encoding="utf-8")))
    return cases


def _spelt_out(value: Any) -> Any:
    match value:
        case str():
            for word, meaning in WORDS.items():
                value = value.replace(word, meaning)
            return value
        case dict():
            return {key: _spelt_out(item) for key, item in value.items()}
        case list():
            return [_spelt_out(item) for item in value]
    return value


def plant_frozen(root: Path) -> Path:
    """Copy the dataset to the folder `root`."""
    shutil.copytree(DATASET, root, dirs_exist_ok=True)
    shutil.copytree(REPOSITORY / "schema", root / "schema")
    shutil.copy(REPOSITORY / "datapackage.json", root)
    return root


def plant_repository(root: Path, *, new: bool) -> Path:
    """Copy the dataset to `root`, commit it, and add a good contribution where `new` says so."""
    plant_frozen(root)
    git(root, "init", "--quiet")
    commit(root)
    if new:
        _contribute(root)
        commit(root)
    return root


def _contribute(root: Path) -> None:
    text = (root / SCRIPT).read_text(encoding="utf-8")
    for old, right in (("Qwen/Qwen2-7B", "Qwen/Qwen2.5-7B"), ("NODE:-2}", "NODE:-8}")):
        assert old in text
        text = text.replace(old, right)
    (root / NEW).write_text(text, encoding="utf-8")
    (root / NEW).chmod(0o755)
    apply(root, [{"file": WORDS["TUNING"], "before_line": NEW_LINE, "with": NEW_ROW}])


def commit(root: Path) -> None:
    """Everything as one commit."""
    git(root, "add", "--all")
    identity = ("-c", "user.name=nobody", "-c", "user.email=", "-c", "commit.gpgsign=false")
    git(root, *identity, "commit", "--quiet", "--message", "All")


def git(root: Path, *arguments: str) -> None:
    """Run git in `root`; raises where it fails."""
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)
