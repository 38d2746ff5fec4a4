"""When records came and changed, as git tells of the lines that say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rl_resources.dataset import Dataset
from rl_resources.query.diff import TableDiff
from rl_resources.repository import line_times, moment


def moments(root: Path, dataset: Dataset, changes: Iterable[TableDiff]) -> Mapping[str, str]:
    """The moment of each change of a record, by its script, in the form of RFC 3339.

    It is that of the commit which wrote the row, or its row among the moved ids where it is gone.
    What git does not know is left out.
    """
    if not any(change.name == "tuning" for change in changes):
        return {}
    found = dict(_lines(root, dataset, "moved", "id", ".sh"))
    return found | dict(_lines(root, dataset, "tuning", "script"))


def _lines(
    root: Path, dataset: Dataset, table: str, column: str, ending: str = ""
) -> Iterator[tuple[str, str]]:
    times = line_times(root, dataset.package.resources[table].path)
    for number, row in enumerate(dataset.records[table], start=2):
        if number in times and row.get("resource") in {None, "tuning"}:
            yield f"{row[column]}{ending}", moment(times[number])
