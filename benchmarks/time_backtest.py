"""The step time against timed runs: `time_backtest.csv`, and its errors by group.

Run `make backtest`. With `--fit` the constants of `time.toml` that name `runs` are fitted anew. The
error of a run is that of constants which the other projects fix.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from backtest import as_settings, inputs_of, settings_of, words_of
from scipy.optimize import least_squares

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import formula
from rl_resources.estimate.time import PHASES, evaluate_time, lacking, time_values
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
OF_TWIN = ("eager", "filters_groups", "generated_prompts")
"""What a script of the same source stands for in a report that does not say it."""
POOLS = (
    re.compile(r"(\d+) (?:GPUs )?train(?:ing)?(?: GPUs)? \+ (\d+) gen"),
    re.compile(r"train (\d+) GPUs, gen (\d+) GPUs"),
)
"""How a report writes the GPUs that train and those that only generate."""
STEPS_OFF = re.compile(r"(?i)(one|\d+) steps? off")
OVERLAPS = re.compile(r"(?i)async|one_step")
LINE = re.compile(r"#.*")
RELEASE = re.compile(r"v?\d[\d.]*")
PRIOR = 2.9
"""The weight of the value of a constant before the fit, whose square counts projects."""
FITTED_PHASES = ("generation_seconds", "log_prob_seconds", "update_seconds")
"""The phases that sources measure alike; of the rest they name parts."""
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
    reports = list(_timed_rows(dataset, "reports"))
    published = {_key(row["source_url"], row): row for row in reports}
    scripts: dict[tuple[str, str], Estimate] = {}
    for row in _timed_rows(dataset, "tuning"):
        evidence = str(row["evidence"] or row["source"])
        report = published.pop(_key(evidence, row), None)
        with _skipping(skipped):
            found = _of_record(dataset, row, report)
            for cited in (evidence, str(row["source"])):
                scripts[_source(cited), str(row["model"])] = found
            yield _timed(row, str(row["script"]), evidence, found)
    for row in reports:
        url = str(row["source_url"])
        if _key(url, row) not in published:
            continue
        twin = scripts.get((_source(url), str(row["model"])))
        with _skipping(skipped):
            found = _of_report(dataset, row, twin)
            yield _timed(row, str(row["report"]), url, found)


@contextmanager
def _skipping(skipped: Counter[str]) -> Iterator[None]:
    """Leave a row out that has no time, and count why."""
    try:
        yield
    except UnusableInput as error:
        skipped[str(error)] += 1


def _timed_rows(dataset: Dataset, table: str) -> Iterator[Row]:
    """The rows with a step time that settings can explain."""
    for row in dataset.records[table]:
        ran = row.get("outcome", "ran") == "ran"
        if row["step_seconds"] and ran and not NOT_TIMED & set(row["scenario"] or ()):
            yield row


def _key(source: object, row: Row) -> tuple[str, float]:
    """What a record and the report of the same run have in common."""
    return str(source), float(row["step_seconds"])


def _source(url: str) -> str:
    """The file or page of an address, without the line."""
    return LINE.sub("", url)


def _timed(row: Row, name: str, url: str, found: Estimate) -> Timed:
    """A timed run. Raises `UnusableInput` with what its time lacks."""
    missing = lacking(found)
    if missing:
        raise UnusableInput(missing[0])
    values = time_values(found)
    return Timed(
        id=name,
        project=_project(url),
        source=_source(url),
        model=str(row["model"]),
        device=str(row["device"] or row["device_as_published"]),
        gpus=int(row["gpus"]),
        known=values["mean_response_length"] + values["mean_total_length"] > 0,
        measured=_measured(row, is_ahead=values["steps_off_policy"] > 0),
        values=values,
    )


def _project(url: str) -> str:
    """The repository of an address."""
    return "/".join(url.removeprefix("https://github.com/").split("/")[:2])


def _measured(row: Row, *, is_ahead: bool) -> dict[str, float]:
    """The seconds of a step and of the phases that the row has.

    Where generation is ahead of training, its seconds are those that the trainer waits for it.
    """
    measured = {"seconds": float(row["step_seconds"])}
    for phase, column in COLUMNS.items():
        if row[column]:
            measured[PHASES[phase]] = float(row[column])
    if is_ahead:
        measured.pop("generation_seconds", None)
    return measured


Given = dict[str, float]
"""Inputs of the estimate with their values."""


def _of_record(dataset: Dataset, row: Row, report: Row | None) -> Estimate:
    """The estimate of a script; what only verl's recipes generate at a time the report knows."""
    given = inputs_of(row, "lengths")
    if report:
        given |= _batch(report)
        given.pop("prompts_per_step", None)
    script = dataset.script(str(row["script"]))
    return estimate(dataset, {}, as_settings(given), str(script))


