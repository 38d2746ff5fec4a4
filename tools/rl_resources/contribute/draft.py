"""The command `draft`: a record from a script that ran, its log, an issue form, what is stated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rl_resources.check import all_rules, findings_of
from rl_resources.contribute.changes import (
    Change,
    Fixed,
    Row,
    changes_between,
    findings_about,
    fix,
    with_rows,
    with_script,
    write_changes,
)
from rl_resources.contribute.facts import (
    Facts,
    Form,
    may_be_exempt,
    merged,
    read_form,
    script_name,
    stated_facts,
)
from rl_resources.contribute.script_facts import earned_tag, name_facts, run_facts
from rl_resources.contribute.training_log import TrainingLog, read_log
from rl_resources.dataset import Dataset, script_path, typed_dataset
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts.broken import Record
from rl_resources.facts.words import Fact, read_word
from rl_resources.files import read_text
from rl_resources.package import TableSchema, read_package
from rl_resources.script.name import PARTS
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import LARGEST_SCRIPT_BYTES, Snapshot, Table, take_snapshot
from rl_resources.tabular import write as as_csv
from rl_resources.text import shown

UNTESTED = "untested"
NOT_STATED = "nothing that was read states it"
OF_A_RUN: Facts = {"status": Fact("reported"), "statement": Fact("stated-run")}


@dataclass(frozen=True)
class Draft:
    """A proposed record: from a script, the log of its run, a form, and stated cells.

    `assumed` is what nobody states, `write` is whether its files are to be written. Where the
    dataset has a row for the configuration already, `row` is that row with its empty cells filled.
    """

    dataset: Dataset
    snapshot: Snapshot
    script: ScriptText
    log: TrainingLog = field(default_factory=TrainingLog)
    form: Form = field(default_factory=Form)
    stated: Facts = field(default_factory=dict)
    assumed: Facts = field(default_factory=lambda: OF_A_RUN)
    write: bool = False

    @property
    def schema(self) -> TableSchema:
        """The schema of the row."""
        return self.dataset.package.resources["tuning"].schema

    @cached_property
    def _certain(self) -> Facts:
        """All that needs no log."""
        stated = merged([self.stated, self.form.facts])
        named = name_facts(self.script, self.snapshot)
        own = run_facts(self.script, merged([stated, named]), self.dataset)
        return merged([stated, own, named])

    @cached_property
    def name(self) -> str:
        """The script's name by the six parts; empty if one of them is not known."""
        return script_name({part: self._certain[part].text for part in PARTS})

    @cached_property
    def path(self) -> str:
        """Where the script belongs; empty if its name is not known."""
        row = {"model": self._certain["model"].text, "script": self.name}
        return script_path(self.dataset, row) if self.name else ""

    @cached_property
    def existing(self) -> Row:
        """The row that the dataset has; empty if it has none."""
        return self.snapshot.row("tuning", self.name) if self.name else {}

    @cached_property
    def _logged(self) -> Facts:
        """The cells that the log states: releases, and figures if it is a run of this record."""
        log, schema = self.log, self.schema
        if log.out_of_memory or self._mismatch:
            return self._releases
        figures = {name: Fact(schema.field(name).write(it)) for name, it in log.figures.items()}
        measured = {"statement": Fact("measured-run")} if figures else {}
        median = {"step_seconds_statistic": Fact("median")} if "step_seconds" in figures else {}
        return {**figures, **median, **self._releases, **measured}

    @cached_property
    def _releases(self) -> Facts:
        """The releases that the log states; it names vllm for `vllm-ascend` too."""
        engine = self._certain["infer"].text.partition("-")[0]
        programs = {"infer_version": engine, "framework_version": "verl"}
        found = {name: self.log.releases.get(program, "") for name, program in programs.items()}
        return {name: read_word(self.dataset, name, text) for name, text in found.items()}

    @cached_property
    def _mismatch(self) -> str:
        """Why the log is of another run than the script or row; empty where it is of the same."""
        run = self.script.training
        if run is None:
            return ""
        for name, number in self.log.settings.items():
            asked = run.setting(f"data.{name}").number
            if asked not in {None, number}:
                return f"the run had {name} {number}, but the script asks for {asked}"
        stated = {name: fact.text for name, fact in self._releases.items() if fact.text}
        other = any(self.existing.get(name, "") not in {"", text} for name, text in stated.items())
        return "the log is of another release than the row" if other else ""

    @cached_property
    def _facts(self) -> Facts:
        return merged([self.stated, self._logged, self._certain, self.assumed])

    @cached_property
    def _proposed(self) -> Row:
        cells = {name: self._facts[name].text for name in self.schema.names}
        cells["script"] = self.name
        if cells["status"] != UNTESTED and not cells["tag"]:
            cells["tag"] = self._earned_tag(cells)
        return cells

    def _earned_tag(self, cells: Row) -> str:
        """The tag that the record earns; empty where it is not complete."""
        run, model = self.script.training, self.snapshot.row("models", cells["model"])
        if run is None or not self.name:
            return ""
        text = as_csv([self.schema.names, [cells[name] for name in self.schema.names]])
        table = Table(self.snapshot.package.resources["tuning"], text.encode())
        return earned_tag(run, model.get("family", ""), Record(table, 0), self.snapshot)

    @cached_property
    def row(self) -> Row:
        """A cell for every column."""
        existing, new = self.existing, self._proposed
        if not existing:
            return new
        filled = {name: cell or new[name] for name, cell in existing.items()}
        if existing["status"] == UNTESTED:
            ran = self.log.steps and not self._mismatch
            filled |= {"status": new["status"]} if ran else {"statement": ""}
        return filled

    @property
    def unknown(self) -> dict[str, str]:
        """Why a cell is empty, by column, but for the script's name, which follows from others."""
        return {
            name: self._facts[name].why_empty or NOT_STATED
            for name, text in self.row.items()
            if not text and name not in {"script", "notes"}
        }

    @property
    def lacks(self) -> Iterator[str]:
        """What keeps it from being a record."""
        if missing := [name for name in self.unknown if self.schema.field(name).required]:
            yield f"the row lacks {', '.join(missing)}"
        if self.log.out_of_memory:
            text = shown(self.log.out_of_memory, 160)
            yield f"the run of the log ended with `{text}`: that is a line of records/trials.csv"

    @property
    def after(self) -> Snapshot:
        """The dataset with the row, its exemptions, and the script in its place.

        Raises `UnusableInput` where a table cannot take a row.
        """
        reasons = self.form.exempt.items()
        exempt = [{"record": self.name, "rule": rule, "reason": why} for rule, why in reasons]
        after = with_rows(self.snapshot, {"tuning": [self.row], "exemptions": exempt})
        return with_script(after, self.path, self.script.text.encode())

    @cached_property
    def _fixed(self) -> Fixed:
        """The dataset with it, and with what is certain fixed in the script."""
        return fix(self.after, all_rules().values(), {self.path}.__contains__)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The files that it changes; none where it lacks something."""
        return () if any(self.lacks) else (*changes_between(self.snapshot, self._fixed.snapshot),)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What the rules report of it; where it lacks something, of its script alone.

        If they report anything, they do so about the script as its author has it, without those of
        rules whose mistakes `--write` fixes.
        """
        if any(self.lacks):
            lasting = [rule for rule in all_rules().values() if not rule.fixer]
            return findings_of(lasting, {"script": lambda: [self.script]})
        left = {item.rule for item in findings_about(self.snapshot, self._fixed.snapshot)}
        found = findings_about(self.snapshot, self.after) if left else []
        return [
            item._replace(path=self.script.path) if item.path == self.path else item
            for item in found
            if item.rule in left
        ]

    @property
    def obstacles(self) -> list[str]:
        """Why nothing can be written, but for findings."""
        path = self.path
        taken = any(change.path == path and change.was is not None for change in self.changes)
        other = [f"{path} exists already with other text: change it there"] if taken else []
        return [*self.lacks, *other]

    @property
    def refused(self) -> bool:
        """Whether nothing of it may be written: CI fails on warnings too."""
        return bool(self.obstacles or self.findings)

    @property
    def written(self) -> Sequence[Change]:
        """The changes that are written."""
        return self.changes if self.write and not self.refused else ()

    def as_csv(self) -> str:
        """The header and the row."""
        return as_csv([self.schema.names, [self.row[name] for name in self.schema.names]])

    def messages(self) -> Iterator[str]:
        """What is said along with the row, line by line."""
        yield from self.remarks
        yield from self._empty_cells()
        for obstacle in self.obstacles:
            yield f"cannot be written yet: {obstacle}"
        if self.changes and self._fixed.done and not self.findings:
            rules = dict.fromkeys(self._fixed.done.values())
            yield f"certain fixes in the copy of the script: {', '.join(rules)}"
        for change in self.written:
            yield f"{change.path}: written"

    @property
    def remarks(self) -> Iterator[str]:
        """What somebody should know of the sources, and how they differ from the dataset."""
        log, run = self.log, self.script.training
        yield from self.form.remarks
        if log.steps:
            yield (
                f"{len(log.steps)} training steps in the log, {len(log.measured)} of them "
                f"measured: without {log.warm_up} of warm-up and those that also validate or save"
            )
        if self._mismatch:
            yield f"{self._mismatch}: its figures are not used"
        if run is None:
            yield "the script starts no training with overrides of Hydra, or several that differ"
        elif problem := run.composition.problem:
            yield f"{problem}: what the script leaves to them could not be known"
        if self.path and self.path not in {it.path for it in self.snapshot.scripts}:
            yield f"the script belongs at {self.path}: writing puts a copy there"
        yield from self._differences() if self.existing else ()

    def _differences(self) -> Iterator[str]:
        yield "records/tuning.csv has this configuration; no cell of it is overwritten"
        assumed = {"script", *self.assumed} - self._logged.keys()
        for name, new in self._proposed.items():
            if name not in assumed and new not in {"", self.row[name]}:
                there = f"`{shown(self.row[name], 300)}`" if self.row[name] else "empty"
                yield f"{name} is {there} there; what was read now says `{shown(new, 300)}`"

    def _empty_cells(self) -> Iterator[str]:
        """Each empty cell that a record needs or that has a doubt, and the other empty ones."""
        optional = []
        for name, reason in self.unknown.items():
            field = self.schema.field(name)
            titled = f"{field.title} ({name})"
            if field.required or reason != NOT_STATED:
                yield f"{titled} is empty: {reason.removesuffix('.')}."
                yield f"  {field.description} `--set {name}=…` states it, as in `{field.example}`."
            else:
                optional.append(titled)
        if optional:
            yield f"optional and left empty: {', '.join(optional)}"

    def verdict(self) -> str:
        """The last line: what became of it."""
        if self.refused:
            rules = dict.fromkeys(item.rule for item in self.findings if may_be_exempt(item.rule))
            exempt = (
                f" If it ran as it is, add `{self.name},{rule},REASON` to records/exemptions.csv, "
                f"or to a form a line `### Exemption` and below it `{rule}: REASON`."
                for rule in rules
            )
            return f"Nothing was written: state or fix this, then draft again.{''.join(exempt)}"
        if not self.changes:
            return "Nothing to write: the dataset has all of this."
        if not self.write:
            return "Nothing was written yet: --write does it."
        return "No findings: ready to commit."


