"""Framework, training backend and rollout engine."""

from __future__ import annotations

from facts.statement import Statement
from facts.words import mapping

_COLUMNS = {
    "framework": "framework",
    "train": "train_backend",
    "infer": "infer_backend",
}


def engine_cells(statement: Statement) -> dict[str, str]:
    """Our words where we have them, beside the published ones, and the versions."""
    cells = {
        "framework_version": statement["framework_version"],
        "infer_version": statement["infer_version"],
    }
    for ours, theirs in _COLUMNS.items():
        published = statement[theirs]
        cells[f"{ours}_as_published"] = published
        cells[ours] = mapping(ours).get(published, "") if published else ""
    return cells
