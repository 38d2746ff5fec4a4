"""Which releases of a framework accept a script.

One that accepts it accepts its settings by name and type, and knows the model's architecture;
nothing here says that the run works.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from packaging.version import Version

from rl_resources.dataset import Dataset
from rl_resources.package import Record, items_of
from rl_resources.script.framework.support import Architecture, support
from rl_resources.script.name import parsed


def releases_of(dataset: Dataset, script: object) -> list[Record]:
    """The rows of one script, oldest release first."""
    known = dataset.by_script["compatibility"].get(script, ())
    rows = {str(row["framework_version"]): row for row in known}
    return [rows[version] for version in sorted(rows, key=Version)]


def accepted_by(rows: Sequence[Record]) -> str:
    """The releases that accept one script, for example `verl ≥ 0.4.0`; empty for none.

    `rows` are those of the script, oldest first. A release that does not know the architecture of
    the model is none.
    """
    versions = [str(row["framework_version"]) for row in rows]
    needed = architecture_of(rows)
    oldest = Version(needed.since if needed else "0")
    good = [at for at, row in enumerate(rows) if row["accepted"]]
    good = [at for at in good if Version(versions[at]) >= oldest]
    if not good:
        return ""
    framework = rows[0]["framework"]
    if len(good) > 1 and good == list(range(good[0], len(versions))):
        return f"{framework} ≥ {versions[good[0]]}"
    return f"{framework} {_spans(versions, good)}"


def architecture_of(rows: Sequence[Record]) -> Architecture | None:
    """What the training backend of a script needs of the framework for its model.

    `None` where nothing is known that it needs.
    """
    name = parsed(str(rows[0].get("script"))) if rows else None
    if name is None:
        return None
    return support(str(rows[0]["framework"])).architecture(name.model, name.train)


def rejections(rows: Sequence[Record]) -> list[tuple[int, str, str, str]]:
    """Line, key, kind of the mistake and releases of what is rejected of one script, by line.

    `rows` are those of the script, oldest first.
    """
    found: dict[tuple[int, str, str], list[int]] = {}
    for at, row in enumerate(rows):
        for item in items_of(row, "rejected"):
            line, key, kind = item.split(" ")
            found.setdefault((int(line), key, kind), []).append(at)
    versions = [str(row["framework_version"]) for row in rows]
    return [(*setting, _spans(versions, at)) for setting, at in sorted(found.items())]


def _spans(versions: Sequence[str], places: Sequence[int]) -> str:
    """Releases as text, consecutive ones as a span: `0.1 to 0.3.1, 0.9.1`."""
    runs = [list(run) for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0])]
    ends = [(versions[run[0][1]], versions[run[-1][1]]) for run in runs]
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in ends)
