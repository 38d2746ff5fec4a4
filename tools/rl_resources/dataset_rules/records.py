"""Records.

Keys are unique, every record has a contributor or a source, every figure of a report links to the
line that states it, a measured run has a figure, and no published ID is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rl_resources.facts import TableRow, records, runs
from rl_resources.facts.models import fitting_size, size_of, slug_of
from rl_resources.facts.script_names import OTHER_ROLE, misplaced, role_of
from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot, Table
from rl_resources.text import nearest, quoted, shown


@rule()
def duplicate_key(snapshot: Snapshot) -> Iterator[Mistake]:
    """No two rows have the same key.

    One configuration has one script and one record.

    Bad: two rows with the same `script`
    Good: one row for each `script`
    """
    for table in snapshot.tables.values():
        found: dict[int, Mistake] = {}
        for names in table.schema.unique_keys:
            for copy, first in _copies(table, names):
                found.setdefault(copy, _duplicate(table, names, copy, first))
        yield from found.values()


def _copies(table: Table, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Rows whose cells in `names` are filled and equal those of an earlier row, with that row."""
    first_rows: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(table.cells(names)):
        if not all(key):
            continue
        first = first_rows.setdefault(key, row)
        if first != row:
            yield row, first


def _duplicate(table: Table, names: Sequence[str], copy: int, first: int) -> Mistake:
    values = shown(" ".join(table.cell(copy, name) for name in names), 120)
    columns = " and ".join(names)
    differ = [
        name
        for name in table.columns
        if table.cell(copy, name) != table.cell(first, name)
    ]
    fix = "Delete this line: the two are the same."
    if differ:
        where = ", ".join(differ)
        fix = f"Fix the key of one line, or merge the two: they differ in {where}."
    line = table.rows[first].line
    return TableRow(table, copy).mistake_in_words(
        names[0],
        f"{columns} `{values}` is a duplicate of line {line}",
        fix,
    )


@rule()
def backend_role(snapshot: Snapshot) -> Iterator[Mistake]:
    """`train` is a training backend and `infer` is a rollout engine.

    If they are swapped, nobody can start the run.

    Bad: `vllm` as `train`
    Good: `fsdp` as `train`
    """
    for record in runs(snapshot, *OTHER_ROLE):
        for name, other in OTHER_ROLE.items():
            if misplaced(snapshot, record, name):
                backends = snapshot.tables["backends"].keys
                known = [word for word in backends if role_of(snapshot, word) == name]
                yield record.mistake(
                    name,
                    f", which is for `{other}`",
                    f"Known values are {quoted(known)}.",
                )


