"""The estimate against measured runs: `backtest.csv`, and `backtest_errors.csv` by group.

Run `make backtest`. Peaks are compared as they were read: what PyTorch allocated has no CUDA
context and no fragmentation, what it reserved has no context.
"""

from __future__ import annotations

import csv
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, suppress
from math import isclose
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import polars as pl

from rl_resources import load
from rl_resources.cli import PARSER, answers  # noqa: F401 (it adds `estimate`)
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate import NUMBERS, WORDS
from rl_resources.estimate.estimate import GB, Estimate
from rl_resources.estimate.frameworks import VERL, profiles
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.query.estimate import estimate

HERE = Path(__file__).parent
PLAUSIBLE = HERE.parent / "tools/rl_resources/estimate/assumed.toml"
PLAUSIBLE_TITLE = (
    "# What eight of ten measured runs have, least and most, "
    "written by `make backtest`."
)
LEFT_OPEN = (
    "response_length",
    "micro_batch",
    "checkpointing",
    "fused_logits",
    "parameter_bytes",
    "lora_rank",
    "lora_mlp",
)
"""Inputs of measured runs that a question may leave open, and that decide."""
Row = Mapping[str, Any]
RULES = tomllib.loads((HERE / "inputs.toml").read_text(encoding="utf-8"))
"""The inputs that a row has, by what its cells say."""
TRAIN = {
    "single": "transformers",
    "ddp": "transformers",
    "zero1": "deepspeed",
    "zero2": "deepspeed",
    "zero3": "deepspeed",
    "fsdp": "fsdp",
    "fsdp2": "fsdp2",
    "megatron": "megatron",
}
RUNS = {"measured-run", "stated-run", "ci-allocation"}
OWN_GPUS = re.compile(
    r"^(\d+) GPUs? (?:actor|train|each)|(\d+) train \+|train (\d+) GPUs"
)
"""The GPUs that train, where the engine has others."""
HOST_PEAK = re.compile(
    r"Host memory is the (published )?peak|which takes 1|memory per node, the only"
    r"|Host memory: 800|1500 GB and does not say"
)
"""How the notes say that host memory is what a run took, not what its nodes had."""
HOST = "project, of host memory"
"""How the errors of host memory are grouped."""
STRANGER = "stranger"
"""The kind of cases that no constant comes from, and that nothing is tuned on."""
ASKED = "asked"
"""The kind of cases that are asked as strangers are, and that set what a question adds."""
APART = (STRANGER, ASKED)
"""The kinds of cases with the interval of their answers, which are not calibrated."""
VARIED = "varied"
"""The kind of cases whose reserved memory grew over batches of many lengths.

PyTorch keeps what it once reserved, and gives it back before it runs out of memory: a step needs
less than such a figure, so it does not set the interval.
"""
GOALS = (0.08, 0.20)
"""The errors that half and nine of ten estimates should stay below."""
NOT_READ = frozenset({"allocated", "reserved"})
"""The ways of reading the memory that see the process that trains alone."""


class Case(NamedTuple):
    """One measured or decided run with its estimate; GB are 10⁹ bytes of one GPU.

    `known`: its tokens are, not only the longest sequence; else `usual_gb` is its estimate with
    sequences of usual lengths.
    """

    id: str
    kind: str
    project: str
    model: str
    weights: str
    gpus: int
    outcome: str
    known: bool
    measured_gb: float | None
    estimated_gb: float
    usual_gb: float
    low_gb: float
    high_gb: float
    verdict: str
    source: str


def inputs_of(row: Row, kind: str) -> dict[str, float]:
    """The inputs that the rules for this kind of rows give a row."""
    found: dict[str, float] = {}
    for rule in RULES[kind]:
        if all(
            re.search(rule["when"][name], _cell(row, name)) for name in rule["when"]
        ):
            for name, value in rule["set"].items():
                found[name] = _value(row, value)
    return found


def _cell(row: Row, name: str) -> str:
    return str(row.get(name) or "")


def _value(row: Row, value: float | Sequence[str]) -> float:
    if isinstance(value, list):
        return sum(float(row[column] or 0) for column in value)
    return float(value)


def as_settings(inputs: Mapping[str, float]) -> list[str]:
    """Inputs as options of `estimate` have them."""
    return [f"{name}={value:g}" for name, value in inputs.items()]