def _of_report(dataset: Dataset, row: Row, twin: Estimate | None) -> Estimate:
    """The estimate of a report; what it leaves open is that of a script of the same source."""
    if not row["model"] or not row["train"] or not row["infer"]:
        raise UnusableInput("no model, backend or engine is named")
    given: Given = {}
    if twin:
        given |= _of_twin(twin, row)
    given |= inputs_of(row, "lengths")
    given |= _batch(row)
    given |= _pools(row)
    given |= inputs_of(row, "roles")
    words = words_of(row)
    if "framework" in words and RELEASE.fullmatch(str(row["framework_version"])):
        words["framework"] += f" {row['framework_version']}"
    words["infer"] = str(row["infer"])
    words["weights"] = str(row["weights"] or "full")
    words["gpus"] = str(row["gpus"])
    if "gpus" in given:
        words["gpus"] = f"{given.pop('gpus'):g}"
    if not words["device"]:
        words["device"] = _device(dataset, row)
    return estimate(dataset, words, [*settings_of(row), *as_settings(given)])


def _of_twin(twin: Estimate, row: Row) -> Given:
    """What a script of the same source says of a run whose report does not."""
    names = [*OF_TWIN]
    if not row["micro_batch_per_gpu"] and "dynamic" in str(row["memory_optimizations"]):
        names.append("max_tokens")
    inputs = twin.configuration.inputs
    return {name: inputs[name] for name in names if inputs.get(name)}


def _pools(row: Row) -> Given:
    """The GPUs that train and those that only generate, where they are not the same."""
    for pools in POOLS:
        found = pools.search(str(row["parallelism"] or ""))
        if found:
            return {
                "gpus": float(found[1]),
                "rollout_gpus": float(found[2]),
                "has_engine": 0,
                "steps_off_policy": _steps_off(row),
            }
    return {}


def _steps_off(row: Row) -> float:
    """By how many steps generation is ahead, where a row says or hints it."""
    said = STEPS_OFF.search(str(row["notes"]))
    if said:
        return float(said[1].lower().replace("one", "1"))
    hinted = OVERLAPS.search(f"{row['source_path']} {row['notes']}")
    return float(hinted is not None)


def _device(dataset: Dataset, row: Row) -> str:
    """A device whose variants differ in memory alone, as it is published."""
    named = str(row["device_as_published"]).lower()
    if named in dataset.by_key["devices"]:
        return named
    raise UnusableInput(f"the device {named} is not known")


def _batch(row: Row) -> Given:
    """The prompts that a step trains on, and those that it generates at a time, if more."""
    prompts = row["prompts_per_step"]
    kept = None
    if row["batch_unit"] == "prompts":
        kept = row["batch"]
    if prompts and kept and prompts > kept:
        return {"generated_prompts": prompts, "prompts_per_step": kept}
    if prompts or kept:
        return {"prompts_per_step": prompts or kept}
    return {}


def fitted() -> list[str]:
    """The constants that the fit sets."""
    return [item["name"] for item in _fitted_rows()]


def _fitted_rows() -> list[dict[str, Any]]:
    return [item for item in formula()["time"]["constant"] if "runs" in item]


def residuals(
    logs: Sequence[float], start: Sequence[float], timed: Sequence[Timed]
) -> list[float]:
    """The weighted errors of all runs and phases, as logarithms, and those of the prior."""
    own = dict(zip(fitted(), map(math.exp, logs), strict=True))
    share = Counter(run.project for run in timed)
    found: list[float] = []
    for run in timed:
        values = evaluate_time({**run.values, **own})
        weight = share[run.project] ** -0.5  # each project has one vote
        if not run.known:
            weight *= UNKNOWN_WEIGHT
        found.append(weight * _error(run, values, "seconds"))
        for term in FITTED_PHASES:
            is_measured = run.known and term in run.measured
            error = _error(run, values, term) if is_measured else 0.0
            found.append(PHASE_WEIGHT * weight * error)
    for log, before in zip(logs, start, strict=True):
        found.append(PRIOR * (log - before))
    return found


def _error(run: Timed, values: Values, term: str) -> float:
    return math.log(values[term] / run.measured[term])