@rule()
def model_size(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model's size matches its parameter count, and a report's size matches its model.

    The size decides on which page and in which directory readers look.

    Bad: 7.61 billion parameters under `14B`
    Good: 7.61 billion parameters under `7B`
    """
    yield from _models_of_wrong_size(snapshot)
    yield from _reports_of_wrong_size(snapshot)


def _models_of_wrong_size(snapshot: Snapshot) -> Iterator[Mistake]:
    for record in records(snapshot, "models", "size", "parameters_b"):
        fitting = fitting_size(snapshot, record)
        if fitting and record.text("size") != fitting:
            parameters = record.text("parameters_b")
            yield record.mistake(
                "size",
                f", but {parameters} billion parameters belong to `{fitting}`",
                f"Write `{fitting}`, or fix the parameters.",
            )


def _reports_of_wrong_size(snapshot: Snapshot) -> Iterator[Mistake]:
    for record in records(snapshot, "reports", "size", "model"):
        wanted = size_of(snapshot, slug_of(record.text("model")))
        if wanted not in ("", record.text("size")):
            yield record.mistake(
                "size",
                f", but its model belongs to `{wanted}`",
                f"Write `{wanted}`.",
            )


@rule()
def model_slug(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model's slug is its Hugging Face name without the owner, in lowercase.

    Readers find the script from the name of the model alone.

    Bad: `qwen-7b` for `Qwen/Qwen2.5-7B-Instruct`
    Good: `qwen2.5-7b-instruct` for `Qwen/Qwen2.5-7B-Instruct`
    """
    for record in records(snapshot, "models", "model", "slug"):
        wanted = slug_of(record.text("model"))
        if record.text("slug") != wanted:
            yield record.mistake(
                "slug",
                ", not the name of its model",
                f"Write `{wanted}`, or fix the name of the model.",
            )


_TABLE = table_beside(__file__)
_MEASURED: Sequence[str] = _TABLE["measured"]


@rule()
def status_note(snapshot: Snapshot) -> Iterator[Mistake]:
    """The notes say why a record is disputed, or link to the run that reproduced it.

    A dispute without a reason helps nobody, and readers rely on the second run.

    Bad: `disputed` or `reproduced` with empty `notes`
    Good: `disputed` with `Published as 16, the trials reached 100.`
    """
    for record in records(snapshot, "tuning", "status", "notes"):
        status = record.text("status")
        needed, fix = _TABLE["notes"].get(status, ("", ""))
        if needed not in record.text("notes"):
            yield record.mistake(
                "notes",
                f", but the status is `{status}`",
                fix,
            )


@rule()
def untested_figure(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record that nobody has run has no figures from a run.

    Readers would plan with a guess.

    Bad: `untested` with `95` as `step_seconds`
    Good: `reported` with `95` as `step_seconds`
    """
    for record in records(snapshot, "tuning", "status", *_MEASURED):
        figures = [name for name in _MEASURED if record.text(name)]
        if figures and record.text("status") == "untested":
            yield record.mistake(
                figures[0],
                ", but the status is `untested`",
                "Write `reported` as `status` if it ran; else leave the cell empty.",
                [record.place(name) for name in figures],
            )


@rule()
def moved_target(snapshot: Snapshot) -> Iterator[Mistake]:
    """A moved ID is no longer in its table, and its replacement exists or has moved too.

    One URL cannot both show a record and say that it is gone, and an old URL must not redirect to a
    missing page.

    Bad: `moved_to` names a record that nobody has entered
    Good: `id` was published once and is gone, `moved_to` names records of the same table
    """
    for record in records(snapshot, "moved", "resource", "id", "moved_to"):
        yield from _id_that_is_still_there(snapshot, record)
        yield from _lost_targets(snapshot, record)


def _id_that_is_still_there(snapshot: Snapshot, moved: TableRow) -> Iterator[Mistake]:
    table = snapshot.tables[moved.text("resource")]
    row = _ids(table).get(moved.text("id"))
    if row is not None:
        yield moved.mistake(
            "id",
            f", but {table.path}:{table.rows[row].line} still has it",
            "Delete this line, or give the record another id.",
        )


def _lost_targets(snapshot: Snapshot, moved: TableRow) -> Iterator[Mistake]:
    """Targets of a moved ID that are neither in the table nor moved themselves."""
    resource = moved.text("resource")
    known = _ids(snapshot.tables[resource])
    for target in moved.text("moved_to").split():
        leads_somewhere = target in known or (resource, target) in _moved_ids(snapshot)
        if leads_somewhere and target != moved.text("id"):
            continue
        yield moved.mistake(
            "moved_to",
            f", but `{shown(target, 120)}` is not a row of {resource}",
            nearest(target, known).sentence() or f"Name a row of {resource}.",
        )


@lru_cache(maxsize=2)
def _ids(table: Table) -> Mapping[str, int]:
    """The ids of a table, with their rows."""
    return {key.removesuffix(".sh"): row for key, row in table.keys.items()}


@lru_cache(maxsize=1)
def _moved_ids(snapshot: Snapshot) -> frozenset[tuple[str, ...]]:
    return frozenset(snapshot.tables["moved"].cells(("resource", "id")))


@rule()
def lost_id(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every ID of the latest release still exists, or has a row that says where it moved.

    Otherwise links to the record and stored IDs break.

    Bad: a record deleted or renamed, and nothing in `records/moved.csv`
    Good: a row in `records/moved.csv` with what stands for it today, or empty
        where nothing does
    """
    moved = snapshot.tables["moved"]
    for resource, names in snapshot.published.items():
        table = snapshot.tables[resource]
        if not table.rows or table.lost:
            continue
        known = _ids(table)
        for name in names:
            if name in known or (resource, name) in _moved_ids(snapshot):
                continue
            id_ = shown(name, 120)
            row = f"{resource},{id_},NEW-ID,VERSION,REASON"
            yield Mistake(
                moved.path,
                1,
                1,
                f"id `{id_}` is published, and {resource} has no such row",
                f"Restore it, or add `{row}`, with NEW-ID empty if nothing replaces it.",
            )