def _case(found: Estimate, share: float = 1, least: float = 1, **facts: Any) -> Case:
    """A run with its estimate, of which a reading of the memory counts this share.

    The lower end of its interval counts only the `least` part of that.
    """
    low_gb, high_gb = found.interval_gb
    low_gb *= least
    figures = {
        "estimated_gb": found.peak_gb,
        "usual_gb": found.usual_gb,
        "low_gb": low_gb,
        "high_gb": high_gb,
    }
    rounded = {name: round(gb * share, 3) for name, gb in figures.items()}
    return Case(**{"verdict": found.verdict, **facts, **rounded})


def _read_share(found: Estimate, kind: str) -> float:
    """What a reading of the training process counts, as a part of the peak of training.

    Where the release decides and nobody said it, most: so do 8 of 12 public peaks.
    """
    _, most = _read_gb(found, kind)
    return most / found.peak_gb


def _least_read(found: Estimate, kind: str) -> float:
    """The part of a reading that is sure, where the release of the framework decides."""
    least, most = _read_gb(found, kind)
    return least / most


def _read_gb(found: Estimate, kind: str) -> tuple[float, float]:
    """What such a reading counts at least and at most."""
    if kind not in NOT_READ:
        return found.peak_gb, found.peak_gb
    least, most = found.allocated_gb
    kept = 0.0
    if kind == "reserved":
        kept = found.training.components.get("fragmentation", 0)
    return least + kept, most + kept


def _whole_share(found: Estimate) -> float:
    """The peak of all phases, also of a rollout on the same GPUs, by that of training."""
    counted = dict(found.phases)
    if found.values["engine_gpus"]:
        counted.pop("rollout", None)
    return max(moment.peak_gb for moment in counted.values()) / found.peak_gb


def _figure(cell: str) -> float | None:
    if not cell:
        return None
    return float(cell)


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured(
    dataset: Dataset, skipped: list[str], left_out: str = ""
) -> Iterator[Case]:
    """The cases of `measured.csv`, asked without the input `left_out`.

    Why a row cannot be estimated is added to `skipped`.
    """
    for row in _rows("measured.csv"):
        try:
            given = _given(row)
            given.pop(left_out, None)
            found = estimate(dataset, _words_of(row), as_settings(given))
            if not row["device_memory_gb"] and row["outcome"] != "peak":
                raise UnusableInput("no device")
        except UnusableInput as error:
            title = f"{row['id']} {row['project']} {row['model']}"
            skipped.append(f"{title}: {error}")
            continue
        yield _of_measured(row, found)


def _given(row: Row) -> dict[str, float]:
    given = inputs_of(row, "measured")
    if not given["response_length"] or not given["micro_batch"]:
        raise UnusableInput("no length or no micro batch")
    return given


def _words_of(row: Row) -> dict[str, str]:
    """The options that a user has for a run."""
    return {
        "model": row["model"],
        "gpus": row["gpus"],
        "memory": row["device_memory_gb"] or "80",
        "train": TRAIN[row["strategy"]],
        "weights": row["weights"],
        "infer": row["rollout_engine"],
    }


def _of_measured(row: Row, found: Estimate) -> Case:
    kind = "measured"
    if "samples of all lengths" in row["notes"]:
        kind = VARIED
    verdict = ""
    if row["device_memory_gb"]:
        verdict = found.verdict
    return _case(
        found,
        _read_share(found, row["peak_kind"]),
        id=row["id"],
        kind=kind,
        project=row["project"],
        model=row["model"],
        weights=row["weights"],
        gpus=int(row["gpus"]),
        outcome=row["outcome"],
        known=row["length_kind"] != "cap",
        measured_gb=_figure(row["peak_gb"]),
        verdict=verdict,
        source=row["source"],
    )


def reports(dataset: Dataset, skipped: list[str]) -> Iterator[Case]:
    """The reports of the dataset with a peak or an outcome, and what an estimate needs."""
    for row in dataset.records["reports"]:
        if row["statement"] not in RUNS or not _has_inputs(row):
            continue
        if "multimodal" in (row["scenario"] or ()):
            continue  # a vision tower and its tokens are not estimated
        if row["framework"] == "agilerl":
            continue  # its runs are in measured.csv
        if row["out_of_memory_on"] == "host":
            continue
        if not dataset.by_key["devices"][row["device"]]["memory_gb"]:
            continue  # its verdict would be that of an assumed memory
        try:
            found = estimate(dataset, words_of(row), settings_of(row))
        except UnusableInput as error:
            skipped.append(f"{row['report']}: {error}")
            continue
        yield _of_report(row, found)


