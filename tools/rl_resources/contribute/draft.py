"""The command `draft`: a record from a script that ran, its log, an issue form, what is stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rl_resources.check import all_rules, findings_of
from rl_resources.contribute.changes import (
    Change,
    Row,
    changes_between,
    findings_about,
    fix,
    with_rows,
    with_script,
    write_changes,
)
from rl_resources.contribute.facts import (
    Fact,
    Facts,
    Form,
    Sources,
    cell,
    may_be_exempt,
    merged,
    read_sources,
    read_word,
    script_name,
)
from rl_resources.contribute.script_facts import name_facts, run_facts, run_with_defaults
from rl_resources.contribute.training_log import FIGURES, TrainingLog
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import Finding
from rl_resources.package import TableSchema, read_package
from rl_resources.script.name import PARTS
from rl_resources.script_rules.target import Trial
from rl_resources.snapshot import Snapshot, take_snapshot
from rl_resources.tabular import write as as_csv
from rl_resources.text import shown

UNTESTED = "untested"
NOT_STATED = "nothing that was read states it"
ASSUMED: Facts = {"status": Fact("reported"), "statement": Fact("stated-run")}
OUTCOMES: Mapping[bool, str] = {True: "ran", False: "out-of-memory"}


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
class Draft:
    """A proposed record from `sources`.

    Where the dataset has a row for the configuration already, `row` is that row with its empty
    cells filled.
    """

    sources: Sources
    dataset: Dataset
    snapshot: Snapshot

    @property
    def schema(self) -> TableSchema:
        """The schema of the row."""
        return self.dataset.package.resources["tuning"].schema

    @cached_property
    def _certain(self) -> Facts:
        """All that needs no log."""
        script = self.sources.script
        found = [self.sources.stated, self.sources.form.facts]
        if script is not None:
            named = name_facts(script, self.snapshot)
            found += [run_facts(script, merged([*found, named]), self.dataset), named]
        return merged(found)

    def _known(self, column: str) -> str:
        """A cell that needs no log; empty if it is not known."""
        return self._certain.get(column, Fact()).text

    @cached_property
    def name(self) -> str:
        """The script's name by the six parts; empty if one of them is not known."""
        return script_name({part: self._known(part) for part in PARTS})

    @cached_property
    def path(self) -> str:
        """Where the script belongs; empty if its name or the size of its model is not known."""
        model = self._known("model")
        if not self.name or model not in self.dataset.by_key["models"]:
            return ""
        return script_path(self.dataset, {"model": model, "script": self.name})

    @cached_property
    def _existing(self) -> Row:
        """The row that the dataset has; empty if it has none."""
        find = self.snapshot.find("tuning", self.name) if self.name else None
        return {name: find(name) for name in self.schema.names} if find else {}

    @property
    def _batch(self) -> int | None:
        """The prompts per step of the script."""
        run = self.sources.script.training if self.sources.script else None
        return run.train_batch_size.number if run else None

    @cached_property
    def _log(self) -> Facts:
        """The cells that the log states: releases, and figures if it is a run of this record."""
        log = self.sources.log
        if log is None:
            return {}
        releases = self._releases(log)
        if self._mismatch(log):
            return releases
        measured = {"statement": Fact("measured-run")} if log.measured and log.fits else {}
        figures = {name: Fact(doubt="the log does not show it") for name in FIGURES}
        for name, figure in log.figures.items():
            figures[name] = Fact(self.schema.field(name).write(figure))
        return {**figures, **releases, **measured}

    def _of_another_batch(self, log: TrainingLog) -> bool:
        return None not in (log.batch, self._batch) and log.batch != self._batch

    def _mismatch(self, log: TrainingLog) -> str:
        """Why the log is of another run than the script or row; empty where it is of the same."""
        if self._of_another_batch(log):
            return f"the run used a batch of {log.batch}, but the script asks for {self._batch}"
        stated = {name: fact.text for name, fact in self._releases(log).items() if fact.text}
        other = any(self._existing.get(name, "") not in {"", text} for name, text in stated.items())
        return "the log is of another release than the row" if other else ""

    def _releases(self, log: TrainingLog) -> Facts:
        # The log names vllm for `vllm-ascend` too.
        engine = self._known("infer").partition("-")[0]
        programs = {"infer_version": engine, "framework_version": "verl"}
        return {name: self._release(log, name, program) for name, program in programs.items()}

    def _release(self, log: TrainingLog, column: str, program: str) -> Fact:
        found = log.releases.get(program, set())
        if len(found) > 1:
            return Fact(doubt=f"the log names several releases of {program}")
        return cell(self.schema.field(column), *found) if found else Fact()

    @cached_property
    def _facts(self) -> Facts:
        found = [self.sources.stated, self._log, self._certain, ASSUMED]
        return merged([*found, {"max_batch": self._limit}])

    @property
    def _limit(self) -> Fact:
        """The largest batch that ran, if a larger one was tried that did not."""
        ran = [trial.batch for trial in self._trials if trial.ran]
        failed = [trial.batch for trial in self._trials if not trial.ran]
        known = ran and failed and max(ran) < min(failed)
        return Fact(str(max(ran))) if known else Fact()

    @cached_property
    def _trials(self) -> list[Trial]:
        """Those of the dataset and of the log.

        With a log of another batch also the script's own, which ran if the row was measured.
        """
        log, found = self.sources.log, [*self._existing_trials]
        own = self._batch if self._existing.get("statement") == "measured-run" else None
        if log is not None and (tried := log.batch or self._batch):
            found += [Trial(own, True)] if own and self._of_another_batch(log) else []
            found += [Trial(tried, log.fits)] if log.measured or not log.fits else []
        return list(dict.fromkeys(found))

    @cached_property
    def _existing_trials(self) -> Mapping[Trial, int]:
        """The trials that the dataset has, each with its `order`."""
        return {
            Trial(int(str(row["batch"])), row["outcome"] == OUTCOMES[True]): int(str(row["order"]))
            for row in self.dataset.records["trials"]
            if row["script"] == self.name
        }

    @property
    def trials(self) -> list[Row]:
        """New rows of trials, after those that the dataset has.

        One run that fitted is no search: its row would only repeat the script's batch, and conflict
        with the next contribution in a table that few records are in.
        """
        existing, tried = self._existing_trials, self._trials
        searched = len(tried) > 1 or not all(trial.ran for trial in tried)
        new = [trial for trial in tried if self.name and searched and trial not in existing]
        return [
            {
                "script": self.name,
                "order": str(order),
                "batch": str(trial.batch),
                "outcome": OUTCOMES[trial.ran],
            }
            for order, trial in enumerate(new, start=max(existing.values(), default=0) + 1)
        ]

    @cached_property
    def _proposed(self) -> Row:
        known = {name: self._facts.get(name, Fact()).text for name in self.schema.names}
        return {**known, "script": self.name}

    @cached_property
    def row(self) -> Row:
        """A cell for every column."""
        existing, new = self._existing, self._proposed
        if not existing:
            return new
        filled = {name: cell or new[name] for name, cell in existing.items()}
        if existing["status"] != UNTESTED:
            return filled
        ran = self.sources.log is not None and self.sources.log.fits
        return filled | ({"status": new["status"]} if ran else {"statement": ""})

    @property
    def unknown(self) -> dict[str, str]:
        """Why a cell is empty, by column, but for the script's name, which follows from others."""
        empty = [name for name, text in self.row.items() if not text]
        facts = {name: self._facts.get(name, Fact()) for name in empty}
        reasons = {name: fact.doubt or NOT_STATED for name, fact in facts.items()}
        return {name: text for name, text in reasons.items() if name not in {"script", "notes"}}

    @property
    def obstacles(self) -> Iterator[str]:
        """Why nothing can be written."""
        if self.sources.script is None:
            yield "a record needs its script; name it, or paste it into the form"
        if missing := [name for name in self.unknown if self.schema.field(name).required]:
            yield f"the row lacks {', '.join(missing)}"
        model = self.row["model"]
        if model and model not in self.dataset.by_key["models"]:
            yield read_word(self.dataset, self.snapshot, "model", model).doubt
        if self.sources.log and not self.sources.log.fits and not self._existing:
            yield (
                "the run of the log ran out of memory, and a record is a run that fitted: lower "
                "the script's batch to one that ran; its log then adds this one as a trial"
            )

    @property
    def after(self) -> Snapshot:
        """The dataset with the row, its trials and exemptions, and the script in its place.

        Raises `UnusableInput` where a table cannot take a row.
        """
        exempt = self.sources.form.exempt.items()
        new: dict[str, list[Row]] = {
            "tuning": [self.row] if self.row != self._existing else [],
            "trials": self.trials,
            "exemptions": [
                {"record": self.name, "rule": rule, "reason": reason} for rule, reason in exempt
            ],
        }
        after = with_rows(self.snapshot, {name: rows for name, rows in new.items() if rows})
        script, stored_at = self.sources.script, self.sources.stored_at
        if script is None or stored_at == self.path:
            return after
        return with_script(after, self.path, script.text.encode(), stored_at)

    @property
    def remarks(self) -> Iterator[str]:
        """What somebody should know of the sources, and how they differ from the dataset."""
        script, stored_at = self.sources.script, self.sources.stored_at
        yield from self.sources.form.remarks
        yield from self._remarks_on_log(self.sources.log) if self.sources.log else ()
        if script and script.training is None:
            yield (
                f"the script starts no training of {script.framework} with overrides of Hydra, or "
                "several that differ"
            )
        run = run_with_defaults(script) if script else None
        if run and run.composition.problem:
            yield f"{run.composition.problem}: what the script leaves to them could not be known"
        if self.path and stored_at and stored_at != self.path:
            yield f"{shown(stored_at, 200)} belongs at {self.path}: writing moves it there"
        elif self.path and script and not stored_at:
            yield f"the script belongs at {self.path}: writing puts a copy there"
        if self._existing:
            yield from self._differences()

    def _remarks_on_log(self, log: TrainingLog) -> Iterator[str]:
        measured, steps = len(log.measured), len(log.steps)
        yield (
            f"{steps} training steps in the log; excluded are {log.warm_up} as warm-up and "
            f"{steps - log.warm_up - measured} that also validate or save; medians are over "
            f"{measured}"
        )
        if not log.fits:
            yield f"out of memory: {shown(log.out_of_memory, 160)}"
        if mismatch := self._mismatch(log):
            yield f"{mismatch}: its figures are not used"

    def _differences(self) -> Iterator[str]:
        table = self.snapshot.tables["tuning"]
        line = table.rows[self.snapshot.keys("tuning")[self.name]].line
        yield f"{table.path}:{line} has this configuration; no cell of it is overwritten"
        assumed = {"script", *ASSUMED} - self._log.keys()
        for name, new in self._proposed.items():
            if name not in assumed and new not in {"", self.row[name]}:
                there = f"`{shown(self.row[name])}`" if self.row[name] else "empty"
                yield f"{name} is {there} there; what was read now says `{shown(new)}`"


