"""An estimate as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from rl_resources.estimate.estimate import ROLLOUT, Estimate, Knob, knobs, limits
from rl_resources.estimate.formula import inputs_by_name
from rl_resources.text import json_text

_KNOBS_SHOWN = 8


def inputs_as_text() -> str:
    """The inputs of the formula, each with its meaning and the framework's keys."""
    lines = []
    for name, item in inputs_by_name().items():
        unit = f" ({item['unit']})" if "unit" in item else ""
        lines += [name, f"    {item['title']}{unit}"]
        lines += [f"    {key}" for key in dict.fromkeys(item.get("key", {}).values())]
    return "\n".join(lines) + "\n"


def as_json(estimate: Estimate) -> str:
    """The estimate with its knobs and limits."""
    found = [_knob(knob) for knob in knobs(estimate)]
    return json_text({**estimate.as_dict(), "knobs": found, "limits": limits(estimate)}, 2)


def _knob(knob: Knob) -> dict[str, Any]:
    saves = {phase: round(gb, 2) for phase, gb in knob.saves.items()}
    found = {"setting": knob.setting, "saves_gb": saves, "price": knob.price}
    return {**found, "line": knob.line or None}


def as_text(estimate: Estimate) -> str:
    """The estimate for a terminal."""
    return "\n".join(_lines(estimate)) + "\n"


def _lines(estimate: Estimate) -> Iterator[str]:
    low, high = estimate.interval_gb
    configuration = estimate.configuration
    gpus = int(estimate.values["gpus"])
    of = f"{gpus} GPU{'s' if gpus > 1 else ''}, {configuration.train}"
    yield f"Estimated, not tested: {configuration.model} on {of}. GB are 10⁹ bytes of one GPU."
    yield from _given(estimate)
    yield ""
    peak = (
        f"{estimate.peak_gb:.1f} GB at the peak of training, 90 % interval {low:.1f} to {high:.1f}"
    )
    yield f"{estimate.verdict}: {peak}, of {estimate.device_gb:.1f} GB."
    yield estimate.reason
    if ROLLOUT in estimate.phases:
        yield rollout(estimate)
    if estimate.host_memory_gb >= 1:
        yield f"Host memory: {estimate.host_memory_gb:.0f} GB over all nodes for what is offloaded."
    yield from _table(estimate)
    yield from _turns(knobs(estimate))
    yield from _limits(limits(estimate))
    yield from _assumed(estimate)


def _given(estimate: Estimate) -> Iterator[str]:
    """The inputs that the question or the script gives."""
    assumed = {item.input for item in estimate.configuration.assumed}
    names = (name for name in inputs_by_name() if name not in assumed)
    given = ", ".join(f"{name} {estimate.values[name]:g}" for name in names)
    yield from wrap(f"Given: {given}", 100, subsequent_indent="  ")


def _assumed(estimate: Estimate) -> Iterator[str]:
    """What nobody gave, by the reason for the value that was taken."""
    by_reason: dict[str, list[str]] = {}
    for item in estimate.configuration.assumed:
        by_reason.setdefault(item.reason, []).append(f"{item.input} {item.value:g}")
    yield ""
    yield "Assumed (--set NAME=VALUE changes it):"
    for reason, items in by_reason.items():
        yield from wrap(
            f"{reason}: {', '.join(items)}", 98, initial_indent="  ", subsequent_indent="    "
        )


def rollout(estimate: Estimate) -> str:
    """What the rollout engine takes, and why it does not start where it does not."""
    tokens, wanted = estimate.values["kv_tokens"], estimate.values["sequence_length"]
    moment = estimate.phases[ROLLOUT]
    found = f"Rollout: {moment.peak_gb:.1f} GB with a KV cache for {int(tokens):,} tokens."
    if moment.peak_gb > estimate.device_gb:
        return f"{found} That is more than the GPU has: {moment.name} does not fit."
    if tokens < wanted:
        return f"{found} One sequence may have {wanted:,.0f}: the engine does not start."
    return found


def _table(estimate: Estimate) -> Iterator[str]:
    """A row for each component, a column for each phase."""
    phases = estimate.phases
    titles = list(dict.fromkeys(title for item in phases.values() for title in item.components))
    width = max(map(len, titles)) + 2
    yield ""
    yield " " * width + "".join(f"{phase:>12}" for phase in phases)
    for title in titles:
        cells = (item.components.get(title) for item in phases.values())
        shown = ("" if gb is None or gb < 0.005 else f"{gb:.2f}" for gb in cells)
        yield f"{title:<{width}}" + "".join(f"{cell:>12}" for cell in shown)
    yield f"{'peak':<{width}}" + "".join(f"{item.peak_gb:>12.2f}" for item in phases.values())
    yield f"{'at':<{width}}" + ", ".join(f"{phase}: {item.name}" for phase, item in phases.items())


def _turns(found: list[Knob]) -> Iterator[str]:
    yield ""
    yield "What would lower it:" if found else "No setting that is known here would lower it."
    for knob in found[:_KNOBS_SHOWN]:
        saves = ", ".join(f"{-gb:+.1f} GB in {phase}" for phase, gb in knob.saves.items())
        line = f" (line {knob.line})" if knob.line else ""
        yield f"  {knob.setting}{line}: {saves}. Price: {knob.price}."


def _limits(found: dict[str, int | None]) -> Iterator[str]:
    words = {
        "gpus": "fewest GPUs of this device",
        "micro_batch": "largest micro batch",
        "max_tokens": "most tokens of a micro batch",
        "response_length": "longest response",
    }
    values = {words[name]: value for name, value in found.items() if value}
    yield ""
    if values:
        written = ", ".join(f"{words} {value:,}" for words, value in values.items())
        yield f"That fits, all else unchanged: {written}."
    else:
        yield "No number of GPUs, micro batch or length alone makes it fit."
