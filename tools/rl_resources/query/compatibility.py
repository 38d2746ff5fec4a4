"""What the releases of a framework say: which of them accept a script, how old a figure is.

A release that accepts a script accepts its settings by name and type; nothing here says that the
run works. Age is measured at the dataset's own version, so that every build says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from itertools import groupby

from rl_resources.dataset import Dataset
from rl_resources.package import Record, items_of, text_of
from rl_resources.text import in_order, is_version

MOST_RELEASES = 3
"""A figure is old when more releases of its framework have come since."""


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


def age_of(dataset: Dataset, row: Record) -> str:
    """What a reader must know of the age of a record or report; empty where it is recent.

    A figure is old when it is more than a year older than the dataset's version, or more than
    `MOST_RELEASES` releases old. Where neither its day nor its release is known nothing can be
    said. The releases are those of the table of compatibility.
    """
    return "; ".join(_remarks(dataset, row))


def _remarks(dataset: Dataset, row: Record) -> Iterator[str]:
    year, month, _ = map(int, dataset.version.split("."))
    day = row.get("tested_on") or row.get("source_changed_on")
    if isinstance(day, date) and day < date(year - 1, month, 1):
        yield f"older than a year: {day.isoformat()[:7]}"
    framework = text_of(row, "framework")
    release = text_of(row, "framework_version").removeprefix("release/").removeprefix("v")
    newer = _newer(_releases(dataset, framework), release)
    if len(newer) > MOST_RELEASES:
        yield f"{len(newer)} releases old: {framework} {release}, the newest is {newer[-1]}"


@cache
def _releases(dataset: Dataset, framework: str) -> frozenset[str]:
    rows = dataset.records["compatibility"]
    return frozenset(
        text_of(row, "framework_version") for row in rows if row["framework"] == framework
    )


@cache
def _newer(known: frozenset[str], release: str) -> Sequence[str]:
    """The known releases that came after one, in their order; none where it is no release."""
    if not (known and is_version(release)):
        return ()
    both = in_order(known | {release})
    return both[both.index(release) + 1 :]
