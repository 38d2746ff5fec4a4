"""The step time against timed runs: `time_backtest.csv`, and its errors by group.

Run `make backtest`. With `--fit` the constants of `time.toml` that name `runs` are fitted anew. The
error of a run is that of constants which the other projects fix.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from backtest import _settings as settings_of
from backtest import _words as words_of
from scipy.optimize import least_squares

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import formula
from rl_resources.estimate.time import PHASES, constants, evaluate_time, lacking, time_values
from rl_resources.query.estimate import estimate

HERE = Path(__file__).parent
TOML = HERE.parent / "tools/rl_resources/estimate/time.toml"
NOT_TIMED = {"image-generation", "video-generation", "robotics", "agentic"}
"""Scenarios whose steps take time that no setting names, such as that of an agent's tools."""
COLUMNS = {
    "generation": "generation_seconds",
    "log-probs": "log_prob_seconds",
    "update": "update_seconds",
    "other": "other_seconds",
}
LENGTHS = ("mean_prompt_length", "mean_response_length", "mean_total_length")
POOLS = (
    re.compile(r"(\d+) (?:GPUs )?train(?:ing)?(?: GPUs)? \+ (\d+) gen"),
    re.compile(r"train (\d+) GPUs, gen (\d+) GPUs"),
)
"""How a report writes the GPUs that train and those that only generate."""
STEPS_OFF = re.compile(r"(?i)(one|\d+) steps? off")
OVERLAPS = re.compile(r"(?i)async|one_step")
LINE = re.compile(r"#.*")
PRIOR = 2
"""The weight of the value of a constant before the fit, against that of a run."""
PHASE_WEIGHT = 0.4
UNKNOWN_WEIGHT = 0.15
"""The weight of a run of which only the longest length is known."""
Row = Mapping[str, Any]
Values = Mapping[str, float]


class Timed(NamedTuple):
    """A timed run: what it measured by phase, and the values that its terms need."""

    id: str
    project: str
    source: str
    model: str
    device: str
    gpus: int
    known: bool
    measured: Mapping[str, float]
    values: Values

    @property
    def seconds(self) -> float:
        return self.measured["seconds"]


def runs(dataset: Dataset, skipped: Counter[str]) -> Iterator[Timed]:
    """Each timed run once: a record, otherwise the report."""
    seen: set[tuple[str, float]] = set()
    scripts: dict[tuple[str, str], Estimate] = {}
    for row in dataset.records["tuning"]:
        if not row["step_seconds"]:
            continue
        try:
            found = estimate(dataset, {}, _lengths(row), str(dataset.script(str(row["script"]))))
        except UnusableInput as error:
            skipped[str(error)] += 1
            continue
        seen.add((str(row["evidence"]), row["step_seconds"]))
        for cited in (row["evidence"], row["source"]):
            scripts[LINE.sub("", str(cited)), str(row["model"])] = found
        yield from _timed(row, str(row["script"]), str(row["evidence"]), found, skipped)
    for row in dataset.records["reports"]:
        source = str(row["source_url"])
        if not row["step_seconds"] or row["outcome"] != "ran":
            continue
        if (source, row["step_seconds"]) in seen or NOT_TIMED & set(row["scenario"] or ()):
            continue
        twin = scripts.get((LINE.sub("", source), str(row["model"])))
        try:
            found = _of_report(dataset, row, twin)
        except UnusableInput as error:
            skipped[str(error)] += 1
            continue
        yield from _timed(row, str(row["report"]), source, found, skipped)


def _timed(
    row: Row, name: str, source: str, found: Estimate, skipped: Counter[str]
) -> Iterator[Timed]:
    missing = lacking(found)
    if missing:
        skipped[missing[0]] += 1
        return
    values = time_values(found)
    measured = {"seconds": float(row["step_seconds"])}
    for phase, column in COLUMNS.items():
        if row[column]:
            measured[PHASES[phase]] = float(row[column])
    if values["steps_off_policy"]:
        measured.pop("generation_seconds", None)  # of these it is the wait of the trainer
    known = values["mean_response_length"] + values["mean_total_length"] > 0
    project = "/".join(source.removeprefix("https://github.com/").split("/")[:2])
    yield Timed(
        name,
        project,
        LINE.sub("", source),
        str(row["model"]),
        str(row["device"] or row["device_as_published"]),
        int(row["gpus"]),
        known,
        measured,
        values,
    )