def fit(timed: Sequence[Timed]) -> dict[str, float]:
    """The constants of least error on these runs."""
    start = [math.log(item["start"]) for item in _fitted_rows()]
    found = least_squares(
        residuals,
        start,
        args=(start, timed),
        loss="soft_l1",
        f_scale=0.145,
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
    """Write `time_backtest.csv`, which the pages and the tests read."""
    rows = [_columns(run, values) for run, values in cases]
    pl.DataFrame(rows).write_csv(HERE / "time_backtest.csv")


def _columns(run: Timed, values: Values) -> dict[str, object]:
    found: dict[str, object] = {
        "id": run.id,
        "project": run.project,
        "model": run.model,
        "device": run.device,
        "gpus": run.gpus,
        "lengths": "mean" if run.known else "longest",
        "source": run.source,
        "measured": f"{run.seconds:g}",
        "estimated": f"{values['seconds']:.1f}",
    }
    for phase, term in PHASES.items():
        found[f"measured_{phase}"] = f"{run.measured.get(term, 0):g}"
    for phase, term in PHASES.items():
        found[f"estimated_{phase}"] = f"{values[term]:.1f}"
    return found


Errors = Sequence[tuple[str, float]]
"""The projects of runs, and the logarithms of what they measure over what is estimated."""


def report(cases: Sequence[tuple[Timed, Values]]) -> None:
    """Print the errors, the interval and the share of pairs in the right order."""
    for lengths, known in {"mean": True, "longest": False}.items():
        errors = [
            (run.project, -_error(run, values, "seconds"))
            for run, values in cases
            if run.known == known
        ]
        sizes = np.abs([log for _, log in errors])
        low, high = np.exp(_interval(errors))
        print(
            f"{lengths} lengths: {len(errors)} runs, "
            f"median factor {np.exp(np.median(sizes)):.2f}, "
            f"90 % {np.exp(np.quantile(sizes, 0.9)):.2f}, "
            f"interval [{low:.2f}, {high:.2f}], "
            f"{np.mean(list(_inside(errors))):.0%} inside that of the other projects"
        )
    ordered = list(_ordered(cases))
    print(
        f"{np.mean(ordered):.0%} of {len(ordered)} pairs of one source in the right order"
    )


def _interval(errors: Errors) -> Any:
    """Between which nine of ten errors lie, if each project has one vote."""
    share = Counter(project for project, _ in errors)
    logs = [log for _, log in errors]
    votes = [1 / share[project] for project, _ in errors]
    return np.quantile(logs, [0.05, 0.95], weights=votes, method="inverted_cdf")


def _inside(errors: Errors) -> Iterator[bool]:
    """Whether each error lies in the interval that the other projects fix."""
    for left in {project for project, _ in errors}:
        low, high = _interval([item for item in errors if item[0] != left])
        for project, log in errors:
            if project == left:
                yield low <= log <= high


def _ordered(cases: Sequence[tuple[Timed, Values]]) -> Iterator[bool]:
    """Whether each pair of one source, if its times differ, is in the right order."""
    for (one, ours), (other, theirs) in combinations(cases, 2):
        is_tie = math.isclose(one.seconds, other.seconds, rel_tol=0.05)
        if one.source == other.source and not is_tie:
            yield (one.seconds < other.seconds) == (ours["seconds"] < theirs["seconds"])


def rewrite(own: Values, timed: Sequence[Timed]) -> None:
    """Write the fitted constants into `time.toml`, with the runs on which their terms depend."""
    text = TOML.read_text(encoding="utf-8")
    for name, value in own.items():
        count = sum(_depends(run, own, name) for run in timed)
        pattern = rf'(name = "{name}"\n)value = .*\n(start = .*\n)runs = .*'
        text = re.sub(pattern, rf"\g<1>value = {value:.3g}\n\g<2>runs = {count}", text)
    TOML.write_text(text, encoding="utf-8")


def _depends(run: Timed, own: Values, name: str) -> bool:
    before = evaluate_time({**run.values, **own})["seconds"]
    after = evaluate_time({**run.values, **own, name: 2 * own[name]})["seconds"]
    return not math.isclose(before, after, rel_tol=1e-3)


def main() -> None:
    """Fit where asked; write the cases and print the errors."""
    skipped: Counter[str] = Counter()
    timed = list(runs(load(HERE.parent), skipped))
    own: dict[str, float] = {}
    if "--fit" in sys.argv:
        own = fit(timed)
        rewrite(own, timed)
    print("with all runs")
    report([(run, evaluate_time({**run.values, **own})) for run in timed])
    cases = list(left_out(timed))
    print("each project left out")
    report(cases)
    write(cases)
    print(f"{len(skipped)} kinds of rows without a time:")
    for words, count in skipped.most_common():
        print(f"  {count} {words}")


if __name__ == "__main__":
    main()
