"""The command `draft`: files in, a draft and what the rules report of it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rl_resources.check import all_rules, findings_of
from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES, take_snapshot, undecodable
from rl_resources.check.target import ScriptText
from rl_resources.contribute.changes import (
    Change,
    changes_between,
    findings_about,
    fix,
    write_changes,
)
from rl_resources.contribute.draft import NOT_STATED, Draft, Sources
from rl_resources.contribute.facts import (
    Fact,
    Facts,
    Form,
    may_be_exempt,
    read_form,
    stated_facts,
)
from rl_resources.contribute.training_log import OWN_FILE, TrainingLog, read_excerpt, read_log
from rl_resources.dataset import read_dataset
from rl_resources.devices import Devices
from rl_resources.errors import Finding, UnusableInput
from rl_resources.files import read_file
from rl_resources.package import SCRIPTS, TableSchema, read_package
from rl_resources.tabular import write
from rl_resources.text import shown


class Route(NamedTuple):
    """How somebody states what is missing; `column` and `state` are formats of a column's field."""

    column: str
    state: str
    others: str
    exempt: str
    again: str


COMMAND = Route(
    "{0.name}",
    "--set {0.name}=… states it, as in `{0.example}`.",
    "--log FILE and --set COLUMN=VALUE state them",
    "If it ran as it is, add `{},{},REASON` to records/exemptions.csv.",
    "state a cell with --set COLUMN=VALUE or fix the script, then draft again",
)
FORM = Route(
    "{0.title}",
    "Answer it below a line `### {0.title}`, as in `{0.example}`.",
    "Answer one below a line `### ` with its title",
    "If it ran as it is, add a line `### Exemption` to the form and below it `{1}: REASON`.",
    "edit the answers or the script in the form, and this comment follows",
)


@dataclass(frozen=True)
class Drafted:
    """A draft with the files that it changes, the rules' findings, and whether it was written.

    `fixed` are the rules whose fixers changed the script.
    """

    draft: Draft
    changes: tuple[Change, ...] = ()
    findings: Sequence[Finding] = ()
    fixed: Sequence[str] = ()
    written: bool = False

    @property
    def obstacles(self) -> list[str]:
        """Why nothing can be written, but for findings."""
        path = self.draft.path
        taken = any(change.path == path and change.was is not None for change in self.changes)
        other = [f"{path} exists already with other text: change it there"] if taken else []
        return [*self.draft.obstacles, *other]

    @property
    def refused(self) -> bool:
        """Whether nothing of it may be written: CI fails on warnings too."""
        return bool(self.obstacles or self.findings)

    def as_csv(self) -> str:
        """The header and the row."""
        names = self.draft.schema.names
        return write([names, [self.draft.row[name] for name in names]])

    @property
    def _route(self) -> Route:
        return FORM if self.draft.sources.form != Form() else COMMAND

    def messages(self) -> Iterator[str]:
        """What is said along with the row, line by line."""
        yield from self.draft.remarks
        for row in self.draft.trials:
            yield f"trial {row['order']}: a batch of {row['batch']}: {row['outcome']}"
        yield from self._empty_cells()
        for obstacle in self.obstacles:
            yield f"cannot be written yet: {obstacle}"
        if self.fixed:
            yield f"certain fixes in the copy of the script: {', '.join(self.fixed)}"
        for change in self.changes if self.written else ():
            done = "removed" if change.becomes is None else "changed" if change.was else "written"
            yield f"{change.path}: {done}"

    def _empty_cells(self) -> Iterator[str]:
        """Each empty cell that a record needs or that has a doubt, and the other empty ones."""
        route, optional = self._route, []
        for name, reason in self.draft.unknown.items():
            field = self.draft.schema.field(name)
            if field.required or reason != NOT_STATED:
                needed = "required and not known" if field.required else "optional and left empty"
                yield f"{route.column.format(field)} is {needed}: {reason}."
                yield f"  {field.description} {route.state.format(field)}"
            else:
                optional.append(route.column.format(field))
        if optional:
            yield f"optional and left empty: {', '.join(optional)}. {route.others}."

    def verdict(self, *, write: bool) -> str:
        """The last line: what became of it; `write` is whether it was to be written."""
        if self.refused:
            rules = dict.fromkeys(item.rule for item in self.findings if may_be_exempt(item.rule))
            exempt = (f" {self._route.exempt.format(self.draft.name, rule)}" for rule in rules)
            return f"Nothing was written: {self._route.again}.{''.join(exempt)}"
        if not self.changes:
            return "Nothing to write: the dataset has all of this."
        if not write:
            return "Nothing was written yet: --write does it."
        return "No findings: ready to commit."


