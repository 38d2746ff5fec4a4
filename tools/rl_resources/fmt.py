"""The canonical form of the CSV files."""

from __future__ import annotations

from rl_resources.check.dataset.form import canonical
from rl_resources.check.snapshot import Snapshot


def format_tables(snapshot: Snapshot) -> dict[str, str]:
    """The canonical text of every file that is not in canonical form, by path.

    A file that cannot be read whole as CSV is left alone: what is not understood is not rewritten.
    """
    return {
        table.path: text
        for table in snapshot.tables.values()
        if (text := canonical(snapshot, table)) is not None and text.encode("utf-8") != table.data
    }


def unformattable(snapshot: Snapshot) -> list[str]:
    """The files that `format_tables` leaves alone."""
    return [table.path for table in snapshot.tables.values() if canonical(snapshot, table) is None]
