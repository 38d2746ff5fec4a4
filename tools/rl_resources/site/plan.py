"""Answers of `plan`: text for a person, JSON for a program."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rl_resources.certainty import ESTIMATED
from rl_resources.estimate.estimate import ROLLOUT, Estimate
from rl_resources.estimate.frameworks import VERL, profiles
from rl_resources.estimate.plan import FITS, RECOMMENDED, counts_up_to, rare_settings, turned_on
from rl_resources.estimate.search import Turn
from rl_resources.estimate.time import lacking, step_time
from rl_resources.query.plan import Answer, Plan, PlanTable, ScriptPlan
from rl_resources.query.plan_question import KnownRun, sentences
from rl_resources.query.sentences import asked_hardware, context, resource
from rl_resources.query.vocabulary import WEIGHTS, vocabulary
from rl_resources.site.answers import table_as_json, table_as_text
from rl_resources.site.templates import rendered
from rl_resources.text import json_text

_MOST_RUNS = 3
OF_LORA = frozenset({"layered_summon"})
"""Settings that only adapters need."""
_MOST_FAILURES = 2


def plan_as_text(plan: Plan, asked: Mapping[str, str], *, verbose: bool = False) -> str:
    """The answer: at most six lines, MIN beside RECOMMENDED, then a line per run."""
    question = plan.question
    runs = question.ran(question.weights)
    failures = question.failed
    if not verbose:
        runs = runs[:_MOST_RUNS]
        failures = failures[:_MOST_FAILURES]
    return rendered(
        "plan.txt",
        first=_first(plan),
        lines=list(_lines(plan, asked)),
        options=list(_options(plan)),
        runs=[_run(known) for known in runs],
        failures=[_run(known) for known in failures],
    )


def _what(plan: Plan, name: str) -> str:
    """What is trained and how: `GRPO of Qwen2.5-7B-Instruct, full fine-tuning,`."""
    question = plan.question
    return f"{question.task} of {name}, {WEIGHTS[question.weights]},"


def _hardware(plan: Plan) -> str:
    query = plan.question.query
    if not query.gpus:
        gpus = int(plan.shown.values["gpus"])
        query = query._replace(gpus=gpus)
    return asked_hardware(query, vocabulary(plan.question.dataset))


def _first(plan: Plan) -> str:
    sentence: str = sentences()["verdict"][plan.verdict]
    runs = plan.question.ran(plan.question.weights)
    asked = plan.question.model.rpartition("/")[2]
    ran = ""
    model = asked
    if runs and plan.verdict.startswith("yes"):
        ran = _where(runs[0])
        model = runs[0].row.model_label
    if plan.verdict == "probably":
        ran = _where(plan.question.ran_on_no_more(_gigabytes(plan.shown))[0])
    failed = ""
    if plan.verdict == "failed":
        failed = _where(plan.question.failed_alike[0])
    what = _what(plan, model)
    hardware = _hardware(plan)
    return sentence.format(what=what, model=asked, hardware=hardware, ran=ran, failed=failed)


def _gigabytes(found: Estimate) -> float:
    """The memory of all GPUs."""
    return found.values["gpus"] * found.values["device_gb"]


def _where(known: KnownRun) -> str:
    """Where something ran, and how it differs: `1 × A100 80 GB (TRL, LoRA)`."""
    row = known.row
    differs = [row.framework_label, context(row), known.mark]
    return f"{resource(row)} ({', '.join(filter(None, differs))})"


def _lines(plan: Plan, asked: Mapping[str, str]) -> Iterator[str]:
    said = sentences()["line"]
    found = plan.shown
    if plan.recommended:
        yield _decides(plan, found)
        rare = rare_settings(found)
        if rare:
            yield said["rare"].format(settings=", ".join(rare))
        if plan.adapters:
            gpus = int(plan.adapters.values["gpus"])
            yield said["adapters_too"].format(adapters=WEIGHTS["lora"], gpus=gpus)
    else:
        yield from _short(plan)
    yield _least(plan)
    if plan.question.taken:
        yield said["taken"].format(taken=", ".join(plan.question.taken))
    yield from plan.question.notes
    if plan.options:
        yield _script(plan, asked)


def _decides(plan: Plan, found: Estimate) -> str:
    said = sentences()["line"]
    room = "room_given" if plan.question.start.host_gb else "room_usual"
    gb = plan.question.start.room_gb(found)
    of_room = said[room].format(gb=f"{gb:g}")
    text: str = said["decides"].format(option=RECOMMENDED, room=of_room, **_need(found))
    return text


def _short(plan: Plan) -> Iterator[str]:
    said = sentences()["line"]
    found = plan.shown
    need = found.deciding
    figures = _need(found)
    name = "short"
    if need.high_gb <= found.device_gb:
        name = "short_of_host"
    room = plan.question.start.room_gb(found)
    yield said[name].format(room=f"{room:g}", **figures)
    if plan.verdict.startswith("yes"):
        yield said["believe_run"]
        return
    if plan.more:
        yield said["more"].format(gpus=int(plan.more.values["gpus"]))
    adapters = plan.question.ran("lora") if plan.question.weights == "full" else []
    if adapters:
        yield said["adapters_ran"].format(adapters=WEIGHTS["lora"], ran=_where(adapters[0]))
    elif plan.adapters:
        gpus = int(plan.adapters.values["gpus"])
        yield said["adapters"].format(adapters=WEIGHTS["lora"], gpus=gpus)


def _least(plan: Plan) -> str:
    """The least that ran, and the least by arithmetic."""
    said = sentences()["line"]
    least = plan.question.least(plan.question.weights)
    ran = said["nothing_ran"]
    if least:
        ran = _where(least)
    most = counts_up_to(plan.question.query.gpus)[-1]
    arithmetic = said["nothing_fits"].format(gpus=most)
    if plan.minimum:
        arithmetic = _gpus(plan.minimum)
        rare = rare_settings(plan.minimum)
        if rare:
            arithmetic += f" with {', '.join(rare)}"
    text: str = said["least"].format(ran=ran, arithmetic=arithmetic)
    return text


def _gpus(found: Estimate) -> str:
    gpus = int(found.values["gpus"])
    return f"{gpus} GPU{'s' if gpus > 1 else ''} of {found.values['device_gb']:g} GB"


def _script(plan: Plan, asked: Mapping[str, str]) -> str:
    said = sentences()["line"]
    framework = plan.question.framework
    if framework != VERL:
        title = profiles()[framework]["title"]
        return str(said["no_script"].format(framework=title))
    return str(said["script"].format(command=command(asked)))


def command(asked: Mapping[str, str]) -> str:
    """The command that prints the script of a plan."""
    words = {name.replace("_", "-"): text for name, text in asked.items() if text}
    options = [f"--{name} {shlex.quote(text)}" for name, text in words.items()]
    return " ".join(["rl-resources plan", *options, "--script RECOMMENDED > train.sh"])


def _options(plan: Plan) -> Iterator[str]:
    """RECOMMENDED and MIN, two lines each; what is too small alone where nothing fits."""
    for tag, found in reversed((plan.options or {"Too small": plan.shown}).items()):
        values = found.values
        phases = [f"{phase} {moment.peak_gb:.0f}" for phase, moment in found.phases.items()]
        yield sentences()["option"].format(
            tag=tag,
            gpus=_gpus(found),
            backends=_backends(found),
            settings=", ".join(setting_words(found)),
        )
        yield sentences()["memory_of_option"].format(
            phases=", ".join(phases),
            high=f"{found.deciding.high_gb:.1f}",
            device=f"{found.device_gb:.1f}",
            certainty=ESTIMATED,
            host=f"{found.host_memory_gb:.0f}",
            host_high=f"{found.host_interval_gb[1]:.0f}",
            node=f"{values['local_gpus']:g}",
        )
        yield from _step(tag, found)


def _step(tag: str, found: Estimate) -> Iterator[str]:
    """The time of a step; of RECOMMENDED also why it is recommended."""
    said = sentences()
    step = step_time(found)
    if step and tag in said["step"]:
        yield said["step"][tag].format(
            prompts=found.values["prompts_per_step"],
            rollouts=found.values["rollout_n"],
            certainty=ESTIMATED,
            **step.seconds._asdict(),
        )
    elif tag == RECOMMENDED:
        yield said["no_step"].format(lacking=", ".join(lacking(found)))


def _backends(found: Estimate) -> str:
    return " and ".join(filter(None, [found.configuration.train, found.configuration.infer]))


def setting_words(found: Estimate) -> Iterator[str]:
    """Precision, micro batch, what is on and saves memory, and the parallel sizes, in short."""
    values = found.values
    held = sentences()["held"]
    base = "base" if values["quantized"] else "weights"
    batch = "max_tokens" if values["max_tokens"] else "micro_batch"
    yield held[base].format(bits=f"{8 * values['parameter_bytes']:g}")
    yield held[batch].format_map({batch: f"{values[batch]:g}"})
    words = sentences()["setting"]
    for name, _ in turned_on(found):
        if name in words and (values["lora_rank"] or name not in OF_LORA):
            yield words[name]
    for name, word in sentences()["size"].items():
        size = values[name]
        if size > 1:
            yield f"{word} {size:g}"
    if ROLLOUT in found.phases:
        yield f"utilization {values['gpu_memory_utilization']:.2g}"


def _run(known: KnownRun) -> str:
    row = known.row
    parts = [row.model_label, row.task_label, WEIGHTS.get(row.weights, ""), _where(known)]
    said = ", ".join(filter(None, parts))
    return f"-  {said}: {row.conditions[-1]}. {row.source.split()[0]}"


def answer_as_text(answer: Answer, asked: Mapping[str, str], *, verbose: bool = False) -> str:
    """Any answer of `plan` for a person."""
    match answer:
        case PlanTable():
            return table_as_text(answer)
        case ScriptPlan():
            return script_as_text(answer)
        case Plan():
            return plan_as_text(answer, asked, verbose=verbose)


def answer_as_json(answer: Answer) -> str:
    """Any answer of `plan` for a program."""
    match answer:
        case PlanTable():
            return table_as_json(answer)
        case ScriptPlan():
            return script_as_json(answer)
        case Plan():
            return plan_as_json(answer)


def script_as_text(answer: ScriptPlan) -> str:
    """Whether a script fits, and what to change in it."""
    said = sentences()["script"]
    found = answer.found
    figures = {
        "script": answer.script.rpartition("/")[2],
        "hardware": _gpus(found),
        "ran": answer.ran,
        "room": f"{answer.start.room_gb(found):g}",
        **_need(found),
    }
    turns: Sequence[Turn] = ()
    if answer.combination:
        turns = answer.combination.turns
    name = _word_of_script(answer, turns)
    lines = [said[name].format(**figures), said["phase"].format(**figures)]
    if answer.ran:
        return "\n".join([*lines, *answer.evidence, ""])
    for turn in turns:
        kind = "turn" if turn.line else "new_turn"
        lines.append(said[kind].format(**turn._asdict()))
    if answer.combination and turns:
        lines.append(said["after"].format(**_need(answer.combination.estimate)))
    return "\n".join([*lines, *answer.evidence, ""])


def _word_of_script(answer: ScriptPlan, turns: Sequence[Turn]) -> str:
    """Which sentence says whether a script fits."""
    if answer.ran:
        return "ran"
    is_tight = answer.found.verdict in {"tight", FITS}
    if answer.combination is None:
        return "tight_alone" if is_tight else "impossible"
    if not turns:
        return "fits"
    return "tight" if is_tight else "change"


def _need(found: Estimate) -> dict[str, str]:
    """What decides, as sentences have it."""
    need = found.deciding
    return {
        "phase": need.moment.phase,
        "low": f"{need.low_gb:.1f}",
        "high": f"{need.high_gb:.1f}",
        "device": f"{found.device_gb:.1f}",
        "host": f"{found.host_memory_gb:.0f}",
    }


def script_as_json(answer: ScriptPlan) -> str:
    """The same for a program; no `changes` where none suffices."""
    changes = None
    if answer.combination:
        changes = [turn._asdict() for turn in answer.combination.turns]
    value = {
        "script": answer.script,
        "changes": changes,
        "evidence": list(answer.evidence),
        "estimate": answer.found.as_dict(),
    }
    return json_text(value, 2)


def plan_as_json(plan: Plan) -> str:
    """The answer for a program."""
    question = plan.question
    least = question.least(question.weights)
    value: dict[str, Any] = {
        "dataset_version": question.dataset.version,
        "verdict": plan.verdict,
        "answer": _first(plan),
        "taken": list(question.taken),
        "notes": list(question.notes),
        "options": {tag: _option(plan, found) for tag, found in plan.options.items()},
        "short": plan.short.as_dict() if plan.short else None,
        "more_gpus": plan.more.values["gpus"] if plan.more else None,
        "runs": [known.as_dict() for known in question.ran(question.weights)],
        "failures": [known.as_dict() for known in question.failed],
        "least_that_ran": least.as_dict() if least else None,
    }
    return json_text(value, 2)


def _option(plan: Plan, found: Estimate) -> dict[str, Any]:
    return {
        "gpus": found.values["gpus"],
        "train": found.configuration.train,
        "infer": found.configuration.infer or None,
        "settings": [turn.setting for _, turn in turned_on(found)],
        "certainty": ESTIMATED,
        "host_room_gb": plan.question.start.room_gb(found),
        **found.as_dict(),
    }