def draft_files(
    root: Path,
    script: str,
    *,
    log: str,
    issue: str,
    stated: Sequence[str],
    write: bool,
) -> Drafted:
    """Read all files; write what follows if that is wanted and no rule reports anything.

    Raises `UnusableInput` for a file or argument that cannot be used, and `InvalidDataset`.
    """
    if not script and not issue:
        raise UnusableInput("draft: no script is named", "Name the script that ran, or --issue.")
    package = read_package(root)
    dataset, snapshot = read_dataset(package), take_snapshot(package)
    schema = package.resources["tuning"].schema
    form = _form(issue, schema) if issue else Form()
    run, form = _log(log, form)
    text = _text(script, "Name the shell script.") if script else form.script
    name, devices = Path(script).name if script else "script.sh", Devices(dataset)
    sources = Sources(
        ScriptText(name, text) if text or script else None,
        _held(root, Path(script)) if script else "",
        run,
        replace(form, facts=_by_key(form.facts, devices)),
        _by_key(stated_facts("--set", stated, schema), devices),
    )
    drafted = _validated(Draft(sources, dataset, snapshot), script)
    if not write or not drafted.changes or drafted.refused:
        return drafted
    write_changes(root, drafted.changes)
    return replace(drafted, written=True)


def _validated(draft: Draft, script: str) -> Drafted:
    """The draft with what is certain fixed in its script, and the findings about it.

    Of a draft that lacks something these are findings in its script alone.

    If it is refused all the same, the findings are about the script as its author has it, without
    those of rules whose mistakes `--write` fixes.
    """
    if any(draft.obstacles):
        lasting = [rule for rule in all_rules().values() if not rule.fixable]
        alone = [draft.sources.script] if draft.sources.script else []
        found = findings_of(lasting, {"script": lambda: alone})
        return Drafted(draft, findings=[item._replace(path=script or item.path) for item in found])
    before, own = draft.snapshot, draft.written_to(draft.snapshot)
    new = {change.path for change in changes_between(before, own)} & {draft.path}
    fixed = fix(own, list(all_rules().values()) if new else [], new.__contains__)
    changes = tuple(changes_between(before, fixed.snapshot))
    rules = fixed.rules if any(change.path in new for change in changes) else ()
    found = findings_about(before, fixed.snapshot)
    if not found:
        return Drafted(draft, changes, found, rules)
    left = {item.rule for item in found}
    found = [
        item._replace(path=script) if script and item.path == draft.path else item
        for item in findings_about(before, own)
        if item.rule in left
    ]
    return Drafted(draft, changes, found)


def _by_key(facts: Facts, devices: Devices) -> Facts:
    """The facts with the device by its key, where its name is that of one."""
    meant = devices.named(facts.get("device", Fact()).text)
    return {**facts, "device": Fact(*meant)} if len(meant) == 1 else facts


def _form(name: str, schema: TableSchema) -> Form:
    """The answers of a form."""
    form = read_form(_text(name, "Save the issue's text as UTF-8."), schema)
    if form == Form():
        raise UnusableInput(
            f"{shown(name, 500)}: has no answer of an issue form",
            "Write each answer under a heading with its column's title, as in `### Device`.",
        )
    return form


def _log(name: str, form: Form) -> tuple[TrainingLog | None, Form]:
    """The log that is named, else the lines pasted into the form, if they can be read."""
    if name:
        return read_log(Path(name)), form
    try:
        return (read_excerpt(form.log, "`Log`") if form.log else None), form
    except UnusableInput as error:
        return None, replace(form, remarks=(*form.remarks, str(error)))


def _text(name: str, help_: str) -> str:
    """The text of a file."""
    label = shown(name, 500)
    try:
        data = read_file(Path(name), LARGEST_SCRIPT_BYTES)
    except OSError as error:
        raise UnusableInput(f"{label}: cannot be read: {error.strerror}", OWN_FILE) from error
    if (at := undecodable(data)) is not None:
        raise UnusableInput(f"{label}: is not text in UTF-8 (byte {at})", help_)
    return data.decode()


def _held(root: Path, path: Path) -> str:
    """The path relative to the root of an ordinary file among the dataset's scripts, else empty."""
    place, top = path.resolve(), root.resolve()
    if path.is_symlink() or not place.is_relative_to(top / SCRIPTS):
        return ""
    return place.relative_to(top).as_posix()