def _has_inputs(row: Row) -> bool:
    """Whether a report says all that an estimate needs."""
    length = row["max_response_length"] or row["max_total_length"]
    batch = row["micro_batch_per_gpu"] or row["max_tokens_per_gpu"]
    stated = [row[name] for name in ("model", "weights", "train", "device")]
    return all([length, batch, *stated])


def words_of(row: Row) -> dict[str, str]:
    """The options that a user has for the run of a report."""
    names = ("model", "gpus", "device", "task", "weights", "train", "infer")
    words = {name: _cell(row, name) for name in names}
    own = OWN_GPUS.search(_cell(row, "parallelism"))
    if own:
        words["gpus"] = own[own.lastindex or 0]
    if _profiled(row):
        words["framework"] = str(row["framework"])
    if _has_own_pool(row):
        words["infer"] = ""
    return words


def _profiled(row: Row) -> bool:
    """Whether a run is of a framework whose profile is asked for; verl's settings are stated."""
    return row["framework"] in profiles().keys() - {VERL}


def _has_own_pool(row: Row) -> bool:
    """Whether the engine has GPUs of its own, or none is named."""
    own = OWN_GPUS.search(_cell(row, "parallelism"))
    return bool(own) or not row["infer"] or "async" in str(row["source_path"])


def settings_of(row: Row, *kinds: str) -> list[str]:
    """The settings of a report, by the rules for reports and for these kinds of rows."""
    facts = {**row, "profiled": _profiled(row), "own_pool": _has_own_pool(row)}
    found = inputs_of(facts, "reports") | _parallel(_cell(row, "parallelism"))
    for kind in kinds:
        found |= inputs_of(facts, kind)
    return as_settings(found)


_ENGINE_SIZES = {"TP": "tensor", "DP": "data", "EP": "expert"}


def _parallel(text: str) -> dict[str, float]:
    """`TP=4 PP=2 EP=8; gen TP=1`: the sizes while training, and of the engine."""
    training, _, engine = text.partition("gen")
    names = {
        "TP": "tensor",
        "PP": "pipeline",
        "EP": "expert",
        "CP": "context",
        "SP": "context",
    }
    sizes: dict[str, int] = {}
    for name, written in re.findall(r"\b([TPESC]P)=(\d+)", training):
        sizes[name] = int(written)
    found: dict[str, float] = {}
    for name, size in sizes.items():
        if size > 1 or name == "TP":
            found[f"{names[name]}_parallel"] = size
    of_experts = re.search(r"ETP=(\d+)", training)
    if of_experts:
        found["expert_tensor_parallel"] = int(of_experts[1])
    elif sizes.get("EP", 1) > 1:
        found["expert_tensor_parallel"] = 1
    elif sizes:
        found["expert_tensor_parallel"] = sizes.get("TP", 1)
    of_engine = dict(re.findall(r"\b(TP|DP|EP)=(\d+)", engine))
    if of_engine.get("EP") in {None, of_engine.get("TP")}:
        # Without EP it counts engines; with as much TP it is within them, as in SGLang.
        of_engine.pop("DP", None)
    for name, size in of_engine.items():
        found[f"engine_{_ENGINE_SIZES[name]}_parallel"] = int(size)
    return found


def _of_report(row: Row, found: Estimate) -> Case:
    measured_gb = None
    if row["statement"] == "measured-run":
        measured_gb = row["peak_train_memory_gb"] or row["peak_memory_gb"]
    share = 1.0
    if not row["peak_train_memory_gb"]:  # the peak of all phases, also of the rollout
        share = _whole_share(found)
    outcome = row["outcome"]
    if measured_gb:
        outcome = "peak"
    kind = "report"
    if _profiled(row):
        kind = ASKED
    return _case(
        found,
        share,
        id=row["report"],
        kind=kind,
        project=_cell(row, "framework"),
        model=row["model"],
        weights=row["weights"],
        gpus=row["gpus"],
        outcome=outcome,
        known=bool(row["max_tokens_per_gpu"]),
        measured_gb=measured_gb,
        source=row["source_url"],
    )


