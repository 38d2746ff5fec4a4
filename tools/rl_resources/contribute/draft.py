"""A record drafted from a script that ran, its log, an issue form, and what somebody states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rl_resources.check.dataset.tables import slug_of
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.target import ScriptText, Trial
from rl_resources.contribute.changes import Change, Row, add_rows, replace_row
from rl_resources.contribute.facts import Fact, Facts, Form, cell, merged
from rl_resources.contribute.script_facts import (
    comment_facts,
    name_facts,
    run_facts,
    searched,
    titled_facts,
)
from rl_resources.contribute.training_log import FIGURES, TrainingLog
from rl_resources.dataset import Dataset
from rl_resources.package import SCRIPTS, TableSchema
from rl_resources.script.name import PARTS, ScriptName
from rl_resources.text import shown

UNTESTED = "untested"
ASSUMED: Facts = {"status": Fact("reported"), "statement": Fact("stated-run")}
OUTCOMES: Mapping[bool, str] = {True: "ran", False: "out-of-memory"}
ENGINES: Mapping[str, str] = {"vllm-ascend": "vllm", "vllm-omni": "vllm"}
"""The program that a log names for a rollout engine."""


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
    form: Form = field(default_factory=Form)
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
        script = self.sources.script
        found = [self.sources.stated, self.sources.form.facts]
        if script is not None:
            named = name_facts(script, self.dataset)
            found += [run_facts(script, named, self.dataset), named]
            found += [titled_facts(script, self.dataset)]
        return merged(found)

    @cached_property
    def _comments(self) -> Facts:
        script, infer = self.sources.script, self._certain.get("infer", Fact()).text
        return comment_facts(script, infer, self.dataset) if script else {}

    @cached_property
    def name(self) -> str:
        """The script's name by the six parts; empty if one of them is not known."""
        if not all(self._parts.values()):
            return ""
        model = self.dataset.by_key["models"].get(self._parts["model"])
        slug = str(model["slug"]) if model else slug_of(self._parts["model"])
        words = {part: text.lower() for part, text in self._parts.items()}
        return str(ScriptName(**{**words, "model": slug, "gpus": int(words["gpus"])}))  # type: ignore[arg-type]

    @cached_property
    def _parts(self) -> dict[str, str]:
        """The parts of the script's name as cells; comments may state the device."""
        found = merged([self._certain, {"device": self._comments.get("device", Fact())}])
        return {part: found.get(part, Fact()).text for part in PARTS}

    @cached_property
    def path(self) -> str | None:
        """Where the script belongs; `None` if the size of its model is not known."""
        model = self.dataset.by_key["models"].get(self._parts["model"])
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

    @property
    def _batch(self) -> int | None:
        """The prompts per step of the script."""
        run = self.sources.script.training if self.sources.script else None
        return run.train_batch_size.number if run else None

    @cached_property
    def _of_another_batch(self) -> bool:
        """Whether the log is of a run with another batch than the script's."""
        logged = self.sources.log.batch if self.sources.log else None
        return None not in (logged, self._batch) and logged != self._batch

    @cached_property
    def _log(self) -> Facts:
        """The cells that the log states.

        Figures of a run with another batch belong to no row of this script.
        """
        log, infer = self.sources.log, self._certain.get("infer", Fact()).text
        if log is None:
            return {}
        figures = (
            {} if self._of_another_batch else {name: self._figure(log, name) for name in FIGURES}
        )
        measured = {"statement": Fact("measured-run")} if log.measured and log.fits else {}
        return {
            **figures,
            "infer_version": self._release(log, ENGINES.get(infer, infer), "infer_version"),
            "framework_version": self._release(log, "verl", "framework_version"),
            **measured,
        }

    def _figure(self, log: TrainingLog, name: str) -> Fact:
        if name in log.figures:
            return Fact(self.schema.field(name).write(log.figures[name]))
        if not log.fits:
            return Fact(doubt="the run of the log ran out of memory")
        if not log.measured and name != "peak_memory_gb":
            return Fact(doubt="the log has no step after warm-up that neither validates nor saves")
        return Fact(doubt="the log does not show it")

    def _release(self, log: TrainingLog, program: str, column: str) -> Fact:
        found = log.versions.get(program, set())
        if len(found) > 1:
            return Fact(doubt=f"the log names several releases of {program}")
        return cell(self.schema.field(column), *found) if found else Fact()

    @cached_property
    def _facts(self) -> Facts:
        found = (self.sources.stated, self._log, self._certain, self._comments, ASSUMED)
        return merged([*found, {"max_batch": self._limit}])

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
        """Those of the dataset, of the script's comments and of the log.

        A lack of host memory says nothing of the GPUs, so it is no trial.
        """
        found = [
            *self._held_trials,
            *(searched(self.sources.script) if self.sources.script else ()),
        ]
        if (log := self.sources.log) is not None:
            tried = log.batch or self._batch
            shows = log.measured if log.fits else log.lacked == "accelerator"
            found += [Trial(tried, log.fits)] if tried and shows else []
        return tuple(dict.fromkeys(found))

    @property
    def _held_trials(self) -> list[Trial]:
        return [
            Trial(int(str(row["batch"])), row["outcome"] == OUTCOMES[True])
            for row in self.dataset.records["trials"]
            if row["script"] == self.name
        ]

    @property
    def trials(self) -> list[Row]:
        """New rows of trials, after those that the dataset has."""
        rows = self.dataset.records["trials"]
        orders = [int(str(row["order"])) for row in rows if row["script"] == self.name]
        new = [trial for trial in self._trials if self.name and trial not in self._held_trials]
        return [
            {
                "script": self.name,
                "order": str(order),
                "batch": str(trial.batch),
                "outcome": OUTCOMES[trial.ran],
            }
            for order, trial in enumerate(new, start=max(orders, default=0) + 1)
        ]

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
        ran = self.sources.log is not None and self.sources.log.fits
        return filled | ({"status": new["status"]} if ran else {"statement": ""})

    @property
    def _other_releases(self) -> list[str]:
        """The columns of releases in which the log contradicts the row of the dataset."""
        held = self._held
        logged = [name for name in self._log if name.endswith("_version") and self._log[name].text]
        return [name for name in logged if held.get(name, "") not in {"", self._log[name].text}]

    @property
    def unknown(self) -> dict[str, str]:
        """Why a cell is empty, by column."""
        empty = [name for name in self.schema.names if not self.row[name] and name != "notes"]
        found = {name: self._facts.get(name, Fact()).doubt for name in empty}
        if "script" in found:
            missing = ", ".join(part for part in PARTS if not self._parts[part])
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
        if self.sources.log and not self.sources.log.fits and not self._held:
            yield (
                "the run of the log ran out of memory, and a record is a run that fitted: lower "
                "the script's batch to one that ran; its log then adds this one as a trial"
            )

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
        path, held, data = self.path, self.sources.held, self.sources.data
        if path is not None and held != path:
            yield from [Change(held, data, None)] if held else []
            yield Change(path, None, data, executable=True)

    @property
    def remarks(self) -> Iterator[str]:
        """What somebody should know of the sources, and how they differ from the dataset."""
        script, held = self.sources.script, self.sources.held
        yield from self.sources.form.remarks
        yield from self._remarks_on_log(self.sources.log) if self.sources.log else ()
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

    def _remarks_on_log(self, log: TrainingLog) -> Iterator[str]:
        measured, steps = len(log.measured), len(log.steps)
        yield (
            f"{steps} training steps in the log; excluded are {log.warm_up} as warm-up and "
            f"{steps - log.warm_up - measured} that also validate or save; medians are over "
            f"{measured}"
        )
        if log.earlier_runs:
            yield f"earlier runs in the same log are excluded ({log.earlier_runs})"
        if not log.fits:
            yield f"out of {log.lacked} memory: {shown(log.out_of_memory, 160)}"
        if self._of_another_batch:
            yield (
                f"the run used a batch of {log.batch}, but the script asks for {self._batch}: "
                "its figures are not used"
            )
        if log.broken:
            yield f"the file breaks off ({shown(log.broken, 100)}); what comes before counts"
        for program, versions in sorted(log.versions.items()):
            yield f"printed release of {program}: {shown(', '.join(sorted(versions)), 100)}"

    def _differences(self) -> Iterator[str]:
        table = self.snapshot.tables["tuning"]
        line = table.rows[self._held_at or 0].line
        yield f"{table.path}:{line} has this configuration; no cell of it is overwritten"
        if others := self._other_releases:
            yield (
                f"the log is of another {' and '.join(others)} than the row, so no figure of it is "
                "used; edit the row if the new run shall replace the old one"
            )
        assumed = {"script", *ASSUMED} - self._log.keys()
        for name, new in self._proposed.items():
            if name not in assumed and new not in {"", self.row[name]}:
                there = f"`{shown(self.row[name])}`" if self.row[name] else "empty"
                yield f"{name} is {there} there; what was read now says `{shown(new)}`"
