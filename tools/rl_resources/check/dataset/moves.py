"""Rules about ids that were renamed, split or withdrawn: an old address must lead somewhere."""

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
    """The ids that stand in a table, with their rows."""
    if resource not in snapshot.tables:
        return {}
    return {key.removesuffix(".sh"): row for key, row in snapshot.keys(resource).items()}


@rule()
def moved_id(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id that has moved stands in its table no longer.

    One address cannot show a record and say that the record is gone.

    Bad: `a_grpo_1_h100_fsdp_vllm` as `id` while `a_grpo_1_h100_fsdp_vllm.sh` has a row
    Good: only ids that were published once and are gone
    """
    for table, row, (resource, name) in _moves(snapshot):
        there = _ids(snapshot, resource).get(name)
        if there is not None:
            held = snapshot.tables[resource]
            line = held.rows[there].line
            message = f"id `{shown(name, 120)}` has moved, but {held.path}:{line} still holds it"
            mend = "Delete this line, or give the record another id."
            yield table.mistake(row, "id", message, mend)


@rule()
def moved_target(snapshot: Snapshot) -> Iterator[Mistake]:
    """What took an id's place exists, or has itself moved on.

    A reader of the old address would be sent to a page that is not there.

    Bad: `moved_to` names a record that nobody has entered
    Good: `moved_to` names records of the same table
    """
    moved = {name: table.cell(row, "moved_to") for table, row, name in _moves(snapshot)}
    for table, row, (resource, name) in _moves(snapshot):
        known = _ids(snapshot, resource)
        for target in table.cell(row, "moved_to").split():
            at = (table.path, *table.place(row, "moved_to"))
            if target not in known and (resource, target) not in moved:
                message = f"moved_to of `{shown(name, 120)}` is `{shown(target, 120)}`, "
                message += f"which no row of {resource} is called"
                close = nearest(target, known).sentence()
                yield Mistake(*at, message, close or f"Name a row of {resource}.")
            elif _in_a_circle(moved, (resource, target), (resource, name)):
                message = f"moved_to of `{shown(name, 120)}` leads back to it"
                yield Mistake(*at, message, "Name the record that stands in the table today.")


def _in_a_circle(moved: Mapping[Id, str], target: Id, start: Id) -> bool:
    """Whether following the moves from `target` comes back to `start`."""
    seen: set[Id] = set()
    open_ = [target]
    while open_:
        here = open_.pop()
        if here == start:
            return True
        if here not in seen:
            seen.add(here)
            open_ += [(here[0], name) for name in moved.get(here, "").split()]
    return False


@rule()
def lost_id(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id of the newest release is still there, or has a row that says where it went.

    Whoever links to a record or stores its id would be left with an address of nothing.

    Bad: a record deleted or renamed, and nothing in `records/moved.csv`
    Good: a row in `records/moved.csv` with what stands for it today, or blank where nothing
        does
    """
    moved = {id_ for _, _, id_ in _moves(snapshot)}
    scripts = {script.name.removesuffix(".sh") for script in snapshot.scripts}
    for resource, names in snapshot.published.items():
        if not _is_whole(snapshot.tables[resource]):
            continue
        known = _ids(snapshot, resource)
        for name in names:
            # A row whose script is still there has a slip in it, of which other rules tell.
            gone = name not in known and not (resource == "tuning" and name in scripts)
            if gone and (resource, name) not in moved:
                path = snapshot.tables[TABLE].path
                message = f"id `{shown(name, 120)}` is published, and {resource} has no such row"
                mend = (
                    f"Bring it back, or add `{resource},{shown(name, 120)},NEW-ID,VERSION,REASON`"
                )
                mend += ", NEW-ID blank where nothing stands for it."
                yield Mistake(path, 1, 1, message, mend)


def _is_whole(table: Table) -> bool:
    """Whether every row of a table can be read, so that none of its ids is just unreadable."""
    return bool(table.rows) and len(table.rows) == len(table.text.rows) and not table.text.defects