def trials(dataset: Dataset) -> Iterator[Case]:
    """Each tried batch of a record, at the micro batch that follows from it."""
    for script, tried in dataset.by_script["trials"].items():
        record = dataset.by_key["tuning"][script]
        path = dataset.script(str(script))
        start = estimate(dataset, {}, (), str(path))
        gpus = start.values["gpus"]
        share = start.values["context_parallel"] / gpus
        for row in tried:
            outcome = "out-of-memory"
            if row["outcome"] == "ran":
                outcome = "ran"
            micro = max(1.0, float(str(row["batch"])) * share)
            yield _case(
                start.with_inputs(micro_batch=micro),
                id=f"{script}#{row['order']}",
                kind="trial",
                project="verl",
                model=record["model"],
                weights="lora",
                gpus=int(gpus),
                outcome=outcome,
                known=False,
                measured_gb=None,
                source=record["source"],
            )


def pytorch(dataset: Dataset, skipped: list[str]) -> Iterator[Case]:
    """The steps that PyTorch accounted for on fake tensors: what it would allocate."""
    slugs = {str(row["slug"]): row for row in dataset.records["models"]}
    for row in _rows("memory_oracle.csv"):
        model = slugs.get(row["model"])
        if model is None:
            skipped.append(f"{row['id']}: model not known")
            continue
        words = {"model": str(model["model"]), "gpus": row["ranks"], "memory": "80"}
        words["train"] = TRAIN[row["strategy"]]
        settings = as_settings(inputs_of(row, "pytorch"))
        found = estimate(dataset, words, settings)
        release, _, _ = row["torch"].partition("+")
        yield _case(
            found,
            _read_share(found, "allocated"),
            id=row["id"],
            kind="pytorch",
            project=f"PyTorch {release}",
            model=model["model"],
            weights=row["weights"],
            gpus=int(row["ranks"]),
            outcome="peak",
            known=True,
            measured_gb=float(row["peak_gb"]),
            verdict="",
            source="",
        )


def questions(dataset: Dataset, name: str, kind: str) -> Iterator[Case]:
    """The runs of a file, each asked with the arguments of a careful user."""
    for row in _rows(name):
        with chdir(HERE.parent):
            arguments = PARSER.parse_args(["estimate", *shlex.split(row["arguments"])])
            words = {name: getattr(arguments, name) for name in (*WORDS, *NUMBERS)}
            found = estimate(dataset, words, arguments.set, arguments.script)
        # PyTorch counts its own process, other readings the whole GPU with an engine on it.
        share = _whole_share(found)
        if row["peak_kind"] in NOT_READ:
            share = _read_share(found, row["peak_kind"])
        yield _case(
            found,
            share,
            _least_read(found, row["peak_kind"]),
            id=row["id"],
            kind=kind,
            project=row["project"],
            model=found.configuration.model,
            weights=arguments.weights,
            gpus=int(found.values["gpus"]),
            outcome=row["outcome"],
            known=found.tokens_known,
            measured_gb=_figure(row["peak_gb"]),
            source=row["source"],
        )


class HostCase(NamedTuple):
    """What a run took or had of the host memory of a node, in GB, with its estimate.

    `each_loads`: each process loads the whole model.
    """

    id: str
    project: str
    each_loads: bool
    read: str
    measured_gb: float
    estimated_gb: float
    low_gb: float
    high_gb: float
    agrees: bool

    @property
    def usual_gb(self) -> float:
        """It does not depend on the lengths of sequences."""
        return self.estimated_gb


def hosts(dataset: Dataset, skipped: list[str]) -> Iterator[HostCase]:
    """The reports and records that state host memory.

    `peak` is what a run took. Of other figures it is known that the run needed no more (`ran`) or
    more (`out-of-memory`).
    """
    for row in dataset.records["reports"]:
        if row["host_memory_gb"] and row["gpus"]:
            try:
                found = estimate(dataset, _host_words(row), settings_of(row, "hosts"))
            except UnusableInput as error:
                skipped.append(f"{row['report']}: {error}")
                continue
            yield _host_case(str(row["report"]), row, found)
    for row in dataset.records["tuning"]:
        if row["host_memory_gb"]:
            path = dataset.script(str(row["script"]))
            found = estimate(dataset, {}, (), str(path))
            yield _host_case(str(row["script"]), row, found)


def _host_words(row: Row) -> dict[str, str]:
    words = words_of(row)
    words["model"] = str(row["model"] or row["model_as_published"])
    words["gpus"] = str(row["gpus"])
    if not words["device"]:
        words["memory"] = str(row["device_memory_gb"] or 80)
    return words