@dataclass(frozen=True)
class Drafted:
    """A draft with the files that it changes, and what the rules report of them.

    `write` is whether they were to be written, `fixed` are the rules whose fixers changed the
    script.
    """

    draft: Draft
    write: bool
    changes: Sequence[Change] = ()
    findings: Sequence[Finding] = ()
    fixed: Sequence[str] = ()

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

    @property
    def written(self) -> Sequence[Change]:
        """The changes that are written."""
        return self.changes if self.write and not self.refused else ()

    def as_csv(self) -> str:
        """The header and the row."""
        names = self.draft.schema.names
        return as_csv([names, [self.draft.row[name] for name in names]])

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
        for change in self.written:
            done = "removed" if change.becomes is None else "changed" if change.was else "written"
            yield f"{change.path}: {done}"

    def _empty_cells(self) -> Iterator[str]:
        """Each empty cell that a record needs or that has a doubt, and the other empty ones."""
        route, optional = self._route, []
        for name, reason in self.draft.unknown.items():
            field = self.draft.schema.field(name)
            if field.required or reason != NOT_STATED:
                needed = "required and not known" if field.required else "optional and left empty"
                yield f"{route.column.format(field)} is {needed}: {reason.removesuffix('.')}."
                yield f"  {field.description} {route.state.format(field)}"
            else:
                optional.append(route.column.format(field))
        if optional:
            yield f"optional and left empty: {', '.join(optional)}. {route.others}."

    def verdict(self) -> str:
        """The last line: what became of it."""
        if self.refused:
            rules = dict.fromkeys(item.rule for item in self.findings if may_be_exempt(item.rule))
            exempt = (f" {self._route.exempt.format(self.draft.name, rule)}" for rule in rules)
            return f"Nothing was written: {self._route.again}.{''.join(exempt)}"
        if not self.changes:
            return "Nothing to write: the dataset has all of this."
        if not self.write:
            return "Nothing was written yet: --write does it."
        return "No findings: ready to commit."


