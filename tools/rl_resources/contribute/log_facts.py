"""What a training log adds to a row: figures, releases, and whether the batch fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rl_resources.check.target import Trial
from rl_resources.contribute.facts import Fact, Facts, cell
from rl_resources.contribute.training_log import TrainingLog
from rl_resources.package import TableSchema
from rl_resources.words import shown

FIGURES = ("peak_memory_gb", "step_seconds", "tokens_per_second_per_gpu")
_ENGINES: Mapping[str, str] = {"vllm-ascend": "vllm", "vllm-omni": "vllm"}


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The cells that a log states, the trial that it shows, and remarks about it."""

    facts: Facts
    trial: Trial | None
    remarks: tuple[str, ...]


def log_facts(log: TrainingLog, batch: int | None, infer: str, schema: TableSchema) -> LogFacts:
    """What follows from a log of a script that asks for `batch` prompts per step.

    Figures of a run with another batch belong to no row of this script. A lack of host memory says
    nothing of the GPUs, so it is no trial.
    """
    tried = batch if log.batch is None else log.batch
    other = None not in (batch, log.batch) and batch != log.batch
    figures = {} if other else {name: _figure(log, name, schema) for name in FIGURES}
    releases = {
        "infer_version": _release(log, _ENGINES.get(infer, infer), schema, "infer_version"),
        "framework_version": _release(log, "verl", schema, "framework_version"),
    }
    end = log.out_of_memory
    fits = end is None and bool(log.measured)
    shows = fits or (end is not None and end.memory == "accelerator")
    trial = Trial(tried, fits) if tried is not None and shows else None
    ran = {"statement": Fact("measured-run")} if fits else {}
    remarks = tuple(_remarks(log, batch if other else None))
    return LogFacts({**figures, **releases, **ran}, trial, remarks)


def _figure(log: TrainingLog, name: str, schema: TableSchema) -> Fact:
    value: float | None = getattr(log, name)
    if value is not None:
        return Fact(schema.field(name).write(value))
    if log.out_of_memory:
        return Fact(doubt="the run of the log ran out of memory")
    if not log.measured and name != "peak_memory_gb":
        return Fact(doubt="the log has no step after warm-up that neither validates nor saves")
    return Fact(doubt="the log does not show it")


def _release(log: TrainingLog, program: str, schema: TableSchema, column: str) -> Fact:
    found = log.versions.get(program, set())
    if len(found) > 1:
        return Fact(doubt=f"the log names several releases of {program}")
    return cell(schema.field(column), *found) if found else Fact()


def _remarks(log: TrainingLog, other_batch: int | None) -> Iterator[str]:
    measured, steps = len(log.measured), len(log.steps)
    yield (
        f"{steps} training steps in the log; excluded are {log.warm_up} as warm-up and "
        f"{steps - log.warm_up - measured} that also validate or save; medians are over {measured}"
    )
    if log.earlier_runs:
        yield f"earlier runs in the same log are excluded ({log.earlier_runs})"
    if any(step.summed for step in log.steps):
        yield "the log times no whole step: step seconds are the sum of its `timing/…` parts"
    if log.out_of_memory:
        yield f"out of {log.out_of_memory.memory} memory: {shown(log.out_of_memory.line, 160)}"
    if other_batch is not None:
        yield (
            f"the run used a batch of {log.batch}, but the script asks for {other_batch}: "
            "its figures are not used"
        )
    if log.broken:
        yield f"the file breaks off ({shown(log.broken, 100)}); what comes before counts"
    for program, versions in sorted(log.versions.items()):
        yield f"printed release of {program}: {shown(', '.join(sorted(versions)), 100)}"
