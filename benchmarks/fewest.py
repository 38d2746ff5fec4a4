"""`fewest.toml`: the fewest GPUs by arithmetic, of each size on each class of devices.

Run `make backtest` after a change of the formula or of what a plan takes. The front page shows
these figures where no run is published; a plan of each of them takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.query.plan import plan_table

ROOT = Path(__file__).parents[1]
FEWEST = ROOT / "tools/rl_resources/site/fewest.toml"
TITLE = "# The fewest GPUs by arithmetic, by size, weights and device: benchmarks/fewest.py."


def lines_of_size(dataset: Dataset, size: str) -> Iterator[str]:
    """The tables of one size; a device on which nothing fits is left out."""
    table = plan_table(dataset, {"model": size})
    by_label = {device.label: key for key, device in devices_of(dataset).known.items()}
    for weights in ("full", "lora", "qlora"):
        yield f'["{size}".{weights}]'
        for label, cells in table.rows.items():
            found = cells[weights].fits
            if found:
                yield f"{by_label[label]} = {found.values['gpus']:g}"
        yield ""


def written(dataset: Dataset) -> str:
    """The text of the file."""
    lines = [TITLE, ""]
    for row in dataset.records["sizes"]:
        lines += lines_of_size(dataset, str(row["size"]))
    return "\n".join(lines)


if __name__ == "__main__":
    FEWEST.write_text(written(load(ROOT)), encoding="utf-8")