def _host_case(id_: str, row: Row, found: Estimate) -> HostCase:
    stated_gb = float(str(row["host_memory_gb"]))
    read = "ran"
    notes = str(row["notes"])
    if row.get("out_of_memory_on") == "host":
        read = "out-of-memory"
    elif HOST_PEAK.search(notes):
        read = "peak"
    estimated_gb = found.host_memory_gb
    project = str(row["framework"] or "")
    if "EasyR1" in notes or project == "easyr1":
        project = "easyr1"
        stated_gb *= GB_PER_GIB  # it prints GiB
    if project == "easyr1" and read == "peak":
        # It reads them in the update, when nothing waits in host memory.
        estimated_gb = found.values["host_update"] / GB
    least, most = found.host_interval_gb
    low = least / found.host_memory_gb * estimated_gb
    high = most / found.host_memory_gb * estimated_gb
    agrees = {
        "ran": low <= stated_gb,
        "out-of-memory": high >= stated_gb,
        "peak": low <= stated_gb <= high,
    }
    figures = [round(gb, 1) for gb in (stated_gb, estimated_gb, low, high)]
    each = bool(found.values["loads_per_process"])
    return HostCase(id_, project, each, read, *figures, agrees[read])


def left_out(cases: Sequence[Case]) -> Iterator[Case]:
    """The cases with the interval that the other projects give: their 5 % and 95 % quantiles."""
    for case in cases:
        if case.kind in APART:
            yield case  # as it was answered
            continue
        low, high = factors(_alike(cases, case.known, without=case.project))
        low_gb = round(case.usual_gb * low, 3)
        high_gb = round(case.estimated_gb * high, 3)
        yield case._replace(low_gb=low_gb, high_gb=high_gb)


def _alike(cases: Iterable[Case], known: bool, without: str = "") -> list[Case]:
    """The peaks that set an interval: those whose tokens are known, or the others."""
    return [
        case
        for case in cases
        if case.measured_gb
        and case.kind not in {"pytorch", VARIED, *APART}
        and case.known == known
        and case.project != without
    ]


def factors(cases: Sequence[Case | HostCase]) -> tuple[float, float]:
    """Measured by estimated: the quantiles over all projects, by the root of their number of runs.

    So a project with many runs of one script does not decide alone. The lower one is of the
    estimate with usual lengths, as in conformalized quantile regression (arXiv 1905.03222): where
    the two estimates differ much, the interval is wide.
    """
    runs = Counter(case.project for case in cases)
    weights = [runs[case.project] ** -0.5 for case in cases]
    under = [case.usual_gb / (case.measured_gb or 0) for case in cases]
    over = [(case.measured_gb or 0) / case.estimated_gb for case in cases]
    return 1 / _quantile(under, weights), _quantile(over, weights)


def _quantile(ratios: list[float], weights: list[float], share: float = 0.95) -> float:
    """What a share stays below, the case still to come among them with an average weight."""
    if not ratios:
        return 1.0
    to_come = 1 / len(ratios)
    wanted = share * sum(weights) * (1 + to_come)
    passed = 0.0
    weighted = zip(ratios, weights, strict=True)
    for ratio, weight in sorted(weighted):
        passed += weight
        if passed >= wanted:
            return ratio
    return max(ratios)


def plausible_values() -> Iterator[tuple[str, float, float]]:
    """What eight of ten measured runs have of the inputs that a question may leave open.

    A project weighs as the root of its number of runs.
    """
    rows = _rows("measured.csv")
    runs = Counter(row["project"] for row in rows)
    for name in LEFT_OPEN:
        values: list[float] = []
        weights: list[float] = []
        for row in rows:
            with suppress(UnusableInput, KeyError):
                values.append(_given(row)[name])
                weights.append(runs[row["project"]] ** -0.5)
        low = -_quantile([-value for value in values], weights, 0.9)
        yield name, low, _quantile(values, weights, 0.9)


def costs(dataset: Dataset) -> Iterator[dict[str, object]]:
    """What it costs to leave an input out: runs that it changes, the median error, those within."""
    known = list(measured(dataset, []))
    for name in LEFT_OPEN:
        off: list[float] = []
        within: list[bool] = []
        for case, other in zip(known, measured(dataset, [], name), strict=True):
            peak = case.measured_gb
            is_same = isclose(case.estimated_gb, other.estimated_gb)
            if not peak or other.kind == VARIED or is_same:
                continue
            off.append(abs(other.estimated_gb / peak - 1))
            within.append(other.low_gb <= peak <= other.high_gb)
        yield {
            "input": name,
            "runs": len(within),
            "median": round(median(off), 4),
            "within": round(mean(within), 4),
        }


