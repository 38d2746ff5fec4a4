"""Records of the real schema in any number, for the benchmarks: the same for the same arguments.

Every cell is one that the schema allows, as far as possible as varied as in real records: each
script, address and note stands once, figures are measured ones, a third of the optional cells is
blank. `spoilt` then breaks cells in ways that frictionless and pandera know, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from rl_resources.dataset import Dataset
from rl_resources.tabular import write

SPOILT: dict[str, tuple[str, ...]] = {
    "tag": ("min", "", "RECOMMENDED!"),
    "model": ("Qwen/Qwen9-7B", ""),
    "task": ("GPRO", ""),
    "gpus": ("0", "eight", "-1", ""),
    "device": ("h1000", ""),
    "nodes": ("0", "1.5"),
    "max_batch": ("many", "1000001"),
    "infer_version": ("v0.8.3", "latest"),
    "peak_memory_gb": ("0", "76,4"),
    "step_seconds": ("-3", "about 90"),
    "contributor": ("two words", "-dash"),
    "tested_on": ("2025-02-30", "25.06.2025", "2022-12-31"),
    "evidence": ("http://example.org/log",),
    "status": ("reportd", ""),
    "notes": ("n" * 501,),
}
"""Cells that break their column, by column."""


def records(dataset: Dataset, count: int, bad: float = 0.0, seed: int = 8) -> Iterator[list[str]]:
    """`count` rows of `tuning`, of whose cells the share `bad` is spoilt."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    names = dataset.package.resources["tuning"].schema.names
    every = round(1 / bad) if bad else 0
    cell = 0
    for number, row in enumerate(_rows(dataset, chance)):
        if number == count:
            return
        cells = [row.get(name, "") for name in names]
        for at, name in enumerate(names):
            cell += 1
            if every and cell >= every and name in SPOILT:
                cells[at] = chance.choice(SPOILT[name])
                cell -= every
        yield cells


def _rows(dataset: Dataset, chance: random.Random) -> Iterator[dict[str, str]]:
    models = [str(row["model"]) for row in dataset.records["models"]]
    slugs = {str(row["model"]): str(row["slug"]) for row in dataset.records["models"]}
    tasks = [str(row["task"]) for row in dataset.records["tasks"]]
    devices = [str(row["device"]) for row in dataset.records["devices"]]
    roles = {role: _backends(dataset, role) for role in ("train", "infer")}
    gpus = range(1, 100_000)
    for gpu, model, task, device in product(gpus, models, tasks, devices):
        train, infer = chance.choice(roles["train"]), chance.choice(roles["infer"])
        parts = (slugs[model], task.lower(), str(gpu), device, train, infer)
        row = {"script": "_".join(parts) + ".sh", "model": model, "task": task, "gpus": str(gpu)}
        yield row | {"device": device, "train": train, "infer": infer} | _facts(chance)


def _backends(dataset: Dataset, role: str) -> Sequence[str]:
    return [str(row["backend"]) for row in dataset.records["backends"] if row["role"] == role]


def _facts(chance: random.Random) -> dict[str, str]:
    commit = f"{chance.getrandbits(160):040x}"
    figure = chance.random()
    facts = {
        "nodes": "1",
        "max_batch": str(8 * chance.randint(1, 512)),
        "infer_version": f"0.{chance.randint(6, 11)}.{chance.randint(0, 5)}",
        "framework_version": f"0.{chance.randint(2, 6)}.{chance.randint(0, 2)}",
        "max_prompt_length": str(256 << chance.randint(0, 5)),
        "max_response_length": str(512 << chance.randint(0, 6)),
        "rollout_n": str(chance.choice((4, 5, 8, 16))),
        "peak_memory_gb": f"{10 + 180 * figure:.1f}",
        "host_memory_gb": str(chance.choice((256, 512, 1024, 2048))),
        "step_seconds": f"{20 + 900 * figure:.2f}",
        "tokens_per_second_per_gpu": f"{5000 * figure + 1:.1f}",
        "tested_on": f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        "evidence": f"https://example.org/runs/{commit[:12]}/log.txt",
        "notes": f"Run {commit[:8]}, with the learning rate of the paper: it took a day.",
    }
    kept = {name: cell for name, cell in facts.items() if chance.random() < 2 / 3}
    return kept | {
        "tag": chance.choice(("MIN", "RECOMMENDED")),
        "framework": "verl",
        "contributor": f"user-{chance.randint(1, 5000)}",
        "source": f"https://github.com/OWNER/REPOSITORY/blob/{commit}/runs/{commit[:6]}.sh",
        "status": chance.choice(("untested", "reported", "reproduced")),
    }


def write_records(path: Path, dataset: Dataset, count: int, bad: float = 0.0) -> None:
    """Write a file of them as the package's own are written."""
    header = dataset.package.resources["tuning"].schema.names
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(write([header]))
        file.writelines(write([row]) for row in records(dataset, count, bad))
