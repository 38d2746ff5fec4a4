"""What a script, its log, a form and its author say about a run, merged into one record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from rl_resources.certainty import MEASURED_RUN, STATED_RUN, UNTESTED
from rl_resources.contribute import Row
from rl_resources.contribute.sources import (
    Facts,
    Form,
    first_known,
    name_facts,
    run_facts,
    say,
    script_name,
)
from rl_resources.contribute.training_log import TrainingLog
from rl_resources.dataset import Dataset, script_path
from rl_resources.devices import devices_of, vendor_in
from rl_resources.facts import TableRow, records
from rl_resources.facts.comparison import NO_TAG, SPEEDS, faster_record, smaller_run
from rl_resources.facts.models import device_memory
from rl_resources.facts.script_names import name_beside
from rl_resources.facts.words import Fact, read_word
from rl_resources.package import SCRIPTS, TableSchema
from rl_resources.script.algorithm import asked_of_min, costs_time
from rl_resources.script.run import Run, is_on
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.snapshot import Snapshot, Table, name_of
from rl_resources.tabular import write as as_csv
from rl_resources.text import shown

OF_A_RUN: Facts = {"status": Fact("reported"), "statement": Fact(STATED_RUN)}


@dataclass(frozen=True)
class Sources:
    """What a record is made from; `assumed` is used where nothing else is stated."""

    script: ScriptText
    log: TrainingLog = field(default_factory=TrainingLog)
    form: Form = field(default_factory=Form)
    stated: Facts = field(default_factory=dict)
    assumed: Facts = field(default_factory=lambda: OF_A_RUN)


@dataclass(frozen=True)
class Proposal:
    """A proposed record.

    `name` and `path` are those of its script, empty if one of the six parts is not known.
    `existing` is the dataset's row for this configuration, if any; `row` is then this row with its
    empty cells filled, and `differences` has what the sources say otherwise. `facts` are what the
    sources say, `mismatch` says why the log is of another run.
    """

    sources: Sources
    schema: TableSchema
    name: str
    path: str
    existing: Row
    row: Row
    facts: Facts
    mismatch: str
    differences: Mapping[str, str]
    is_new: bool

    @property
    def unknown(self) -> Mapping[str, str]:
        """Why each empty cell is empty; no words if nothing states it.

        The script's name is not among them, because it follows from other cells.
        """
        found = {}
        for column, text in self.row.items():
            if not text and column not in {"script", "notes"}:
                found[column] = self.facts[column].why_empty
        return found

    @property
    def lacks(self) -> list[str]:
        """What the record still needs."""
        found = []
        missing = [name for name in self.unknown if self.schema.field(name).required]
        if missing:
            found.append(f"the row lacks {', '.join(missing)}")
        out_of_memory = shown(self.sources.log.out_of_memory, 160)
        if out_of_memory:
            found.append(
                f"the run of the log ended with `{out_of_memory}`: "
                "add it to records/trials.csv"
            )
        return found

    def as_csv(self) -> str:
        """The header and the row."""
        return _table_text(self.schema, self.row)


def merge(sources: Sources, dataset: Dataset, snapshot: Snapshot) -> Proposal:
    """The record that the sources make."""
    certain = _certain(sources, dataset, snapshot)
    name = _name(sources, certain, snapshot)
    path = ""
    existing: Row = {}
    if name:
        path = script_path(dataset, {"model": certain["model"].text, "script": name})
        existing = snapshot.row("tuning", name)

    logged, mismatch = _logged(sources, certain, existing, dataset)
    facts = first_known([sources.stated, logged, certain, sources.assumed])
    read = _read_row(sources, facts, name, snapshot)
    row = read
    differences = {}
    if existing:
        ran = bool(sources.log.steps) and not mismatch
        row = _filled(existing, read, ran=ran, measured="statement" in logged)
        assumed = {"script", *sources.assumed} - logged.keys()
        differences = _differences(row, read, assumed)
    return Proposal(
        sources=sources,
        schema=dataset.package.resources["tuning"].schema,
        name=name,
        path=path,
        existing=existing,
        row=row,
        facts=facts,
        mismatch=mismatch,
        differences=differences,
        is_new=path not in {"", *(script.path for script in snapshot.scripts)},
    )


def _read_row(sources: Sources, facts: Facts, name: str, snapshot: Snapshot) -> Row:
    """The row that the sources make by themselves, with the tag that it earns.

    A record that nobody has run earns none, nor does one whose script says that it has none.
    """
    names = snapshot.tables["tuning"].schema.names
    row = {column: facts[column].text for column in names}
    row["script"] = name
    run = sources.script.training
    if not run or not name or row["tag"] or row["status"] == UNTESTED:
        return row
    if NO_TAG not in [line.text for line in sources.script.labeled("Tag")]:
        row["tag"] = _earned_tag(run, row, snapshot)
    return row


def _name(sources: Sources, certain: Facts, snapshot: Snapshot) -> str:
    """The name of the script, in a folder where another configuration has it already.

    It is empty if one of its parts is not known.
    """
    cells = {column: fact.text for column, fact in certain.items()}
    name = script_name(cells)
    given = PurePath(sources.script.path)
    if SCRIPTS.name in given.parts and given.name == name:
        return name_of(given.as_posix())
    return name_beside(name, cells, snapshot.row("tuning", name))


def _certain(sources: Sources, dataset: Dataset, snapshot: Snapshot) -> Facts:
    """The cells that need no figures."""
    stated = first_known([sources.stated, sources.form.facts])
    named = name_facts(sources.script, snapshot)
    logged = {}
    if len(sources.log.devices) == 1:
        (device,) = sources.log.devices
        logged = {"device": read_word(dataset, "device", device)}
    settling = first_known([stated, named, logged])
    own = run_facts(sources.script, settling, dataset)
    return first_known([stated, own, named, logged])


def _logged(
    sources: Sources, certain: Facts, existing: Row, dataset: Dataset
) -> tuple[Facts, str]:
    """The cells that a log states, and why it is of another run; empty if it may be of the same.

    A log says vllm for `vllm-ascend` too.
    """
    log = sources.log
    mismatch = _other_device(log, certain["device"].text, dataset)
    if mismatch:
        return {}, mismatch
    engine, _, _ = certain["infer"].text.partition("-")
    programs = {"infer_version": engine, "framework_version": FRAMEWORK}
    releases = {
        column: read_word(dataset, column, log.releases.get(program, ""))
        for column, program in programs.items()
    }
    run = sources.script.training
    if run:
        mismatch = _mismatch(log, run, releases, existing)
    if mismatch or log.out_of_memory:
        return releases, mismatch
    return releases | _figures(log, dataset.package.resources["tuning"].schema), ""


def _figures(log: TrainingLog, schema: TableSchema) -> dict[str, Fact]:
    """The cells that follow from the figures of a log, if it has any."""
    found = {
        column: Fact(schema.field(column).write(value))
        for column, value in log.figures.items()
    }
    if found:
        found["statement"] = Fact(MEASURED_RUN)
    if "step_seconds" in found:
        found["step_seconds_statistic"] = Fact("median")
    return found


def _mismatch(log: TrainingLog, run: Run, releases: Facts, existing: Row) -> str:
    """Why the log is of another run than the script or the row; empty if it may be of the same."""
    for name, number in log.settings.items():
        asked = run.setting(f"data.{name}").number
        if asked not in {None, number}:
            return f"the run had {name} {number}, but the script asks for {asked}"
    for column, fact in releases.items():
        if fact.text and existing.get(column, "") not in {"", fact.text}:
            return "the log and the row name different releases"
    return ""


def _other_device(log: TrainingLog, device: str, dataset: Dataset) -> str:
    """Why the log is of another device; empty if it may be of the same.

    Huawei's servers and their accelerators have different names.
    """
    devices = devices_of(dataset)
    meant = set()
    for text in log.devices:
        meant.update(devices.named(text))
    if not device or not meant or device in meant:
        return ""
    if vendor_in(device) == "Huawei":
        return ""
    return say("other_device", log, devices.label(device))


def _filled(existing: Row, new: Row, *, ran: bool, measured: bool) -> Row:
    """The row of the dataset with its empty cells filled.

    `ran` means that a log shows its run, `measured` that the log has a figure of it.
    """
    filled = {column: cell or new[column] for column, cell in existing.items()}
    if measured:
        filled["statement"] = MEASURED_RUN
    if existing["status"] != UNTESTED:
        return filled
    if ran:
        filled["status"] = new["status"]
    else:
        filled["statement"] = ""
    return filled


def _table_text(schema: TableSchema, row: Row) -> str:
    return as_csv([schema.names, [row[column] for column in schema.names]])


def _earned_tag(run: Run, row: Row, snapshot: Snapshot) -> str:
    """The tag of a record that ran: by its settings, its figures and what the dataset knows.

    It is empty if none is earned or its settings are not known.
    """
    resource = snapshot.package.resources["tuning"]
    text = _table_text(resource.schema, row)
    record = TableRow(Table(resource, text.encode()), 0)
    family = snapshot.row("models", row["model"]).get("family", "")
    asked = asked_of_min(run, family).values()
    saves_memory = all(setting.known and is_on(setting) for setting in asked)
    memory_is_known = device_memory(snapshot, record) > 0
    is_the_least = memory_is_known and smaller_run(snapshot, record) is None
    if asked and saves_memory and is_the_least:
        return "MIN"
    knows_all = run.knows_backend and run.knows_defaults
    has_speed = any(map(record.text, SPEEDS))
    if not knows_all or not has_speed or costs_time(run):
        return ""
    tagged = records(snapshot, "tuning", "tag")
    others = [other for other in tagged if other.text("tag") == "RECOMMENDED"]
    if faster_record(record, others):
        return ""
    return "RECOMMENDED"


def _differences(row: Row, read: Row, assumed: Collection[str]) -> dict[str, str]:
    """What was read now and differs from the dataset's row."""
    return {
        column: text
        for column, text in read.items()
        if text not in {"", row[column]} and column not in assumed
    }
