"""Records.

Each key is unique, each record has a contributor or a source, each figure of a report links to the
line that states it, what is called measured has a figure, and an id that was published leads
somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rl_resources import git
from rl_resources.facts.broken import broken_columns, records, runs
from rl_resources.facts.models import fitting_size, size_of, slug_of
from rl_resources.facts.script_names import OTHER_ROLE, misplaced, role_of
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot, Table
from rl_resources.text import nearest, quoted, shown

_PLACEHOLDERS = frozenset(
    {"your-handle", "handle", "username", "me", "todo", "tbd", "anonymous", "unknown", "none"}
)


@rule()
def duplicate_key(snapshot: Snapshot) -> Iterator[Mistake]:
    """No two rows have the same key.

    One configuration is one script is one record.

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
    """Rows with the same cells in `names` as one before, and that one; none with an empty cell."""
    first: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(table.cells(names)):
        if all(key) and first.setdefault(key, row) != row:
            yield row, first[key]


def _duplicate(table: Table, names: Sequence[str], copy: int, first: int) -> Mistake:
    values = shown(" ".join(table.cell(copy, name) for name in names), 120)
    message = f"{' and '.join(names)} `{values}` is a duplicate of line {table.rows[first].line}"
    differ = [name for name in table.columns if table.cell(copy, name) != table.cell(first, name)]
    fix = f"Delete this line, or fix one: the two differ in {', '.join(differ) or 'nothing'}."
    return table.mistake(copy, names[0], message, fix)


@rule()
def backend_role(snapshot: Snapshot) -> Iterator[Mistake]:
    """`train` names a training backend and `infer` a rollout engine.

    Swapped, the row describes a run that nobody can start.

    Bad: `vllm` as `train`
    Good: `fsdp` as `train`
    """
    for record in runs(snapshot, *OTHER_ROLE):
        for name in (name for name in OTHER_ROLE if misplaced(snapshot, record, name)):
            words = snapshot.tables["backends"].keys
            known = (word for word in words if role_of(snapshot, word) == name)
            fix = f"Known are {quoted(map(shown, known))}."
            yield record.mistake(name, f", which is for `{OTHER_ROLE[name]}`", fix)


