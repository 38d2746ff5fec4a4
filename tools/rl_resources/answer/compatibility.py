"""Which releases of its framework take a script's settings.

A release that accepts a script takes its settings by name and type; nothing here says that the run
works.
"""

from __future__ import annotations

from collections.abc import Sequence

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.versions import in_order


def releases_of(dataset: Dataset, script: object) -> list[Record]:
    """The rows of one script, oldest release first."""
    rows = {
        str(row["framework_version"]): row
        for row in dataset.records["compatibility"]
        if row["script"] == script
    }
    return [rows[version] for version in in_order(rows)]


def accepted_by(rows: Sequence[Record]) -> str:
    """The releases that accept one script, in words such as `verl ≥ 0.4.0`; blank for none.

    `rows` are the rows of one script and one framework, in any order.
    """
    if not rows:
        return ""
    taken = {str(row["framework_version"]): row["accepted"] is True for row in rows}
    order = in_order(list(taken))
    good = [version for version in order if taken[version]]
    if not good:
        return ""
    framework = rows[0]["framework"]
    run = order[order.index(good[0]) : order.index(good[-1]) + 1]
    if run != good:
        return f"{framework} {', '.join(good)}"
    if good[-1] == order[-1]:
        return f"{framework} ≥ {good[0]}" if len(good) > 1 else f"{framework} {good[0]}"
    return f"{framework} {good[0]} to {good[-1]}" if len(good) > 1 else f"{framework} {good[0]}"
