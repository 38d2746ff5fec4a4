"""How old a figure is, measured at the dataset's own version, so that every build says the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from functools import cache

from rl_resources.dataset import Dataset
from rl_resources.order import in_order, is_version
from rl_resources.package import Record

YEARS = 1
RELEASES = 3
_DATES = ("tested_on", "source_changed_on")


class Ages:
    """What a reader must know of the age of records and reports of one dataset.

    A figure is old when it is more than `YEARS` older than the dataset's version, or when more than
    `RELEASES` releases of its framework have come since. Where neither its day nor its release is
    known nothing can be said. The releases are those of the table of compatibility.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._now = published_in(dataset.version)
        known = defaultdict(set)
        for row in dataset.records["compatibility"]:
            known[str(row["framework"])].add(str(row["framework_version"]))
        self._releases = {name: tuple(in_order(versions)) for name, versions in known.items()}

    def remarks(self, row: Record) -> list[str]:
        """What to say of a row; nothing where it is recent or of unknown age."""
        return [remark for remark in (self._by_date(row), self._by_release(row)) if remark]

    def _by_date(self, row: Record) -> str:
        day = next((row[name] for name in _DATES if row.get(name)), None)
        if not isinstance(day, date) or day >= self._now.replace(year=self._now.year - YEARS):
            return ""
        return f"older than a year: {day.isoformat()[:7]}"

    def _by_release(self, row: Record) -> str:
        framework, text = str(row["framework"] or ""), str(row["framework_version"] or "")
        release = text.removeprefix("release/").removeprefix("v")
        known = self._releases.get(framework, ())
        newer = _after(known, release)
        if len(newer) <= RELEASES:
            return ""
        return f"{len(newer)} releases old: {framework} {release}, the newest is {known[-1]}"


def published_in(version: str) -> date:
    """The first day of the month that a CalVer version names."""
    year, month, _ = version.split(".", 2)
    return date(int(year), int(month), 1)


@cache
def _after(known: tuple[str, ...], release: str) -> Sequence[str]:
    if not known or not is_version(release):
        return ()
    both = in_order({*known, release})
    return both[both.index(release) + 1 :]
