"""The Atom feed (RFC 4287) of all records, by when each was last changed or withdrawn.

An entry keeps its id; its time is that of the commit that last wrote the row, or the day of the
release where git does not say.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.git import utc
from rl_resources.query.moves import moves
from rl_resources.site.environment import Site

PATH = "feeds/all.xml"
MOST_ENTRIES = 200
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")

LineTimes = Mapping[int, int]
"""When each line of a file was last written, in seconds since 1970, by line from 1."""


class Entry(NamedTuple):
    """A record, or an id that is gone."""

    record: str
    title: str
    updated: str
    summary: str
    author: str = ""


def feed(site: Site, times: Mapping[str, LineTimes]) -> str:
    """The feed as XML. `times` has the lines of the tables `tuning` and `moved`."""
    released = f"{site.dataset.package.created or '1970-01-01'}T00:00:00Z"
    entries = sorted(
        _entries(site.dataset, times, released), key=attrgetter("updated"), reverse=True
    )
    values = {"entries": entries[:MOST_ENTRIES], "released": released, "urn": _urn}
    return site.page(PATH, PATH, **values)


def _entries(dataset: Dataset, times: Mapping[str, LineTimes], released: str) -> Iterator[Entry]:
    def updated(table: str, line: int) -> str:
        return utc(times[table][line]) if line in times[table] else released

    for line, row in enumerate(dataset.records["tuning"], start=2):
        name, batch = str(row["script"]).removesuffix(".sh"), row["max_batch"]
        facts = (
            f"{row['tag']}, {row['model']}, {row['task']} on {row['gpus']} {row['device']} with "
            f"{row['train']} and {row['infer']}. MaxBatch "
            f"{'unknown' if batch is None else batch}, {row['status']}."
        )
        yield Entry(name, name, updated("tuning", line), facts, str(row["contributor"] or ""))
    lines = {row["id"]: line for line, row in enumerate(dataset.records["moved"], start=2)}
    for move in moves(dataset, "tuning"):
        title = f"{'Moved' if move.moved_to else 'Withdrawn'}: {move.id}"
        yield Entry(move.id, title, updated("moved", lines[move.id]), move.reason)


def _urn(name: str) -> str:
    return uuid.uuid5(_NAMESPACE, name).urn
