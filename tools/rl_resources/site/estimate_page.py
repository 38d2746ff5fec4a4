"""The page of the estimate: its form, its formula as a table, and the back-test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

import polars as pl

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import Configuration
from rl_resources.estimate.estimate import VERDICTS, Estimate, of_script
from rl_resources.estimate.formula import backends, inputs_by_name, published
from rl_resources.package import Record
from rl_resources.script.run import Run
from rl_resources.site.environment import Site

BACKTEST = PurePosixPath("benchmarks/backtest.csv")
"""The measured runs with their estimates, in a checkout; no wheel has it."""
MODULES = tuple(
    f"javascripts/{name}.js"
    for name in ("elements", "form", "estimate/estimate", "estimate/question", "estimate/view")
)
SIMULATED = "pytorch"
"""The kind of cases that no GPU ran: PyTorch's own accounts of steps on fake tensors."""
OUTCOMES = {"ran": "ran", "out-of-memory": "ran out of memory"}
_OWN_FIELDS = frozenset({"gpus", "lora_rank", "quantized", "has_engine"})
"""Inputs that other fields of the form stand for."""
GOALS = (0.08, 0.20)
"""The errors that half and nine of ten estimates should stay below."""


def pages(site: Site) -> dict[str, str]:
    """`estimate.md`."""
    values = {
        "formula": published(),
        "own_fields": _OWN_FIELDS,
        "modules": MODULES,
        "backtest": backtest(site.dataset.package.root / BACKTEST),
        "verdicts": VERDICTS,
    }
    return {"estimate.md": site.page("estimate.md", **values)}


def backtest(path: Path) -> dict[str, Any] | None:
    """The runs of the back-test with the errors of their estimates; `None` without its file."""
    if not path.is_file():
        return None
    cases = pl.read_csv(path, infer_schema_length=None).with_columns(
        every=pl.lit("all"),
        length=pl.when("known")
        .then(pl.lit("tokens known"))
        .otherwise(pl.lit("only the longest sequence known")),
    )
    peaks = cases.filter(pl.col("measured_gb") > 0)
    return {
        "runs": cases.height,
        "peaks": peaks.with_columns(
            x=pl.col("measured_gb").log(2), y=pl.col("estimated_gb").log(2)
        ).to_dicts(),
        "all": errors(peaks.filter(pl.col("kind") != SIMULATED), "every"),
        "errors": {by: errors(peaks, by) for by in ("kind", "length", "project")},
        "decided": {
            words: {
                verdict: cases.filter(outcome=outcome, verdict=verdict).height
                for verdict in VERDICTS
            }
            for outcome, words in OUTCOMES.items()
        },
    }


def errors(peaks: pl.DataFrame, by: str) -> list[dict[str, Any]]:
    """How far estimates of each group are off, the groups with most runs first.

    Relative errors: their median and 90th percentile, and the share of peaks within the interval.
    """
    off = (pl.col("estimated_gb") / pl.col("measured_gb") - 1).abs()
    found = peaks.group_by(group=pl.col(by)).agg(
        runs=pl.len(),
        median=off.median(),
        ninth=off.quantile(0.9, "higher"),
        within=pl.col("measured_gb").is_between("low_gb", "high_gb").mean(),
    )
    misses = (pl.col("median") > GOALS[0]) | (pl.col("ninth") > GOALS[1])
    ranked = found.with_columns(misses=misses).sort("runs", "group", descending=[True, False])
    return ranked.to_dicts()


def of_record(dataset: Dataset, record: Record, run: Run | None) -> Mapping[str, Any]:
    """What the page of a record shows: the estimate of its script, `None` where there is none."""
    device, found = dataset.by_key["devices"].get(record["device"]), None
    if run and device and device["memory_gb"]:
        sizes = float(str(record["gpus"])), float(str(device["memory_gb"]))
        with suppress(UnusableInput):
            found = of_script(run, *sizes, dataset.by_key["models"][record["model"]])
    if found is None:
        return {"estimate": None}
    assumed = found.configuration.assumed
    return {
        "estimate": found,
        "estimate_query": query_of(found, str(record["device"]), str(record["infer"])),
        "guessed": [item for item in assumed if "not known" in item.reason],
    }


def query_of(estimate: Estimate, device: str, infer: str) -> str:
    """The query of a URL that fills the form with the inputs of a record's estimate."""
    asked = estimate.configuration
    rank, quantized = asked.inputs["lora_rank"], asked.inputs["quantized"]
    words = {
        "model": asked.model,
        "gpus": f"{asked.inputs['gpus']:g}",
        "device": device,
        "weights": "qlora" if quantized else "lora" if rank else "full",
        "lora_rank": f"{rank:g}" if rank else "",
        "train": asked.train,
        "infer": infer if asked.inputs["has_engine"] else "",
        **{name: f"{value:.10g}" for name, value in _others(asked)},
    }
    return f"?{urlencode({name: word for name, word in words.items() if word})}"


def _others(asked: Configuration) -> Iterator[tuple[str, float]]:
    """The inputs that the form does not assume; sizes of parallelism it would choose are named."""
    own = backends()[asked.train]
    for name, item in inputs_by_name().items():
        default = own.get(name, item.get("default"))
        value, chosen = asked.inputs[name], name.endswith("_parallel")
        unset = value < item["minimum"]  # a micro batch where batches are filled up by tokens
        if name not in {*_OWN_FIELDS, "device_gb"} and not unset and (chosen or value != default):
            yield name, value
