"""Answers of `plan`: text for a person, JSON for a program."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from rl_resources.certainty import ESTIMATED
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.plan import (
    backend_of,
    counts_up_to,
    is_offloaded,
    rare_settings,
    turned_on,
)
from rl_resources.estimate.time import lacking, step_time
from rl_resources.query.configurations import Configuration
from rl_resources.query.find import of_device
from rl_resources.query.plan import (
    Answer,
    Plan,
    PlanTable,
    ScriptPlan,
    fits_gpus,
)
from rl_resources.query.plan import plan as answer_on
from rl_resources.query.plan_question import ask_plan, run_as_dict, sentences
from rl_resources.query.sentences import asked_hardware, context, resource
from rl_resources.query.vocabulary import WEIGHTS, vocabulary
from rl_resources.site import rendered
from rl_resources.site.answers import table_as_json, table_as_text, time_as_dict
from rl_resources.text import json_text

_MOST_RUNS = 3
_MOST_FAILURES = 2


def plan_as_text(
    plan: Plan,
    asked: Mapping[str, str],
    *,
    verbose: bool = False,
    steps: float = 0,
    price: float = 0,
) -> str:
    """The answer: at most six lines, MIN beside RECOMMENDED, then a line per run."""
    question = plan.question
    runs = question.ran(question.weights)
    failures = question.failed
    if not verbose:
        runs = runs[:_MOST_RUNS]
        failures = failures[:_MOST_FAILURES]
    other_framework = ""
    profile = plan.shown.configuration.profile
    if not profile.is_verl:
        other_framework = profile.title
    return rendered(
        "plan.txt",
        plan=plan,
        first=_first(plan),
        larger=_of_larger(plan),
        options=_shown_options(plan),
        runs=runs,
        failures=failures,
        most_gpus=counts_up_to(question.query.gpus)[-1],
        other_framework=other_framework,
        assumed=question.assumed([plan.shown]),
        asked=asked,
        quote=shlex.quote,
        said=sentences(),
        estimated=ESTIMATED,
        weights=WEIGHTS,
        rare=rare_settings,
        fits_gpus=fits_gpus,
        turned_on=turned_on,
        backend_of=backend_of,
        where=_where,
        step_time=step_time,
        steps=steps,
        price=price,
        lacking=lacking,
    )


def _shown_options(plan: Plan) -> dict[str, Estimate]:
    """RECOMMENDED before MIN, or both as one where they are the same; else what does not fit."""
    if not plan.options:
        said: Mapping[str, str] = sentences()["unfit"]
        name = "host" if fits_gpus(plan.shown) else plan.shown.verdict
        return {said.get(name, said["other"]): plan.shown}
    if plan.recommended == plan.minimum:
        return {"RECOMMENDED and MIN": plan.shown}
    return dict(reversed(plan.options.items()))


def _hardware(plan: Plan) -> str:
    """The asked hardware, and that what fits on it is in part in host memory."""
    query = plan.question.query
    values = plan.shown.values
    if not query.gpus:
        query = query._replace(gpus=int(values["gpus"]))
    hardware = asked_hardware(query, vocabulary(plan.question.dataset))
    if not (plan.recommended and is_offloaded(plan.shown)):
        return hardware
    name = "offload"
    if not plan.question.start.surely_holds(plan.shown):
        name = "offload_of_host"
    _, most = plan.shown.host_interval_gb
    sentence: str = sentences()["hardware"][name]
    return sentence.format(hardware=hardware, most=f"{most:.0f}")


def _first(plan: Plan) -> str:
    """The sentence of the verdict; its model is that of the run that it names, where one ran."""
    sentence: str = sentences()["verdict"][plan.sentence]
    question = plan.question
    named = question.query.model or question.words["model"].strip()
    _, _, asked = named.rpartition("/")
    model = asked
    task = question.task.removesuffix("-LoRA")
    run = ""
    if plan.decisive:
        run = _where(plan.decisive)
        if plan.verdict.startswith("yes"):
            model = plan.decisive.model_label
    return sentence.format(
        what=f"{task} of {model}, {WEIGHTS[question.weights]},",
        model=asked,
        hardware=_hardware(plan),
        ran=run,
        failed=run,
    )


def _of_larger(plan: Plan) -> list[str]:
    """The first sentence of each larger memory that the name of the device may mean.

    None where it ran with the least, which is enough for each.
    """
    found: list[str] = []
    if plan.verdict.startswith("yes"):
        return found
    first = plan.question
    dataset = first.dataset
    gpus = first.words.get("gpus") or str(first.query.gpus or "")
    for key in first.larger:
        question = ask_plan(dataset, {**first.words, "device": key, "gpus": gpus})
        said = _first(answer_on(question))
        found.append(of_device(said, question.query, vocabulary(dataset)))
    return found


def _where(row: Configuration) -> str:
    """Where something ran, and how it differs: `1 × A100 80 GB (TRL, LoRA)`."""
    words = [row.framework_label, context(row), *row.differs]
    in_brackets = ", ".join(filter(None, words))
    return f"{resource(row)} ({in_brackets})"


def answer_as_text(
    answer: Answer,
    asked: Mapping[str, str],
    *,
    verbose: bool = False,
    steps: float = 0,
    price: float = 0,
) -> str:
    """Any answer of `plan` for a person; GPU hours of so many steps, their cost at a price.

    Raises `UnusableInput` for steps where the answer is not a plan for some hardware.
    """
    _refuse_hours(answer, steps)
    match answer:
        case PlanTable():
            return table_as_text(answer)
        case ScriptPlan():
            return rendered("plan_script.txt", answer=answer)
        case Plan():
            return plan_as_text(
                answer, asked, verbose=verbose, steps=steps, price=price
            )


def _refuse_hours(answer: Answer, steps: float) -> None:
    said = sentences()
    if steps and not isinstance(answer, Plan):
        raise UnusableInput(said["no_hours"], said["no_hours_help"])


def answer_as_json(answer: Answer, steps: float = 0, price: float = 0) -> str:
    """The same for a program."""
    _refuse_hours(answer, steps)
    match answer:
        case PlanTable():
            return table_as_json(answer)
        case ScriptPlan():
            return script_as_json(answer)
        case Plan():
            return plan_as_json(answer, steps, price)


def script_as_json(answer: ScriptPlan) -> str:
    """The same of a script; no `changes` where none suffices."""
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


def plan_as_json(plan: Plan, steps: float = 0, price: float = 0) -> str:
    """The answer for a program."""
    question = plan.question
    options: dict[str, dict[str, Any]] = {}
    for tag, found in plan.options.items():
        options[tag] = _option(plan, found)
        options[tag]["step_time"] = time_as_dict(found, steps, price)
    least = question.least(question.weights)
    value: dict[str, Any] = {
        "dataset_version": question.dataset.version,
        "verdict": plan.verdict,
        "answer": _first(plan),
        "larger": _of_larger(plan),
        "taken": question.assumed([plan.shown]),
        "notes": list(question.notes),
        "options": options,
        "short": plan.short.as_dict() if plan.short else None,
        "more_gpus": plan.more.values["gpus"] if plan.more else None,
        "runs": list(map(run_as_dict, question.ran(question.weights))),
        "failures": list(map(run_as_dict, question.failed)),
        "least_that_ran": run_as_dict(least) if least else None,
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
