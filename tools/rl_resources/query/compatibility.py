"""Which releases of its framework accept a script's settings.

A release that accepts a script accepts its settings by name and type; nothing here says that the
run works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.order import in_order
from rl_resources.package import Record


def releases_of(dataset: Dataset, script: object) -> list[Record]:
    """The rows of one script, oldest release first."""
    known = dataset.by_script["compatibility"].get(script, ())
    rows = {str(row["framework_version"]): row for row in known}
    return [rows[version] for version in in_order(rows)]


def accepted_by(rows: Sequence[Record]) -> str:
    """The releases that accept one script, for example `verl ≥ 0.4.0`; empty for none.

    `rows` are the rows of one script and one framework, in any order.
    """
    by_version = {str(row["framework_version"]): row for row in rows}
    versions = in_order(by_version)
    good = [at for at, name in enumerate(versions) if by_version[name]["accepted"] is True]
    if not good:
        return ""
    framework = rows[0]["framework"]
    if len(good) > 1 and good == list(range(good[0], len(versions))):
        return f"{framework} ≥ {versions[good[0]]}"
    return f"{framework} {_spans(versions, good)}"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A setting that some releases do not accept, and which."""

    line: int
    key: str
    kind: str
    releases: str


def rejections(rows: Sequence[Record]) -> list[Rejection]:
    """What is rejected of one script, by line. `rows` are those of the script, oldest first."""
    found: dict[tuple[int, str, str], list[int]] = {}
    for at, row in enumerate(rows):
        items = row["rejected"]
        for item in items if isinstance(items, tuple) else ():
            line, key, kind = item.split(" ")
            found.setdefault((int(line), key, kind), []).append(at)
    versions = [str(row["framework_version"]) for row in rows]
    return [
        Rejection(*setting, _spans(versions, places)) for setting, places in sorted(found.items())
    ]


def _spans(versions: Sequence[str], places: Sequence[int]) -> str:
    """Releases as text, consecutive ones as a span: `0.1 to 0.3.1, 0.9.1`."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(
        versions[run[0]] + (f" to {versions[run[-1]]}" if len(run) > 1 else "") for run in runs
    )
