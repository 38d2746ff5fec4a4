"""Answers in words.

The functions here choose a template of `wording` and fill it in. The page of the site does the same
with the same templates, which are published beside the data.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Iterator, Sequence

from rl_resources.query.configurations import Configuration
from rl_resources.query.fit import (
    CLAIMED,
    FAILED,
    NOT_RUN,
    SHOULD_FIT,
    TESTED,
    UNCLEAR,
    same_stack,
)
from rl_resources.query.question import Question
from rl_resources.query.wording import FIGURES, SENTENCES, SPANS, number, say


def resource(row: Configuration) -> str:
    """The accelerators of a configuration: `2 x h800 (80 GB)`."""
    most = say("to", gpus=row.gpus_maximum) if row.gpus_maximum else ""
    each = "memory-at-most" if _at_most(row) else "memory-each"
    memory = say(each, memory=number(row.memory_gb)) if row.memory_gb else ""
    return say("resource", gpus=f"{row.gpus}{most}", device=row.device_label, memory=memory)


def _at_most(row: Configuration) -> bool:
    """Whether the memory of one device is only known as the most that it can be."""
    return not row.device and len(row.possible_devices) > 1


def asked_hardware(question: Question) -> str:
    """The hardware of a question: `8 x h100`; blank where it is open."""
    device = question.device or (_each(question.memory_gb, "") if question.memory_gb else "")
    if not question.gpus:
        return device
    if device:
        return say("resource", gpus=question.gpus, device=device, memory="")
    return say("accelerator" if question.gpus == 1 else "accelerators", gpus=question.gpus)


def _each(memory_gb: float, device: str) -> str:
    if memory_gb:
        return say("gigabytes", memory=number(memory_gb))
    return device or say("unknown-device")


def reason(question: Question, row: Configuration, fit: str) -> str:
    """One sentence that says why a configuration is told."""
    on, yours = resource(row), asked_hardware(question)
    if fit == TESTED:
        within = "" if question.gpus in {0, row.gpus} else say("within", yours=yours)
        return say(fit, ran=_ran(row), resource=on, within=within)
    if fit == SHOULD_FIT:
        return say(fit, ran=_ran(row), resource=on, yours=yours)
    if fit == CLAIMED:
        return say(f"claimed-{row.statement}", resource=on)
    if fit == FAILED:
        which = {"gpu": "GPU ", "host": "host "}.get(row.out_of_memory_on, "")
        return say(fit, which=which, resource=on, beside=_beside(question, row))
    if fit == UNCLEAR:
        name = row.evidence_level if row.evidence_level in NOT_RUN else "one-of-several"
        return say(name, resource=on, devices=", ".join(row.possible_devices), yours=yours)
    return missing(question, row)


def _ran(row: Configuration) -> str:
    return say("ran-record" if row.kind == "record" else f"ran-{row.evidence_level}")


def _beside(question: Question, row: Configuration) -> str:
    """How the hardware of a failure differs from that of the question."""
    compared = (
        ("fewer-accelerators", "more-accelerators", row.gpus, question.gpus),
        ("less-memory", "more-memory", 0 if _at_most(row) else row.memory_gb, question.memory_gb),
    )
    names = [
        more if has > asked else less
        for less, more, has, asked in compared
        if asked and has and has != asked
    ]
    return say("beside", differences=" and ".join(map(say, names))) if names else ""


def missing(question: Question, row: Configuration) -> str:
    """What the hardware lacks: `needs 2 x 80 GB, you have 1 x 24 GB`."""
    if not same_stack(question, row):
        vendor = row.vendor or say("unknown-vendor")
        return say("another-vendor", resource=resource(row), vendor=vendor, own=question.vendor)
    return say("needs", need=_need(row), have=_have(question))


def _need(row: Configuration) -> str:
    return f"{row.gpus} x {_each(row.memory_gb, row.device_label)}"


def _have(question: Question) -> str:
    each = _each(question.memory_gb, question.device)
    if question.gpus:
        return f"{question.gpus} x {each}"
    return say("any-number", device=question.device or say("any-device", memory=each))


def of_size(row: Configuration) -> str:
    """What another model than the asked one needs at least."""
    return say("smallest-of-size", size=row.size, model=row.model_label, need=_need(row))


def instead(kind: str, question: Question, row: Configuration, fit: str) -> str:
    """What fits when something of the question is given up."""
    what = say(
        "shorter-unknown" if kind == "shorter" and not row.length else kind,
        context=context(row),
        software=" ".join(filter(None, (row.framework_label, row.backends_label))),
        tag=question.tag,
        scenario=question.scenario,
        weights=row.conditions[0],
        size=row.size,
        model=row.model_label,
        task=row.task_label,
    )
    return say("instead", what=what, fits=say(f"instead-{fit}"), resource=resource(row))


def headline(question: Question, tested: int, fitting: int, claimed: int) -> str:
    """What was asked, and how many answers of each fit there are."""
    asked = [question.model or question.size, question.task, question.weights, question.scenario]
    asked += [say("headline-length", length=question.length)] if question.length else []
    asked += [question.framework, question.train, question.infer, question.tag]
    what = ", ".join(filter(None, asked)) or say("any-model")
    yours = asked_hardware(question)
    on = say("headline-on", yours=yours) if yours else ""
    return say("headline", what=what, on=on, tested=tested, fitting=fitting, claimed=claimed)


def smallest(row: Configuration, name: str = "smallest") -> str:
    """The configuration that needs the least memory in all, or does with all weights trained."""
    return say(
        name,
        model=row.model_label,
        task=row.task_label,
        resource=resource(row),
        conditions=", ".join(row.conditions),
    )


def longest_context(row: Configuration, fit: str) -> str:
    """The configuration with the longest context."""
    fits = say("that-should-fit") if fit == SHOULD_FIT else ""
    words = {"model": row.model_label, "task": row.task_label, "longest": longest(row)}
    return say("longest-context", fits=fits, **words)


def which(what: str, row: Configuration) -> str:
    """A sentence with the record or report that it tells of, for those who cannot follow a link."""
    return say("which", what=what, kind=row.kind, id=row.id)


def longest(row: Configuration) -> str:
    """The context of a configuration and where it ran."""
    if not row.length:
        return say("not-known")
    return say("longest", context=context(row), resource=resource(row))


def context(row: Configuration) -> str:
    """The context of a configuration, as far as it is told."""
    whole = row.max_total_length or (row.max_prompt_length and row.max_response_length)
    return say("context" if whole else "context-of-part", length=row.length)


def figures(row: Configuration) -> Iterator[str]:
    """What is known of batch, rollouts, memory and time."""
    if row.batch:
        own = f"batch-{row.batch_unit}"
        yield say(own if own in SENTENCES else "batch", batch=row.batch, unit=row.batch_unit)
    for name in FIGURES:
        if value := getattr(row, name):
            yield say(name, figure=number(value))


def series(rows: Sequence[Configuration]) -> str:
    """How many are told as one, and from what to what they differ; blank for a single one."""
    if len(rows) == 1:
        return ""
    spans = [span for name in SPANS if (span := _span(name, rows))]
    name = "series" if spans else "series-alike"
    return say(name, number=len(rows), spans="; ".join(spans))


def _span(name: str, rows: Iterable[Configuration]) -> str:
    """Blank where all that is known is one figure, or batches are told in several units."""
    told = [row for row in rows if getattr(row, name)]
    known = {getattr(row, name) for row in told}
    if len(known) < 2 or (name == "batch" and len({row.batch_unit for row in told}) > 1):
        return ""
    return say(f"span-{name}", least=number(min(known)), most=number(max(known)))


def evidence(row: Configuration) -> Iterator[str]:
    """Why a configuration may be believed: kind, status, evidence, software, age."""
    yield f"{row.kind}, {row.evidence_level.replace('-', ' ')}"
    if row.evidence_kind:
        yield row.evidence_kind.replace("-", " ")
    if row.wording:
        yield say("in-its-words", wording=row.wording)
    if software := " ".join(filter(None, (row.framework_label, row.backends_label))):
        yield software
    yield from row.remarks


def doubts(row: Configuration) -> Iterator[str]:
    """Trials that failed, and the notes, which say what is disputed."""
    if row.failed_batches:
        yield say("failed-batches", batches=", ".join(map(str, row.failed_batches)))
    if row.notes:
        yield say("disputed" if row.evidence_level == "disputed" else "note", notes=row.notes)


def contradicted(other: Configuration) -> str:
    """What another report says against one."""
    return say(
        "contradicted",
        model=other.model_label,
        task=other.task_label,
        outcome=(
            other.conditions[-1] if other.outcome == "ran" else say("contradicted-out-of-memory")
        ),
        resource=resource(other),
    )


def start(row: Configuration, root: str = "") -> str:
    """The command that starts a record's script from its `root`, or with one from anywhere."""
    return say("start", script=shlex.quote(posixpath.join(root, row.script)))
