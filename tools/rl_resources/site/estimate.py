"""An estimate as text and JSON."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from rl_resources.estimate.estimate import Estimate, Knob, knobs, limits
from rl_resources.estimate.formula import inputs_by_name
from rl_resources.site.templates import rendered
from rl_resources.text import json_text


def inputs_as_text() -> str:
    """The inputs of the formula, each with its meaning and the framework's keys."""
    return rendered("inputs.txt", inputs=inputs_by_name())


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
    return rendered(
        "estimate.txt",
        estimate=estimate,
        inputs=inputs_by_name(),
        knobs=knobs(estimate),
        limits=limits(estimate),
        fill=fill,
    )