def draft(
    root: Path, script: str, *, log: str, issue: str, stated: Iterable[str], write: bool
) -> Draft:
    """Read all files, an empty name is none; write what follows unless a rule reports anything.

    Raises `UnusableInput` for a file or argument that cannot be used, and `InvalidDataset`.
    """
    package = read_package(root)
    snapshot = take_snapshot(package)
    dataset = typed_dataset(package, snapshot.tables)
    help_ = "Name a file with the text of your issue, in UTF-8."
    form = read_form(read_text(Path(issue), LARGEST_SCRIPT_BYTES, help_) if issue else "", dataset)
    text = form.script
    if script:
        text = read_text(Path(script), LARGEST_SCRIPT_BYTES, "Name your own shell script.")
    if not text:
        help_ = "Name the script that ran, or paste it into the form of --issue."
        raise UnusableInput("draft: there is no script", help_)
    drafted = Draft(
        dataset,
        snapshot,
        ScriptText(script or "script.sh", text),
        _read_log(log, form.log),
        form,
        stated_facts(stated, dataset),
        write=write,
    )
    write_changes(root, drafted.written)
    return drafted


def _read_log(name: str, pasted: str) -> TrainingLog:
    """The log that is named, else the lines that are pasted into the form; an empty one of none."""
    if not name:
        return read_log(pasted.splitlines(), "`Log`") if pasted else TrainingLog()
    try:
        with Path(name).open(encoding="utf-8-sig", errors="replace") as file:
            return read_log(file, shown(name, 500))
    except OSError as error:
        message = f"{shown(name, 500)}: cannot be read: {error.strerror}"
        raise UnusableInput(message, "Name the log of your own run.") from error
