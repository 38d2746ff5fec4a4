"""The algorithm: our task, or none where the source names several or one that we do not list."""

from __future__ import annotations

import re

from facts.statement import Statement
from facts.words import mapping


def task_cells(statement: Statement) -> dict[str, str]:
    """The task columns. What stands in brackets tells the kind of run, not the algorithm."""
    published = statement["task"]
    bare = re.sub(r" ?\([^)]*\)", "", published)
    decided = mapping("tasks")
    return {
        "task": decided.get(published, decided.get(bare, "")),
        "task_as_published": published,
    }