def _lengths(row: Row) -> list[str]:
    return [f"{name}={row[name]:g}" for name in LENGTHS if row[name]]


def _of_report(dataset: Dataset, row: Row, twin: Estimate | None) -> Estimate:
    """The estimate of a report; what it leaves open is that of a script of the same source."""
    if not row["model"] or not row["train"] or not row["infer"]:
        raise UnusableInput("no model, backend or engine is named")
    words = words_of(row) | {"infer": str(row["infer"]), "gpus": str(row["gpus"])}
    if not words["device"]:
        words["device"] = _device(dataset, row)
    words["weights"] = str(row["weights"] or "full")
    given = {name: f"{name}={row[name]:g}" for name in ("rollout_n", *LENGTHS) if row[name]}
    given |= _batch(row)
    for pools in POOLS:
        pooled = pools.search(str(row["parallelism"] or ""))
        if pooled:
            words["gpus"] = pooled[1]
            given["rollout_gpus"] = f"rollout_gpus={pooled[2]}"
            given["has_engine"] = "has_engine=0"
    off = STEPS_OFF.search(str(row["notes"]))
    is_async = OVERLAPS.search(f"{row['source_path']} {row['notes']}")
    if off and pooled_gpus(given):
        given["steps_off_policy"] = f"steps_off_policy={off[1].lower().replace('one', '1')}"
    elif is_async and pooled_gpus(given):
        given["steps_off_policy"] = "steps_off_policy=1"
    saved = str(row["memory_optimizations"] or "")
    if str(row["task"]).startswith(("GRPO", "PPO")) or "reference" in saved:
        given["has_reference"] = "has_reference=1"
    if twin and not row["micro_batch_per_gpu"] and "dynamic" in saved:
        given |= _of_twin(twin, ("max_tokens",))
    if twin:
        given |= _of_twin(twin, ("eager", "filters_groups", "generated_prompts")) | given
    return estimate(dataset, words, [*settings_of(row), *given.values()])


def pooled_gpus(given: Mapping[str, str]) -> bool:
    """Whether some GPUs only generate."""
    return "rollout_gpus" in given


def _of_twin(twin: Estimate, names: Sequence[str]) -> dict[str, str]:
    inputs = twin.configuration.inputs
    return {name: f"{name}={inputs[name]:g}" for name in names if inputs.get(name)}


def _device(dataset: Dataset, row: Row) -> str:
    """A device whose variants differ in memory alone, as it is published."""
    named = str(row["device_as_published"]).lower()
    if named in dataset.by_key["devices"]:
        return named
    raise UnusableInput(f"the device {named} is not known")


def _batch(row: Row) -> dict[str, str]:
    """The prompts that a step trains on, and those that it generates at a time, if more."""
    prompts = row["prompts_per_step"]
    kept = row["batch"] if row["batch_unit"] == "prompts" else None
    given = {}
    if prompts and kept and prompts > kept:
        given["generated_prompts"] = f"generated_prompts={prompts:g}"
        prompts = kept
    prompts = prompts or kept
    if prompts:
        given["prompts_per_step"] = f"prompts_per_step={prompts:g}"
    return given


def fitted() -> list[str]:
    """The constants that the fit sets."""
    return [item["name"] for item in _fitted_rows()]


def _fitted_rows() -> list[dict[str, Any]]:
    return [item for item in formula()["time"]["constant"] if "runs" in item]


def residuals(logs: Sequence[float], start: Sequence[float], timed: Sequence[Timed]) -> list[float]:
    """The weighted errors of all runs and phases, as logarithms, and those of the prior."""
    own = dict(zip(fitted(), map(math.exp, logs), strict=True))
    share = Counter(run.project for run in timed)
    found: list[float] = []
    for run in timed:
        values = evaluate_time({**run.values, **own})
        weight = share[run.project] ** -0.1
        if not run.known:
            weight *= UNKNOWN_WEIGHT
        for term in ("seconds", *PHASES.values()):
            error = 0.0
            if term in run.measured and (run.known or term == "seconds"):
                error = weight * math.log(values[term] / run.measured[term])
            if term != "seconds":
                error *= PHASE_WEIGHT
            if term == "other_seconds":
                error = 0.0  # sources name parts of it
            found.append(error)
    found.extend(PRIOR * (log - before) for log, before in zip(logs, start, strict=True))
    return found


