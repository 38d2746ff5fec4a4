"""The command `draft`: files in, a draft out, as text and on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES, Snapshot, take_snapshot, undecodable
from rl_resources.check.subject import ScriptText
from rl_resources.contribute.draft import Draft, Sources, draft
from rl_resources.contribute.fact import given_facts
from rl_resources.contribute.from_log import FIGURES
from rl_resources.contribute.issue_form import Form, read_form
from rl_resources.contribute.preview import MEND_FIRST, mended_scripts, objections
from rl_resources.contribute.progress import shown_progress
from rl_resources.contribute.proposal import Change, Proposal, Row
from rl_resources.contribute.training_log import read_excerpt, read_log
from rl_resources.contribute.writing import write_proposal
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.package import SCRIPTS, Field, Package, TableSchema, read_package
from rl_resources.regular import open_named
from rl_resources.tabular import write
from rl_resources.words import json_text, shown


@dataclass(frozen=True)
class Drafted:
    """A draft, what the rules say of it, and whether it was written.

    `mended` are the rules whose fixers changed the script on its way to its place.
    """

    draft: Draft
    dataset: Dataset
    findings: Sequence[Finding]
    mended: Sequence[str]
    written: bool

    @property
    def refused(self) -> bool:
        """Whether nothing of it may be written."""
        wrong = any(finding.severity == "error" for finding in self.findings)
        return bool(self.draft.obstacles) or wrong

    @property
    def schema(self) -> TableSchema:
        """The schema of the row."""
        return self.dataset.package.resources["tuning"].schema

    def as_csv(self) -> str:
        """The header and the row."""
        names = self.schema.names
        return write([names, [self.draft.row[name] for name in names]])

    def as_json(self) -> str:
        """All of the draft as one object; numbers are numbers and blank cells `null`."""
        trials = self.dataset.package.resources["trials"].schema
        found = {
            "path": self.draft.path,
            "row": _typed(self.schema, self.draft.row),
            "trials": [_typed(trials, row) for row in self.draft.trials],
            "unknown": self.draft.unknown,
            "remarks": self.draft.remarks,
            "obstacles": self.draft.obstacles,
            "findings": [finding.as_dict() for finding in self.findings],
            "mended": self.mended,
            "written": self.written,
        }
        return json_text(found, 2)

    def told(self) -> Iterator[str]:
        """What is to be said beside the row, line by line."""
        yield from self.draft.remarks
        for row in self.draft.trials:
            yield f"trial {row['order']}: a batch of {row['batch']}: {row['outcome']}"
        for name, reason in self.draft.unknown.items():
            yield f"{name} is not known: {reason}. {_how(self.schema.field(name))}".strip()
        for obstacle in self.draft.obstacles:
            yield f"cannot be written yet: {obstacle}"
        if self.mended:
            done = "mended the script" if self.written else "--write mends the script"
            yield f"{done} on its way there, as `check --fix` does: {', '.join(self.mended)}"
        if self.written:
            yield from (_change_told(change) for change in self.draft.changes)

    def verdict(self, *, asked: bool) -> str:
        """What became of it, for the last line; `asked` is whether it was to be written."""
        if self.refused:
            state = "state a cell with --set COLUMN=VALUE, mend the script, or add what lacks"
            return f"Nothing was written: {state}, then draft again."
        if not self.draft.changes:
            return "Nothing to write: the dataset has all of this."
        if not asked:
            return "Nothing was written yet: --write does it."
        if self.findings:
            return MEND_FIRST
        return "No rule objects: ready to commit."


def draft_files(
    root: Path, script: str, *, log: str, issue: str, given: Sequence[str], write: bool
) -> Drafted:
    """Read all files, and write what follows if that is wanted and no rule objects.

    Raises `UnusableInput` for a file or argument that cannot be used, and `InvalidDataset`.
    """
    if not script and not issue:
        raise UnusableInput("draft: no script is named", "Name the script that ran, or --issue.")
    package = read_package(root)
    dataset, snapshot = read_dataset(package), take_snapshot(package)
    schema = package.resources["tuning"].schema
    form = _form(issue, schema) if issue else None
    sources = replace(_sources(package, script, form), form=form, given=given_facts(given, schema))
    sources = _with_log(sources, log)
    drafted = _judged(draft(sources, dataset, snapshot), dataset, snapshot, script)
    if not write or not drafted.draft.changes or drafted.refused:
        return drafted
    write_proposal(root, Proposal(drafted.draft.changes))
    return replace(drafted, written=True)


def _judged(found: Draft, dataset: Dataset, snapshot: Snapshot, script: str) -> Drafted:
    """The draft with its script mended as far as that is certain, and what rules say of it.

    Where they refuse it all the same, they speak of the script as its author has it.
    """
    changes, mended = mended_scripts(snapshot, found.changes)
    findings = objections(snapshot, changes) if changes else []
    drafted = Drafted(replace(found, changes=changes), dataset, findings, mended, written=False)
    if not drafted.refused:
        return drafted
    own = [
        item._replace(path=script) if script and item.path == found.path else item
        for item in objections(snapshot, found.changes)
    ]
    return replace(drafted, draft=found, findings=own, mended=())


def _with_log(sources: Sources, name: str) -> Sources:
    """The log that is named, else the lines pasted into the form, where they are of use."""
    if name:
        with shown_progress(Path(name).name) as progress:
            return replace(sources, log=read_log(Path(name), progress))
    form = sources.form
    if form is None or not form.log:
        return sources
    try:
        return replace(sources, log=read_excerpt(form.log, "`Log`"))
    except UnusableInput as error:
        return replace(sources, form=replace(form, remarks=(*form.remarks, str(error))))


def _change_told(change: Change) -> str:
    if change.was is None:
        return f"{change.path}: written"
    return f"{change.path}: {'removed' if change.becomes is None else 'changed'}"


def _typed(schema: TableSchema, row: Row) -> dict[str, object]:
    return {field.name: _value(field, row.get(field.name, "")) for field in schema.fields}


def _value(field: Field, cell: str) -> object:
    try:
        return field.read(cell)
    except ValueError:
        return cell


def _how(field: Field) -> str:
    """How somebody finds out about a column and states it."""
    if field.name == "script":
        return ""
    state = f"{field.description} --set {field.name}=… states it, as in `{field.example}`."
    return f"--log FILE reads it off the run's log. {state}" if field.name in FIGURES else state


def _form(name: str, schema: TableSchema) -> Form:
    form = read_form(_decoded(name, "Save the issue's text as UTF-8."), schema)
    if form == Form({}, "", "", ()):
        raise UnusableInput(
            f"{shown(name, 500)}: holds no answer of an issue form",
            "An answer stands under a heading with its column's title, as in `### Device`.",
        )
    return form


def _decoded(name: str, mend: str) -> str:
    data = _bytes(Path(name))
    if (at := undecodable(data)) is not None:
        raise UnusableInput(f"{shown(name, 500)}: is no text in UTF-8 (byte {at})", mend)
    return data.decode()


def _sources(package: Package, script: str, form: Form | None) -> Sources:
    """The script on disk, else the one pasted into the form."""
    if script:
        path = Path(script)
        text = _decoded(script, "Name the shell script.")
        return Sources(ScriptText(path.name, text), text.encode(), _held(package, path))
    if form and form.script:
        return Sources(ScriptText("script.sh", form.script), form.script.encode())
    return Sources()


def _held(package: Package, path: Path) -> str | None:
    """The path relative to the root, where it is an ordinary file among the dataset's scripts."""
    place, top = path.resolve(), package.root.resolve()
    if path.is_symlink() or not place.is_relative_to(top / SCRIPTS):
        return None
    return place.relative_to(top).as_posix()


def _bytes(path: Path) -> bytes:
    """The content of a file that no reader could want larger."""
    name = shown(str(path), 500)
    try:
        with open_named(path) as file:
            data = file.read(LARGEST_SCRIPT_BYTES + 1)
    except OSError as error:
        raise UnusableInput(f"{name}: cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_SCRIPT_BYTES:
        raise UnusableInput(f"{name}: is larger than {LARGEST_SCRIPT_BYTES >> 20} MiB")
    return data
