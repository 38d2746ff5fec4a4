"""A record proposed from a script that ran, its log, an issue form, and what somebody adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rl_resources import tabular
from rl_resources.check.dataset.tables import slug_of
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.subject import ScriptText, Trial
from rl_resources.contribute.fact import Fact, Facts, merged
from rl_resources.contribute.from_log import Heard, heard
from rl_resources.contribute.from_run import batch_of, run_facts, searched
from rl_resources.contribute.from_text import (
    comment_facts,
    name_facts,
    named_parts,
    titled_facts,
)
from rl_resources.contribute.issue_form import Form
from rl_resources.contribute.proposal import Change, Row, add_rows
from rl_resources.contribute.training_log import TrainingLog
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.package import SCRIPTS, TableSchema
from rl_resources.script.name import PARTS, ScriptName
from rl_resources.words import shown

UNTESTED = "untested"
OUTCOMES: Mapping[bool, str] = {True: "ran", False: "out-of-memory"}


@dataclass(frozen=True)
class Sources:
    """What a draft is made of.

    `held` is the script's path relative to the root where it lies among the dataset's scripts,
    `data` the script's bytes. `given` are the cells that somebody states on the command line.
    """

    script: ScriptText | None = None
    data: bytes = b""
    held: str | None = None
    log: TrainingLog | None = None
    form: Form | None = None
    given: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """A proposed row, and what comes with it.

    `row` has a cell for every column; `unknown` says of blank ones why. `trials` are new rows,
    `path` is where the script belongs. `line` is that of the row where the dataset has it already:
    then `row` is that row with its blanks filled. `obstacles` are why nothing can be written.
    """

    row: Row
    unknown: Mapping[str, str]
    trials: tuple[Row, ...]
    remarks: tuple[str, ...]
    path: str | None
    line: int | None
    changes: tuple[Change, ...]
    obstacles: tuple[str, ...]


def draft(sources: Sources, dataset: Dataset, snapshot: Snapshot) -> Draft:
    """Propose the record. Raises `UnusableInput` where a table cannot take a row."""
    return _Maker(sources, dataset, snapshot).draft()


@dataclass(frozen=True)
class _Maker:
    sources: Sources
    dataset: Dataset
    snapshot: Snapshot

    @property
    def schema(self) -> TableSchema:
        return self.dataset.package.resources["tuning"].schema

    @cached_property
    def stated(self) -> Mapping[str, Fact]:
        """What is known without the log and without comments about devices and releases."""
        script, form = self.sources.script, self.sources.form
        found: list[Facts] = [self.sources.given, form.facts if form else {}]
        if script is not None:
            named = named_parts(script.path)
            found.append(run_facts(script, named, self.dataset))
            found.append(name_facts(named, self.dataset))
            found.append(titled_facts(script, self.dataset))
        return merged(found)

    @cached_property
    def heard(self) -> Heard | None:
        script, log = self.sources.script, self.sources.log
        if log is None:
            return None
        batch = batch_of(script) if script else None
        return heard(log, batch, self.stated.get("infer", Fact()).text, self.schema)

    @cached_property
    def facts(self) -> Mapping[str, Fact]:
        script = self.sources.script
        infer = self.stated.get("infer", Fact()).text
        return merged(
            [
                self.sources.given,
                self.heard.facts if self.heard else {},
                self.stated,
                comment_facts(script, infer, self.dataset) if script else {},
                {
                    "status": Fact("reported"),
                    "statement": Fact("stated-run"),
                    "max_batch": self.limit,
                },
            ]
        )

    @cached_property
    def limit(self) -> Fact:
        """The largest batch that ran, where a larger one was tried that did not."""
        ran = [trial.batch for trial in self.all_trials if trial.ran]
        failed = [trial.batch for trial in self.all_trials if not trial.ran]
        if ran and failed and max(ran) < min(failed):
            return Fact(str(max(ran)))
        batch = batch_of(self.sources.script) if self.sources.script else None
        own = f"; the script's own batch is {batch}" if batch else ""
        return Fact(doubt=f"nothing shows that larger batches were tried{own}")

    @cached_property
    def all_trials(self) -> tuple[Trial, ...]:
        script = self.sources.script
        found = [
            *self.held_trials,
            *(searched(script) if script else ()),
            *([self.heard.trial] if self.heard and self.heard.trial else []),
        ]
        return tuple(dict.fromkeys(found))

    @cached_property
    def held_trials(self) -> tuple[Trial, ...]:
        rows = self.dataset.records["trials"]
        return tuple(
            Trial(int(str(row["batch"])), row["outcome"] == OUTCOMES[True])
            for row in rows
            if row["script"] == self.names_script
        )

    @cached_property
    def names_script(self) -> str:
        """The name that follows from the six parts; empty where one of them is not known."""
        parts = {name: self._part(name) for name in PARTS}
        if not all(parts.values()):
            return ""
        gpus = int(parts.pop("gpus"))
        return str(ScriptName(gpus=gpus, **parts))

    def _part(self, name: str) -> str:
        text = self._early(name)
        model = self.dataset.by_key["models"].get(text) if name == "model" else None
        if name == "model" and text:
            return str(model["slug"]) if model else slug_of(text)
        return text.lower()

    def _early(self, name: str) -> str:
        """A part of the name; the device may stand in comments alone."""
        fact = self.stated.get(name, Fact())
        if not fact.text and name == "device" and self.sources.script:
            fact = comment_facts(self.sources.script, "", self.dataset)["device"]
        return fact.text

    @cached_property
    def path(self) -> str | None:
        """Where the script belongs, where the size of its model is known."""
        model = self.dataset.by_key["models"].get(self._early("model"))
        if not self.names_script or model is None:
            return None
        return str(SCRIPTS / str(model["size"]).lower() / self.names_script)

    @cached_property
    def held_row(self) -> int | None:
        """The row that the dataset has for this configuration."""
        return self.snapshot.keys("tuning").get(self.names_script) if self.names_script else None

    def draft(self) -> Draft:
        row = {name: self.facts.get(name, Fact()).text for name in self.schema.names}
        row["script"] = self.names_script
        proposed = dict(row)
        if self.held_row is not None:
            row = self._filled(self.held_row, row)
        unknown = dict(self._unknown(row))
        obstacles = tuple(self._obstacles(row))
        changes = () if obstacles else tuple(self._changes(row))
        return Draft(
            row=row,
            unknown=unknown,
            trials=tuple(self._trial_rows()),
            remarks=tuple(self._remarks(proposed, row)),
            path=self.path,
            line=self._line,
            changes=changes,
            obstacles=obstacles,
        )

    @property
    def _line(self) -> int | None:
        table = self.snapshot.tables["tuning"]
        return None if self.held_row is None else table.rows[self.held_row].line

    def _filled(self, at: int, row: Row) -> dict[str, str]:
        """The row that there is, with its blank cells filled.

        A log of other releases than the row's tells of another run, so nothing is taken from it.
        """
        held = self._held_cells(at)
        if self._other_releases(at, row):
            return held
        filled = {name: held[name] or row[name] for name in held}
        ran = self.sources.log is not None and self.sources.log.out_of_memory is None
        if held["status"] != UNTESTED:
            return filled
        return filled | ({"status": row["status"]} if ran else {"statement": ""})

    def _held_cells(self, at: int) -> dict[str, str]:
        table = self.snapshot.tables["tuning"]
        return {name: table.cell(at, name) for name in self.schema.names}

    def _other_releases(self, at: int, row: Row) -> list[str]:
        """The columns of releases in which the log contradicts the row that there is."""
        held = self._held_cells(at)
        return [name for name in self._releases if held[name] not in {"", row[name]}]

    @property
    def _releases(self) -> list[str]:
        """The columns of releases that the log tells."""
        facts = self.heard.facts if self.heard else {}
        return [name for name, fact in facts.items() if name.endswith("_version") and fact.text]

    def _unknown(self, row: Row) -> Iterator[tuple[str, str]]:
        missing = [name for name in PARTS if not self._early(name)]
        for name in self.schema.names:
            if row[name] or name == "notes":
                continue
            doubt = self.facts.get(name, Fact()).doubt
            if name == "script":
                doubt = f"it follows from {', '.join(PARTS)}; not known: {', '.join(missing)}"
            yield name, doubt or "nothing that was read states it"

    def _obstacles(self, row: Row) -> Iterator[str]:
        log = self.sources.log
        if self.sources.script is None:
            yield "a record needs its script; name it, or paste it into the form"
        missing = [name for name in self.schema.names if self._lacks(row, name)]
        if missing:
            yield f"the row lacks {', '.join(missing)}"
        elif self.path is None:
            yield f"`{shown(row['model'])}` is not in records/models.csv; add its row there first"
        if log and log.out_of_memory and self.held_row is None:
            yield (
                "the run of the log ran out of memory, and a record is a run that fitted: lower "
                "the script's batch to one that ran; its log then adds this one as a trial"
            )

    def _lacks(self, row: Row, name: str) -> bool:
        return self.schema.field(name).required and not row[name]

    def _changes(self, row: Row) -> Iterator[Change]:
        trials = list(self._trial_rows())
        rows: dict[str, Sequence[Row]] = {"trials": trials} if trials else {}
        if self.held_row is None:
            rows = {"tuning": [row], **rows}
        elif (change := self._fill(self.held_row, row)) is not None:
            yield change
        yield from add_rows(self.snapshot, rows)
        yield from self._script_changes()

    def _fill(self, at: int, row: Row) -> Change | None:
        """The tuning table with one line of it written anew."""
        table = self.snapshot.tables["tuning"]
        old, new = table.rows[at], tabular.write([[row[name] for name in self.schema.names]])
        if tuple(row[name] for name in self.schema.names) == old.cells or table.data is None:
            return None
        lines = table.data.split(b"\n")
        alone = tabular.read(lines[old.line - 1].decode()).header
        if alone is None or alone.cells != old.cells:
            raise UnusableInput(f"{table.path}:{old.line}: the row is not on one line")
        lines[old.line - 1] = new.removesuffix("\n").encode()
        return Change(table.path, table.data, b"\n".join(lines))

    def _script_changes(self) -> Iterator[Change]:
        path, held = self.path, self.sources.held
        if path is None or held == path:
            return
        there = next((item for item in self.snapshot.scripts if item.path == path), None)
        if there is not None and there.data == self.sources.data and held is None:
            return
        if held is not None:
            yield Change(held, self.sources.data, None)
        yield Change(path, None, self.sources.data, executable=True)

    def _trial_rows(self) -> Iterator[Row]:
        """New trials; those that are known end where the new ones begin."""
        if not self.names_script:
            return
        rows = self.dataset.records["trials"]
        orders = [int(str(row["order"])) for row in rows if row["script"] == self.names_script]
        new = [trial for trial in self.all_trials if trial not in self.held_trials]
        for order, trial in enumerate(new, start=max(orders, default=0) + 1):
            yield {
                "script": self.names_script,
                "order": str(order),
                "batch": str(trial.batch),
                "outcome": OUTCOMES[trial.ran],
            }

    def _remarks(self, proposed: Row, row: Row) -> Iterator[str]:
        if self.sources.form:
            yield from self.sources.form.remarks
        if self.heard:
            yield from self.heard.remarks
        if self.sources.script and self.sources.script.training is None:
            yield "the script starts no training that is known, or several that differ"
        yield from self._place_remarks()
        model = row["model"]
        if model and model not in self.dataset.by_key["models"]:
            yield f"`{shown(model)}` is not in records/models.csv"
        if self.held_row is not None:
            yield from self._differences(self.held_row, proposed, row)

    def _place_remarks(self) -> Iterator[str]:
        path, held = self.path, self.sources.held
        if path and held and held != path:
            yield f"{shown(held, 200)} belongs at {path}: --write moves it there"
        elif path and self.sources.script and held is None:
            yield f"the script belongs at {path}: --write puts a copy there"

    def _differences(self, at: int, proposed: Row, row: Row) -> Iterator[str]:
        path = self.snapshot.tables["tuning"].path
        yield f"{path}:{self._line} has this configuration; no cell of it is overwritten"
        if others := self._other_releases(at, proposed):
            yield (
                f"the log is of another {' and '.join(others)} than the row, so no figure of it is "
                "taken; edit the row where the new run shall replace the old one"
            )
        heard_of = self.heard.facts if self.heard else {}
        assumed = {"script", "status", "statement"} - heard_of.keys()
        for name in self.schema.names:
            if name not in assumed and proposed[name] not in {"", row[name]}:
                there = f"`{shown(row[name])}`" if row[name] else "blank"
                yield f"{name} is {there} there; what was read now says `{shown(proposed[name])}`"
