"""A record drafted from a script that ran, its log, an issue form, and what somebody states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rl_resources.check.dataset.records import slug_of
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.target import ScriptText, Trial
from rl_resources.contribute.changes import Row, with_rows, with_script
from rl_resources.contribute.facts import Fact, Facts, Form, cell, merged
from rl_resources.contribute.script_facts import name_facts, run_facts, run_with_defaults
from rl_resources.contribute.training_log import FIGURES, TrainingLog
from rl_resources.dataset import Dataset
from rl_resources.package import SCRIPTS, TableSchema
from rl_resources.script.name import PARTS, ScriptName
from rl_resources.text import shown

UNTESTED = "untested"
NOT_STATED = "nothing that was read states it"
ASSUMED: Facts = {"status": Fact("reported"), "statement": Fact("stated-run")}
OUTCOMES: Mapping[bool, str] = {True: "ran", False: "out-of-memory"}


@dataclass(frozen=True)
class Sources:
    """What a draft is made of.

    `held` is the script's path relative to the root if it lies among the dataset's scripts.
    `stated` are the cells that the command line states.
    """

    script: ScriptText | None = None
    held: str = ""
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
        """All that needs no log."""
        script = self.sources.script
        found = [self.sources.stated, self.sources.form.facts]
        if script is not None:
            named = name_facts(script, self.dataset)
            found += [run_facts(script, merged([*found, named]), self.dataset), named]
        return merged(found)

    @cached_property
    def _parts(self) -> dict[str, str]:
        """The parts of the script's name as cells."""
        return {part: self._certain.get(part, Fact()).text for part in PARTS}

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
    def path(self) -> str | None:
        """Where the script belongs; `None` if the size of its model is not known."""
        model = self.dataset.by_key["models"].get(self._parts["model"])
        if not self.name or model is None:
            return None
        return str(SCRIPTS / str(model["size"]).lower() / self.name)

    @cached_property
    def _held(self) -> Row:
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
        if self._of_another_batch(log) or self._of_another_release(log):
            return releases
        measured = {"statement": Fact("measured-run")} if log.measured and log.fits else {}
        figures = {name: self._figure(log, name) for name in FIGURES}
        return {**figures, **releases, **measured}

    def _of_another_batch(self, log: TrainingLog) -> bool:
        return None not in (log.batch, self._batch) and log.batch != self._batch

    def _of_another_release(self, log: TrainingLog) -> bool:
        """Whether the row that the dataset has states other releases than the log."""
        return any(
            fact.text and self._held.get(name, "") not in {"", fact.text}
            for name, fact in self._releases(log).items()
        )

    def _releases(self, log: TrainingLog) -> Facts:
        # The log names vllm for `vllm-ascend` too.
        engine = self._certain.get("infer", Fact()).text.partition("-")[0]
        programs = {"infer_version": engine, "framework_version": "verl"}
        return {name: self._release(log, name, program) for name, program in programs.items()}

    def _figure(self, log: TrainingLog, name: str) -> Fact:
        if name in log.figures:
            return Fact(self.schema.field(name).write(log.figures[name]))
        return Fact(doubt="the log does not show it")

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
        log, found = self.sources.log, [*self._held_trials]
        own = self._batch if self._held.get("statement") == "measured-run" else None
        if log is not None and (tried := log.batch or self._batch):
            found += [Trial(own, True)] if own and self._of_another_batch(log) else []
            found += [Trial(tried, log.fits)] if log.measured or not log.fits else []
        return list(dict.fromkeys(found))

    @cached_property
    def _held_trials(self) -> Mapping[Trial, int]:
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
        held, tried = self._held_trials, self._trials
        searched = len(tried) > 1 or not all(trial.ran for trial in tried)
        new = [trial for trial in tried if self.name and searched and trial not in held]
        return [
            {
                "script": self.name,
                "order": str(order),
                "batch": str(trial.batch),
                "outcome": OUTCOMES[trial.ran],
            }
            for order, trial in enumerate(new, start=max(held.values(), default=0) + 1)
        ]

    @cached_property
    def _proposed(self) -> Row:
        known = {name: self._facts.get(name, Fact()).text for name in self.schema.names}
        return {**known, "script": self.name}

    @cached_property
    def row(self) -> Row:
        """A cell for every column."""
        held, new = self._held, self._proposed
        if not held:
            return new
        filled = {name: held[name] or new[name] for name in held}
        if held["status"] != UNTESTED:
            return filled
        ran = self.sources.log is not None and self.sources.log.fits
        return filled | ({"status": new["status"]} if ran else {"statement": ""})

    @property
    def unknown(self) -> dict[str, str]:
        """Why a cell is empty, by column."""
        empty = [name for name in self.schema.names if not self.row[name] and name != "notes"]
        found = {name: self._facts.get(name, Fact()).doubt for name in empty}
        if "script" in found:
            missing = ", ".join(part for part in PARTS if not self._parts[part])
            found["script"] = f"it follows from {', '.join(PARTS)}; not known: {missing}"
        return {name: doubt or NOT_STATED for name, doubt in found.items()}

    @property
    def obstacles(self) -> Iterator[str]:
        """Why nothing can be written."""
        if self.sources.script is None:
            yield "a record needs its script; name it, or paste it into the form"
        required = [item.name for item in self.schema.fields if item.required]
        if missing := [name for name in required if not self.row[name]]:
            yield f"the row lacks {', '.join(missing)}"
        model = self.row["model"]
        if model and model not in self.dataset.by_key["models"]:
            yield f"`{shown(model)}` is not in records/models.csv, where its row has to be first"
        if self.sources.log and not self.sources.log.fits and not self._held:
            yield (
                "the run of the log ran out of memory, and a record is a run that fitted: lower "
                "the script's batch to one that ran; its log then adds this one as a trial"
            )

    def written_to(self, snapshot: Snapshot) -> Snapshot:
        """The dataset with the row, its trials and exemptions, and the script in its place.

        Raises `UnusableInput` where a table cannot take a row.
        """
        new: dict[str, list[Row]] = {
            "tuning": [self.row] if self.row != self._held else [],
            "trials": self.trials,
            "exemptions": [
                {"record": self.name, "rule": rule, "reason": reason}
                for rule, reason in self.sources.form.exempt.items()
            ],
        }
        after = with_rows(snapshot, {name: rows for name, rows in new.items() if rows})
        script, held = self.sources.script, self.sources.held
        if self.path is None or script is None or held == self.path:
            return after
        return with_script(after, self.path, script.text.encode(), held)

    @property
    def remarks(self) -> Iterator[str]:
        """What somebody should know of the sources, and how they differ from the dataset."""
        script, held = self.sources.script, self.sources.held
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
        if self.path and held and held != self.path:
            yield f"{shown(held, 200)} belongs at {self.path}: writing moves it there"
        elif self.path and script and not held:
            yield f"the script belongs at {self.path}: writing puts a copy there"
        if self._held:
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
        if self._of_another_batch(log):
            yield (
                f"the run used a batch of {log.batch}, but the script asks for {self._batch}: "
                "its figures are not used"
            )
        elif self._of_another_release(log):
            yield "the log is of another release than the row: its figures are not used"

    def _differences(self) -> Iterator[str]:
        table = self.snapshot.tables["tuning"]
        line = table.rows[self.snapshot.keys("tuning")[self.name]].line
        yield f"{table.path}:{line} has this configuration; no cell of it is overwritten"
        assumed = {"script", *ASSUMED} - self._log.keys()
        for name, new in self._proposed.items():
            if name not in assumed and new not in {"", self.row[name]}:
                there = f"`{shown(self.row[name])}`" if self.row[name] else "empty"
                yield f"{name} is {there} there; what was read now says `{shown(new)}`"