def main() -> None:
    """Write the cases, print the errors."""
    lines = [
        f"{name} = [{low:g}, {high:g}]\n" for name, low, high in plausible_values()
    ]
    PLAUSIBLE.write_text(f"{PLAUSIBLE_TITLE}\n{''.join(lines)}", encoding="utf-8")
    dataset = load(HERE.parent)
    skipped: list[str] = []
    cases = [*measured(dataset, skipped), *reports(dataset, skipped)]
    cases += [*trials(dataset), *pytorch(dataset, skipped)]
    cases += questions(dataset, "strangers.csv", STRANGER)
    cases += questions(dataset, "asked.csv", ASKED)
    on_host = list(hosts(dataset, skipped))
    _write("backtest_assumed.csv", costs(dataset))
    written = _write("backtest.csv", left_out(cases))
    host_written = _write("host_memory.csv", on_host)
    found = pl.concat([errors(written), host_errors(host_written)])
    found.write_csv(HERE / "backtest_errors.csv", float_precision=4)
    for row in found.iter_rows(named=True):
        print(
            "{by} {group}: {runs} runs, median {median:.1%}, 90 % {ninth:.1%}, "
            "within the interval {within:.0%}".format(**row)
        )
    decided = Counter((case.outcome, case.verdict) for case in cases if case.verdict)
    for (outcome, verdict), count in decided.items():
        print(f"{outcome} {verdict}: {count}")
    peaks = [case for case in on_host if case.read == "peak"]
    intervals = {
        "tokens": _alike(cases, known=True),
        "longest": _alike(cases, known=False),
        "host": [case for case in peaks if not case.each_loads],
        "host_of_each": [case for case in peaks if case.each_loads],
    }
    for name, chosen in intervals.items():
        print("{} = {:.2f}, {:.2f}".format(name, *factors(chosen)))
    wrong = [case.id for case in on_host if not case.agrees]
    print(f"host memory: {len(wrong)} of {len(on_host)} disagree: {', '.join(wrong)}")
    print(f"{len(skipped)} rows without an estimate")


def _write(name: str, rows: Iterable[Any]) -> pl.DataFrame:
    """Write a table of this folder; return it as it is read from there."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    unknown_as_null = pl.col(pl.String).replace("", None)
    table.with_columns(unknown_as_null).write_csv(HERE / name)
    return pl.read_csv(HERE / name, infer_schema_length=None)


def errors(cases: pl.DataFrame) -> pl.DataFrame:
    """How far estimates are off of measured peaks.

    Of all that a GPU ran in a calibrated project, and of groups of runs.
    """
    tokens_known = pl.lit("tokens known")
    longest_known = pl.lit("only the longest sequence known")
    measured_ones = cases.filter(pl.col("measured_gb") > 0)
    peaks = measured_ones.with_columns(
        all=pl.lit("all"),
        length=pl.when("known").then(tokens_known).otherwise(longest_known),
    )
    calibrated = peaks.filter(~pl.col("kind").is_in(APART))
    on_gpus = calibrated.filter(pl.col("kind") != "pytorch")
    by = (_errors(calibrated, name) for name in ("length", "project"))
    return pl.concat([_errors(on_gpus, "all"), _errors(peaks, "kind"), *by])


def host_errors(cases: pl.DataFrame) -> pl.DataFrame:
    """The same of host memory, by project."""
    peaks = cases.filter(pl.col("read") == "peak")
    named = peaks.with_columns(pl.col("project").fill_null("other").alias(HOST))
    return _errors(named, HOST)


def _errors(peaks: pl.DataFrame, by: str) -> pl.DataFrame:
    """The relative errors of each group, the groups with most runs first.

    Their median and 90th percentile, and the share of peaks within the interval.
    """
    measured_gb = pl.col("measured_gb")
    ratio = pl.col("estimated_gb") / measured_gb
    off = (ratio - 1).abs()
    is_within = measured_gb.is_between("low_gb", "high_gb")
    found = peaks.group_by(group=pl.col(by)).agg(
        runs=pl.len(),
        median=off.median(),
        ninth=off.quantile(0.9, "higher"),
        within=is_within.mean(),
    )
    most_of_half, most_of_nine_in_ten = GOALS
    misses_half = pl.col("median") > most_of_half
    misses_nine_in_ten = pl.col("ninth") > most_of_nine_in_ten
    misses = misses_half | misses_nine_in_ten
    found = found.select(pl.lit(by).alias("by"), pl.all(), misses.alias("misses"))
    return found.sort("runs", "group", descending=[True, False])


if __name__ == "__main__":
    main()
