"""What a training log adds to a row: figures, releases, and whether the batch fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rl_resources.check.subject import Trial
from rl_resources.contribute.fact import Fact, Facts, cell
from rl_resources.contribute.training_log import TrainingLog
from rl_resources.package import TableSchema
from rl_resources.words import shown

FIGURES = ("peak_memory_gb", "step_seconds", "tokens_per_second_per_gpu")
_ENGINES: Mapping[str, str] = {"vllm-ascend": "vllm", "vllm-omni": "vllm"}


@dataclass(frozen=True, slots=True)
class Heard:
    """The cells that a log states, the trial that it shows, and what a reader should know."""

    facts: Facts
    trial: Trial | None
    remarks: tuple[str, ...]


def heard(log: TrainingLog, batch: int | None, infer: str, schema: TableSchema) -> Heard:
    """What follows from a log of a script that asks for `batch` prompts a step.

    Figures of a run with another batch belong to no row of this script. Want of host memory says
    nothing of the accelerators, so it is no trial.
    """
    tried = batch if log.batch is None else log.batch
    other = None not in (batch, log.batch) and batch != log.batch
    figures = {} if other else {name: _figure(log, name, schema) for name in FIGURES}
    releases = {
        "infer_version": _release(log, _ENGINES.get(infer, infer), schema, "infer_version"),
        "framework_version": _release(log, "verl", schema, "framework_version"),
    }
    end = log.out_of_memory
    fits = end is None and log.measured > 0
    shows = tried is not None and (fits or (end is not None and end.memory == "accelerator"))
    trial = Trial(tried, fits) if tried is not None and shows else None
    ran = {"statement": Fact("measured-run")} if fits else {}
    return Heard(
        {**figures, **releases, **ran}, trial, tuple(_remarks(log, batch if other else None))
    )


def _figure(log: TrainingLog, name: str, schema: TableSchema) -> Fact:
    value: float | None = getattr(log, name)
    if value is not None:
        return Fact(schema.field(name).write(value))
    if log.out_of_memory:
        return Fact(doubt="the run of the log ran out of memory")
    if log.measured == 0 and name != "peak_memory_gb":
        return Fact(doubt="the log has no step after warm-up that neither validates nor saves")
    return Fact(doubt="the log does not tell it")


def _release(log: TrainingLog, program: str, schema: TableSchema, column: str) -> Fact:
    if program in log.unsure:
        return Fact(doubt=f"the log names several releases of {program}")
    return cell(schema.field(column), log.versions.get(program, ""))


def _remarks(log: TrainingLog, other_batch: int | None) -> Iterator[str]:
    """What was seen and what was left out, in sentences."""
    yield (
        f"{log.steps} training steps seen; {log.warm_up} left out as warm-up, {log.interrupted} "
        f"because they also validate or save; medians are over {log.measured}"
    )
    if log.earlier_runs:
        runs = "run" if log.earlier_runs == 1 else "runs"
        yield f"{log.earlier_runs} earlier {runs} in the same log left out"
    if log.summed:
        yield "the log times no whole step: step seconds are the sum of its `timing/…` parts"
    if log.validations:
        yield f"{log.validations} validations without a training step are left out"
    if log.out_of_memory:
        kind = {"accelerator": "accelerator", "host": "host"}[log.out_of_memory.memory]
        yield f"the run ended for want of {kind} memory: {shown(log.out_of_memory.line, 160)}"
    if other_batch is not None:
        yield (
            f"the run used a batch of {log.batch}, but the script asks for {other_batch}: "
            "its figures are not taken"
        )
    if log.unreadable:
        yield f"{log.unreadable} lines cannot be read and are left out"
    if log.damage.cut_lines:
        yield f"{log.damage.cut_lines} lines are too long and were cut"
    if log.damage.broken_at:
        yield f"the file breaks off ({shown(log.damage.broken_at, 100)}); what comes before counts"
    if log.versions:
        yield "printed releases: " + ", ".join(
            f"{program} {shown(version)}" for program, version in sorted(log.versions.items())
        )