def fit(timed: Sequence[Timed]) -> dict[str, float]:
    """The constants of least error on these runs."""
    start = [math.log(item["start"]) for item in _fitted_rows()]
    found = least_squares(
        residuals,
        start,
        args=(start, timed),
        loss="soft_l1",
        f_scale=0.2,
        diff_step=1e-3,
        max_nfev=25,
    )
    return dict(zip(fitted(), map(math.exp, found.x), strict=True))


def left_out(timed: Sequence[Timed]) -> Iterator[tuple[Timed, Values]]:
    """Each run with its terms by the constants that the other projects fix."""
    for project in sorted({run.project for run in timed}):
        own = fit([run for run in timed if run.project != project])
        for run in timed:
            if run.project == project:
                yield run, evaluate_time({**run.values, **own})


def write(cases: Sequence[tuple[Timed, Values]]) -> None:
    header = ["id", "project", "model", "device", "gpus", "lengths", "source", "measured"]
    header += ["estimated", *(f"measured_{phase}" for phase in PHASES)]
    header += [f"estimated_{phase}" for phase in PHASES]
    with (HERE / "time_backtest.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for run, values in cases:
            known = "mean" if run.known else "longest"
            cells = [run.id, run.project, run.model, run.device, run.gpus, known, run.source]
            cells += [f"{run.seconds:g}", f"{values['seconds']:.1f}"]
            cells += [f"{run.measured.get(term, 0):g}" for term in PHASES.values()]
            cells += [f"{values[term]:.1f}" for term in PHASES.values()]
            writer.writerow(cells)


def report(cases: Sequence[tuple[Timed, Values]]) -> None:
    """Print the errors, the interval and the share of pairs in the right order."""
    for known in (True, False):
        chosen = [case for case in cases if case[0].known == known]
        logs = sorted(math.log(run.seconds / values["seconds"]) for run, values in chosen)
        if not logs:
            continue
        sizes = sorted(map(abs, logs))
        low, high = np.quantile(logs, [0.05, 0.95])
        print(
            f"{'mean' if known else 'longest'} lengths: {len(logs)} runs, "
            f"median factor {math.exp(np.median(sizes)):.2f}, "
            f"90 % {math.exp(np.quantile(sizes, 0.9)):.2f}, "
            f"interval [{math.exp(low):.2f}, {math.exp(high):.2f}]"
        )
    right = 0
    pairs = 0
    for (one, ours), (other, theirs) in combinations(cases, 2):
        if one.source != other.source or math.isclose(one.seconds, other.seconds, rel_tol=0.05):
            continue
        pairs += 1
        right += (one.seconds < other.seconds) == (ours["seconds"] < theirs["seconds"])
    print(f"{right / max(1, pairs):.0%} of {pairs} pairs of one source in the right order")


def rewrite(own: Values, timed: Sequence[Timed]) -> None:
    """Write the fitted constants into `time.toml`, with the runs on which their terms depend."""
    text = TOML.read_text(encoding="utf-8")
    for name, value in own.items():
        count = sum(_depends(run, name, value) for run in timed)
        pattern = rf'(name = "{name}"\n)value = .*\n(start = .*\n)runs = .*'
        text = re.sub(pattern, rf"\g<1>value = {value:.3g}\n\g<2>runs = {count}", text)
    TOML.write_text(text, encoding="utf-8")


def _depends(run: Timed, name: str, value: float) -> bool:
    before = evaluate_time(dict(run.values))["seconds"]
    after = evaluate_time({**run.values, name: 2 * value})["seconds"]
    return not math.isclose(before, after, rel_tol=1e-3)


def main() -> None:
    """Fit where asked; write the cases and print the errors."""
    skipped: Counter[str] = Counter()
    timed = list(runs(load(HERE.parent), skipped))
    if "--fit" in sys.argv:
        rewrite(fit(timed), timed)
        formula.cache_clear()
        constants.cache_clear()
    print("with all runs")
    report([(run, evaluate_time(dict(run.values))) for run in timed])
    cases = list(left_out(timed))
    print("each project left out")
    report(cases)
    write(cases)
    print(f"{len(skipped)} kinds of rows without a time:")
    for words, count in skipped.most_common():
        print(f"  {count} {words}")


if __name__ == "__main__":
    main()