def draft(
    root: Path, script: str, *, log: str, issue: str, stated: Sequence[str], write: bool
) -> Drafted:
    """Read all files; write what follows if that is write and no rule reports anything.

    Raises `UnusableInput` for a file or argument that cannot be used, and `InvalidDataset`.
    """
    package = read_package(root)
    dataset, snapshot = read_dataset(package), take_snapshot(package)
    sources = read_sources(dataset, snapshot, script, log=log, issue=issue, stated=stated)
    drafted = _validated(Draft(sources, dataset, snapshot), write=write)
    write_changes(root, drafted.written)
    return drafted


def _validated(proposed: Draft, *, write: bool) -> Drafted:
    """The draft with what is certain fixed in its script, and the findings about it.

    Of a draft that lacks something these are findings in its script alone.

    If it is refused all the same, the findings are about the script as its author has it, without
    those of rules whose mistakes `--write` fixes.
    """
    rules, script = [*all_rules().values()], proposed.sources.script
    if any(proposed.obstacles):
        lasting = [rule for rule in rules if not rule.fixable]
        found = findings_of(lasting, {"script": lambda: [script] if script else []})
        return Drafted(proposed, write, findings=found)
    before, own = proposed.snapshot, proposed.after
    new = {change.path for change in changes_between(before, own)} & {proposed.path}
    fixed = fix(own, rules if new else [], new.__contains__)
    changes = tuple(changes_between(before, fixed.snapshot))
    found = findings_about(before, fixed.snapshot)
    if not found:
        copied = any(change.path in new for change in changes)
        return Drafted(proposed, write, changes, fixed=fixed.rules if copied else ())
    left = {item.rule for item in found}
    found = [
        item._replace(path=script.path) if script and item.path == proposed.path else item
        for item in findings_about(before, own)
        if item.rule in left
    ]
    return Drafted(proposed, write, changes, found)