@rule()
def model_size(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model has the size that its parameters belong to, and a report that of its model.

    The size decides the page and the directory in which a reader looks.

    Bad: 7.61 billion parameters under `14B`
    Good: 7.61 billion parameters under `7B`
    """
    for record in records(snapshot, "models", "size", "parameters_b"):
        fitting = fitting_size(snapshot, record.row)
        if fitting and record.text("size") != fitting:
            parameters = record.text("parameters_b")
            wrong = f", but {parameters} billion parameters belong to `{fitting}`"
            yield record.mistake("size", wrong, f"Write `{fitting}`, or fix the parameters.")
    for record in records(snapshot, "reports", "size", "model"):
        wanted = size_of(snapshot, slug_of(record.text("model")))
        if wanted and record.text("size") != wanted:
            wrong = f", but its model belongs to `{wanted}`"
            yield record.mistake("size", wrong, f"Write `{wanted}`.")


@rule()
def model_slug(snapshot: Snapshot) -> Iterator[Mistake]:
    """A model's slug is its Hugging Face name without the owner, in lower case.

    A reader must find the script from the model's name alone.

    Bad: `qwen-7b` for `Qwen/Qwen2.5-7B-Instruct`
    Good: `qwen2.5-7b-instruct` for `Qwen/Qwen2.5-7B-Instruct`
    """
    for record in records(snapshot, "models", "model", "slug"):
        if record.text("slug") != slug_of(record.text("model")):
            fix = f"Write `{slug_of(record.text('model'))}`, or fix the name of the model."
            yield record.mistake("slug", ", not the name of its model", fix)


_NOTES = {
    "disputed": (" ", "Say in one sentence which published facts contradict each other."),
    "reproduced": ("https://", "Link the second run there, or write `reported` as `status`."),
}
"""What must be in the notes by the status, and what to do where it is not."""


@rule()
def status_note(snapshot: Snapshot) -> Iterator[Mistake]:
    """The notes say why a record is disputed, or link the run that reproduced it.

    A doubt helps nobody unless it is named, and a second run is what a reader relies on.

    Bad: `disputed` or `reproduced` with empty `notes`
    Good: `disputed` with `Published as 16, the trials reached 100.`
    """
    for record in records(snapshot, "tuning", "status", "notes"):
        status = record.text("status")
        needed, fix = _NOTES.get(status, ("", ""))
        if needed not in record.text("notes"):
            yield record.mistake("notes", f", but the status is `{status}`", fix)


_MEASURED = (
    "tested_on",
    "statement",
    "peak_memory_gb",
    "step_seconds",
    "tokens_per_second_per_gpu",
)


@rule()
def untested_figure(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record that nobody has run has no figures of a run.

    A reader would plan with a guess.

    Bad: `untested` with `95` as `step_seconds`
    Good: `reported` with `95` as `step_seconds`
    """
    for record in records(snapshot, "tuning", "status", *_MEASURED):
        figures = [name for name in _MEASURED if record.text(name)]
        if record.text("status") == "untested" and figures:
            fix = "Write `reported` as `status` if it ran; else leave the cell empty."
            about = [record.place(name) for name in figures]
            yield record.mistake(figures[0], ", but the status is `untested`", fix, about)


@rule()
def provenance(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record that ran has a contributor or a source, and the contributor is somebody.

    A record that nobody made cannot be asked about, and neither can a placeholder.

    Bad: empty `contributor` and empty `source`; `your-handle` as `contributor`
    Good: a handle as `contributor`
    """
    for record in records(snapshot, "tuning", "contributor", "status", "source"):
        contributor, source = record.text("contributor"), record.text("source")
        nobody = record.text("status") != "untested" and not (contributor or source)
        if nobody or contributor.lower() in _PLACEHOLDERS:
            fix = "Write your public handle, or leave it empty where the record has a source."
            yield record.mistake("contributor", ", which names nobody to ask", fix)


_BRANCH = re.compile(
    r"https://(?:github\.com|gitlab\.com|huggingface\.co)/(?:datasets/)?[^/]+/[^/]+/(?:-/)?"
    r"(?:blob|tree|raw|blame|resolve)/(?![0-9a-f]{7,64}/)(?P<branch>[^/]+)"
    r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/(?![0-9a-f]{7,64}/)(?P<raw>[^/]+)"
)


@rule("warning")
def permalink(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record's source and evidence name a commit, not a branch.

    A branch changes; next month the URL shows other figures, or nothing.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/PATH`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/PATH`, COMMIT of 40 hexadecimal
        digits
    """
    for name in ("evidence", "source"):
        for record in records(snapshot, "tuning", name):
            if match := _BRANCH.match(record.text(name)):
                branch = shown(match["branch"] or match["raw"])
                fix = f"Write the commit instead of `{branch}`: on GitHub the key `y` does that."
                yield record.mistake(name, f", which follows the branch `{branch}`", fix)


@rule()
def moved_target(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id that has moved is gone from its table, and its replacement exists or has moved on.

    One URL cannot show a record and say that the record is gone, and a reader of the old URL must
    not be sent to a page that does not exist.

    Bad: `moved_to` names a record that nobody has entered
    Good: `id` was published once and is gone, `moved_to` names records of the same table
    """
    moved = _moved_ids(snapshot)
    for record in records(snapshot, "moved", "resource", "id", "moved_to"):
        resource, name = record.text("resource"), record.text("id")
        known = _ids(snapshot, resource)
        if name in known:
            table = snapshot.tables[resource]
            wrong = f", but {table.path}:{table.rows[known[name]].line} still has it"
            yield record.mistake("id", wrong, "Delete this line, or give the record another id.")
        for target in record.text("moved_to").split():
            if target == name or (target not in known and (resource, target) not in moved):
                wrong = f", but `{shown(target, 120)}` is not a row of {resource}"
                fix = nearest(target, known).sentence() or f"Name a row of {resource}."
                yield record.mistake("moved_to", wrong, fix)


def _ids(snapshot: Snapshot, resource: str) -> Mapping[str, int]:
    """The ids of a table, with their rows."""
    return {key.removesuffix(".sh"): row for key, row in snapshot.tables[resource].keys.items()}


def _moved_ids(snapshot: Snapshot) -> frozenset[tuple[str, ...]]:
    return frozenset(snapshot.tables["moved"].cells(("resource", "id")))


@rule()
def lost_id(snapshot: Snapshot) -> Iterator[Mistake]:
    """An id of the newest release is still there, or has a row that says where it went.

    A link to a record, or a stored id, would be dead.

    Bad: a record deleted or renamed, and nothing in `records/moved.csv`
    Good: a row in `records/moved.csv` with what stands for it today, or empty
        where nothing does
    """
    for resource, names in snapshot.published.items():
        table, known = snapshot.tables[resource], _ids(snapshot, resource)
        for name in names if table.rows and not table.lost else ():
            if name not in known and (resource, name) not in _moved_ids(snapshot):
                message = f"id `{shown(name, 120)}` is published, and {resource} has no such row"
                row = f"{resource},{shown(name, 120)},NEW-ID,VERSION,REASON"
                fix = f"Bring it back, or add `{row}`, NEW-ID empty where nothing replaces it."
                yield Mistake(snapshot.tables["moved"].path, 1, 1, message, fix)


_PLACE = ("source_repo", "source_commit", "source_path", "source_lines")


@rule()
def source_url(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's URL is the permalink of its repository, commit, path and lines, or a thread.

    A reader must come to the very line that the figure was read from.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/README.md`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/README.md#L12`
    """
    for record in records(snapshot, "reports", *_PLACE, "source_url"):
        repo, commit, path, lines = map(record.text, _PLACE)
        whole = repo and commit and (lines or not path)
        wanted = git.permalink(repo, commit, path, lines) if whole else ""
        thread = git.THREAD.fullmatch(record.text("source_url")) and not (repo or commit or path)
        if record.text("source_url") != wanted and not thread:
            wrong = ", not the permalink of its repository, commit, path and lines, nor a thread"
            fix = f"Fill {', '.join(_PLACE)}, or write the URL of an issue or discussion alone."
            fix = f"Write `{shown(wanted, 400)}`, or fix those columns." if wanted else fix
            yield record.mistake("source_url", wrong, fix)


@rule()
def contradiction(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports that contradict each other name each other.

    A reader of one must learn of the other; a disputed figure must never look settled.

    Bad: a report that names another, which does not name it back
    Good: two reports that name each other
    """
    table = snapshot.tables["reports"]
    if table.lost or (table.path, "report") in broken_columns(snapshot):
        return
    reports = {item.text("report"): item for item in records(snapshot, "reports")}
    named = {name: item.text("contradicts").split() for name, item in reports.items()}
    for name, record in reports.items():
        for other in named[name]:
            if other not in named or other == name:
                wrong = f", but `{shown(other, 120)}` is not another report"
                others = sorted(named.keys() - {name})
                fix = nearest(other, others).sentence() or "Name another report."
                yield record.mistake("contradicts", wrong, fix)
            elif name not in named[other] and set(named[other]) <= named.keys():
                wrong = f", but `{shown(name, 120)}` names this report"
                fix = f"Add `{shown(name, 120)}`."
                yield reports[other].mistake("contradicts", wrong, fix)
