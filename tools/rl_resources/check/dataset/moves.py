"""Rules about ids that were renamed, split or withdrawn: an old URL must lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.words import nearest, shown

TABLE = "moved"
Id = tuple[str, str]


def _moves(snapshot: Snapshot) -> Iterator[tuple[Table, int, Id]]:
    """Each row of the table with the id that it is about."""
    table = snapshot.tables.get(TABLE)
    for row in range(len(table.rows) if table else 0):
        if table:
            yield table, row, (table.cell(row, "resource"), table.cell(row, "id"))


def _ids(snapshot: Snapshot, resource: str) -> Mapping[str, int]:
    """The ids of a table, with their rows."""
    if resource not in snapshot.tables:
        return {}
    return {key.removesuffix(".sh"): row for key, row in snapshot.keys(resource).items()}


@rule()
def moved_target(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id that has moved is gone from its table, and what took its place exists or has moved on.

    One URL cannot show a record and say that the record is gone, and a reader of the old URL must
    not be sent to a page that does not exist.

    Bad: `moved_to` names a record that nobody has entered
    Good: `id` was published once and is gone, `moved_to` names records of the same table
    """
    moved = {name for _, _, name in _moves(snapshot)}
    for table, row, (resource, name) in _moves(snapshot):
        known = _ids(snapshot, resource)
        if name in known:
            line = snapshot.tables[resource].rows[known[name]].line
            path = snapshot.tables[resource].path
            message = f"id `{shown(name, 120)}` has moved, but {path}:{line} still has it"
            fix = "Delete this line, or give the record another id."
            yield table.mistake(row, "id", message, fix)
        for target in table.cell(row, "moved_to").split():
            if target == name or (target not in known and (resource, target) not in moved):
                message = f"moved_to of `{shown(name, 120)}` is `{shown(target, 120)}`, "
                message += f"which no row of {resource} is called"
                fix = nearest(target, known).sentence() or f"Name a row of {resource}."
                yield table.mistake(row, "moved_to", message, fix)


@rule()
def lost_id(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id of the newest release is still there, or has a row that says where it went.

    Whoever links to a record or stores its id would be left with a dead link.

    Bad: a record deleted or renamed, and nothing in `records/moved.csv`
    Good: a row in `records/moved.csv` with what stands for it today, or empty
        where nothing does
    """
    moved = {id_ for _, _, id_ in _moves(snapshot)}
    scripts = {script.name.removesuffix(".sh") for script in snapshot.scripts}
    for resource, names in snapshot.published.items():
        if not _is_whole(snapshot.tables[resource]):
            continue
        known = _ids(snapshot, resource)
        for name in names:
            # A row whose script is still there has a typing error that other rules report.
            gone = name not in known and not (resource == "tuning" and name in scripts)
            if gone and (resource, name) not in moved:
                path = snapshot.tables[TABLE].path
                message = f"id `{shown(name, 120)}` is published, and {resource} has no such row"
                row = f"{resource},{shown(name, 120)},NEW-ID,VERSION,REASON"
                fix = f"Bring it back, or add `{row}`, NEW-ID empty where nothing replaces it."
                yield Mistake(path, 1, 1, message, fix)


def _is_whole(table: Table) -> bool:
    """Whether every row of a table can be read, so that none of its ids is just unreadable."""
    return bool(table.rows) and len(table.rows) == len(table.text.rows) and not table.text.defects
