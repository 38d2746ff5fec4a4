"""A record drafted from a script that ran, its log, an issue form, and what somebody states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rl_resources.check.dataset.tables import slug_of
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.target import ScriptText, Trial
from rl_resources.contribute.changes import Change, Row, add_rows, replace_row
from rl_resources.contribute.facts import Fact, Facts, Form, merged
from rl_resources.contribute.log_facts import LogFacts, log_facts
from rl_resources.contribute.script_facts import (
    batch_of,
    comment_facts,
    name_facts,
    run_facts,
    searched,
    titled_facts,
)
from rl_resources.contribute.training_log import TrainingLog
from rl_resources.dataset import Dataset
from rl_resources.package import SCRIPTS, TableSchema
from rl_resources.script.name import PARTS, ScriptName
from rl_resources.words import shown

UNTESTED = "untested"
ASSUMED: Facts = {"status": Fact("reported"), "statement": Fact("stated-run")}
OUTCOMES: Mapping[bool, str] = {True: "ran", False: "out-of-memory"}


@dataclass(frozen=True)
class Sources:
    """What a draft is made of.

    `held` is the script's path relative to the root if it lies among the dataset's scripts, `data`
    the script's bytes. `stated` are the cells that the command line states.
    """

    script: ScriptText | None = None
    data: bytes = b""
    held: str | None = None
    log: TrainingLog | None = None
    form: Form | None = None
    stated: Facts = field(default_factory=dict)


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
        """What decides the script's name, and all else that needs no log."""
        script, form = self.sources.script, self.sources.form
        found: list[Facts] = [self.sources.stated, form.facts if form else {}]
        if script is not None:
            named = name_facts(script, self.dataset)
            found.append(run_facts(script, named, self.dataset))
            found.append(named)
            found.append(titled_facts(script, self.dataset))
        return merged(found)

    @property
    def _infer(self) -> str:
        return self._certain.get("infer", Fact()).text

    @cached_property
    def _comments(self) -> Facts:
        script = self.sources.script
        return comment_facts(script, self._infer, self.dataset) if script else {}

    @cached_property
    def _log(self) -> LogFacts:
        if self.sources.log is None:
            return LogFacts({}, None, ())
        return log_facts(self.sources.log, self._batch, self._infer, self.schema)

    @cached_property
    def _facts(self) -> Facts:
        limit = {"max_batch": self._limit}
        found = (self.sources.stated, self._log.facts, self._certain, self._comments)
        return merged([*found, ASSUMED, limit])

    @property
    def _batch(self) -> int | None:
        return batch_of(self.sources.script) if self.sources.script else None

    @property
    def _limit(self) -> Fact:
        """The largest batch that ran, if a larger one was tried that did not."""
        ran = [trial.batch for trial in self._trials if trial.ran]
        failed = [trial.batch for trial in self._trials if not trial.ran]
        if ran and failed and max(ran) < min(failed):
            return Fact(str(max(ran)))
        own = f"; the script's own batch is {self._batch}" if self._batch else ""
        return Fact(doubt=f"nothing shows that larger batches were tried{own}")

    @cached_property
    def _trials(self) -> tuple[Trial, ...]:
        script = self.sources.script
        logged = [self._log.trial] if self._log.trial else []
        found = [*self._held_trials, *(searched(script) if script else ()), *logged]
        return tuple(dict.fromkeys(found))

    @property
    def _held_trials(self) -> list[Trial]:
        return [
            Trial(int(str(row["batch"])), row["outcome"] == OUTCOMES[True])
            for row in self.dataset.records["trials"]
            if row["script"] == self.name
        ]

    def _part(self, part: str) -> str:
        """A part of the script's name as the cell of its column; comments may state the device."""
        found = merged([self._certain, {"device": self._comments.get("device", Fact())}])
        return found.get(part, Fact()).text

    @cached_property
    def name(self) -> str:
        """The script's name by the six parts; empty if one of them is not known."""
        parts = {part: self._part(part) for part in PARTS}
        if not all(parts.values()):
            return ""
        model = self.dataset.by_key["models"].get(parts["model"])
        slug = str(model["slug"]) if model else slug_of(parts["model"])
        words = {part: text.lower() for part, text in parts.items() if part != "gpus"}
        return str(ScriptName(**{**words, "model": slug}, gpus=int(parts["gpus"])))

    @cached_property
    def path(self) -> str | None:
        """Where the script belongs; `None` if the size of its model is not known."""
        model = self.dataset.by_key["models"].get(self._part("model"))
        if not self.name or model is None:
            return None
        return str(SCRIPTS / str(model["size"]).lower() / self.name)

    @cached_property
    def _held_at(self) -> int | None:
        return self.snapshot.keys("tuning").get(self.name) if self.name else None

    @cached_property
    def _held(self) -> Row:
        """The row that the dataset has; empty if it has none."""
        table, at = self.snapshot.tables["tuning"], self._held_at
        return {} if at is None else {name: table.cell(at, name) for name in self.schema.names}

    @cached_property
    def _proposed(self) -> dict[str, str]:
        known = {name: self._facts.get(name, Fact()).text for name in self.schema.names}
        return {**known, "script": self.name}

    @cached_property
    def row(self) -> Row:
        """A cell for every column.

        A log of other releases than the row's is of another run, so nothing is taken from it.
        """
        held, new = self._held, self._proposed
        if not held or self._other_releases:
            return held or new
        filled = {name: held[name] or new[name] for name in held}
        if held["status"] != UNTESTED:
            return filled
        ran = self.sources.log is not None and self.sources.log.out_of_memory is None
        return filled | ({"status": new["status"]} if ran else {"statement": ""})

    @property
    def _other_releases(self) -> list[str]:
        """The columns of releases in which the log contradicts the row of the dataset."""
        logged = [name for name, fact in self._log.facts.items() if fact.text]
        held, new = self._held, self._proposed
        releases = [name for name in logged if name.endswith("_version") and name in held]
        return [name for name in releases if held[name] not in {"", new[name]}]

    @property
    def unknown(self) -> dict[str, str]:
        """Why a cell is empty, by column."""
        empty = [name for name in self.schema.names if not self.row[name] and name != "notes"]
        found = {name: self._facts.get(name, Fact()).doubt for name in empty}
        if "script" in found:
            missing = ", ".join(part for part in PARTS if not self._part(part))
            found["script"] = f"it follows from {', '.join(PARTS)}; not known: {missing}"
        return {name: doubt or "nothing that was read states it" for name, doubt in found.items()}

    @property
    def obstacles(self) -> Iterator[str]:
        """Why nothing can be written."""
        if self.sources.script is None:
            yield "a record needs its script; name it, or paste it into the form"
        required = [item.name for item in self.schema.fields if item.required]
        if missing := [name for name in required if not self.row[name]]:
            yield f"the row lacks {', '.join(missing)}"
        elif self.path is None:
            yield f"`{shown(self.row['model'])}` is not in records/models.csv; add its row there"
        log = self.sources.log
        if log and log.out_of_memory and not self._held:
            yield (
                "the run of the log ran out of memory, and a record is a run that fitted: lower "
                "the script's batch to one that ran; its log then adds this one as a trial"
            )

    @property
    def trials(self) -> list[Row]:
        """New rows of trials, after those that the dataset has."""
        if not self.name:
            return []
        rows = self.dataset.records["trials"]
        orders = [int(str(row["order"])) for row in rows if row["script"] == self.name]
        new = [trial for trial in self._trials if trial not in self._held_trials]
        return [
            {
                "script": self.name,
                "order": str(order),
                "batch": str(trial.batch),
                "outcome": OUTCOMES[trial.ran],
            }
            for order, trial in enumerate(new, start=max(orders, default=0) + 1)
        ]

    def changes(self) -> Iterator[Change]:
        """The tables and the script as they shall be.

        Raises `UnusableInput` where a table cannot take a row.
        """
        rows: dict[str, Sequence[Row]] = {"trials": self.trials} if self.trials else {}
        if self._held_at is None:
            rows = {"tuning": [self.row], **rows}
        elif self.row != self._held:
            yield replace_row(self.snapshot, "tuning", self._held_at, self.row)
        yield from add_rows(self.snapshot, rows)
        yield from self._script_changes()

    def _script_changes(self) -> Iterator[Change]:
        path, held, data = self.path, self.sources.held, self.sources.data
        there = next((item for item in self.snapshot.scripts if item.path == path), None)
        same = there is not None and there.data == data and held is None
        if path is None or held == path or same:
            return
        if held is not None:
            yield Change(held, data, None)
        yield Change(path, None, data, executable=True)

    @property
    def remarks(self) -> Iterator[str]:
        """What somebody should know of the sources, and how they differ from the dataset."""
        script, held = self.sources.script, self.sources.held
        yield from self.sources.form.remarks if self.sources.form else ()
        yield from self._log.remarks
        if script and script.training is None:
            yield "the script starts no training that is known, or several that differ"
        if self.path and held and held != self.path:
            yield f"{shown(held, 200)} belongs at {self.path}: --write moves it there"
        elif self.path and script and held is None:
            yield f"the script belongs at {self.path}: --write puts a copy there"
        model = self.row["model"]
        if model and model not in self.dataset.by_key["models"]:
            yield f"`{shown(model)}` is not in records/models.csv"
        if self._held:
            yield from self._differences()

    def _differences(self) -> Iterator[str]:
        table = self.snapshot.tables["tuning"]
        line = table.rows[self._held_at or 0].line
        yield f"{table.path}:{line} has this configuration; no cell of it is overwritten"
        if others := self._other_releases:
            yield (
                f"the log is of another {' and '.join(others)} than the row, so no figure of it is "
                "used; edit the row if the new run shall replace the old one"
            )
        assumed = {"script", *ASSUMED} - self._log.facts.keys()
        for name, new in self._proposed.items():
            if name not in assumed and new not in {"", self.row[name]}:
                there = f"`{shown(self.row[name])}`" if self.row[name] else "empty"
                yield f"{name} is {there} there; what was read now says `{shown(new)}`"
