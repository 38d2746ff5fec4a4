"""A new record: a script that embodies its tag, and its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.check.dataset.tables import slug_of
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.subject import ScriptText
from rl_resources.contribute import settings, words
from rl_resources.contribute.from_run import memory_cells
from rl_resources.contribute.offered import FRAMEWORK, refusals
from rl_resources.contribute.preview import refuse, table_objections
from rl_resources.contribute.proposal import Change, Proposal, Row, add_rows
from rl_resources.contribute.settings import Configuration
from rl_resources.contribute.sizes import cluster_of
from rl_resources.contribute.words import GROWING, OPTIONS, Request, UnknownWord
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.order import number
from rl_resources.package import SCRIPTS, Record
from rl_resources.script.framework import shipped
from rl_resources.script.name import ScriptName


@dataclass(frozen=True)
class NewRecord:
    """A record to be written: the script's path, its row, the files, and what rules say of them."""

    path: str
    row: Row
    proposal: Proposal
    findings: Sequence[Finding] = ()


def problems(request: Request, dataset: Dataset) -> list[str]:
    """What is missing in a request, and which of its words are not known."""
    missing = [f"--{option}" for option in OPTIONS if request.said(option) is None]
    told = [f"missing: {', '.join(missing)}"] if missing else []
    for option in (*OPTIONS, "nodes", "contributor"):
        text = request.said(option)
        if text is not None and not _is_added(request, option):
            told += _unknown(dataset, option, text)
    return told


def _is_added(request: Request, option: str) -> bool:
    return GROWING.get(option) in request.added


def _unknown(dataset: Dataset, option: str, text: str) -> Iterator[str]:
    try:
        words.read(dataset, option, text)
    except UnknownWord as error:
        table = GROWING.get(option)
        yield f"--{option}: {error}{_adding(dataset, option, table) if table else ''}"


def _adding(dataset: Dataset, option: str, table: str) -> str:
    """How a word is added to its table: the columns that it needs and that nothing else tells."""
    fields = dataset.package.resources[table].schema.fields
    derived = {option, *with_defaults(table, {}, dataset)}
    needed = [field.name for field in fields if field.required and field.name not in derived]
    # A model's size follows from its parameters.
    needed += ["parameters_b"] if table == "models" else []
    cells = " ".join(f"{name}=…" for name in needed)
    return f" --add-{option} {cells} adds it to records/{table}.csv."


def new_record(request: Request, dataset: Dataset, snapshot: Snapshot) -> NewRecord:
    """The record that is asked for.

    Raises `UnusableInput` with everything that is missing, unknown or impossible, and
    `InvalidDataset` with what the rules say of rows that are added to other tables.
    """
    _refuse(problems(request, dataset))
    said = {option: _word(request, dataset, option) for option in OPTIONS}
    added = {name: with_defaults(name, row, dataset) for name, row in request.added.items()}
    changes = add_rows(snapshot, {name: [row] for name, row in added.items()})
    if changes:
        refuse(table_objections(snapshot, changes))
    configuration = _configuration(request, dataset, said, added)
    name = _name(configuration)
    path = f"{SCRIPTS}/{str(configuration.model['size']).lower()}/{name}"
    _refuse_held(snapshot, str(name), configuration.tag)
    stem = str(name).removesuffix(".sh")
    text = settings.script(configuration, shipped(FRAMEWORK), stem).text()
    run = ScriptText(path, text).training
    row = {
        **_tuning_row(configuration, str(name), request.said("contributor")),
        **(memory_cells(run) if run else {}),
    }
    tables = add_rows(
        snapshot, {**{resource: [cells] for resource, cells in added.items()}, "tuning": [row]}
    )
    script = Change(path, None, text.encode(), executable=True)
    return NewRecord(path, row, Proposal((script, *tables)))


def _refuse_held(snapshot: Snapshot, script: str, tag: str) -> None:
    """A name has no tag in it, so that two tags of one configuration cannot both be records."""
    at = snapshot.keys("tuning").get(script)
    if at is None:
        return
    table = snapshot.tables["tuning"]
    held = table.cell(at, "tag")
    why = (
        f"; it is the {held} one. Names have no tag in them, so a configuration is either "
        f"{held} or {tag}"
        if held != tag
        else ""
    )
    raise UnusableInput(
        f"{table.path}:{table.rows[at].line}: there is a row for {script} already{why}",
        "Change that row and its script, or choose another configuration: other GPUs, task or "
        "backends.",
    )


def _configuration(
    request: Request, dataset: Dataset, said: Mapping[str, str], added: Mapping[str, Row]
) -> Configuration:
    model, task, device, train, infer = (
        _row(dataset, resource, said[option], added)
        for option, resource in (
            ("model", "models"),
            ("task", "tasks"),
            ("device", "devices"),
            ("train", "backends"),
            ("infer", "backends"),
        )
    )
    _refuse(list(refusals(shipped(FRAMEWORK), task, device, said["train"], said["infer"])))
    nodes = request.said("nodes")
    cluster = cluster_of(int(said["gpus"]), int(nodes) if nodes else None, device)
    return Configuration(model, task, device, train, infer, said["tag"], cluster)


def _refuse(told: Sequence[str]) -> None:
    if told:
        head = "this cannot become a record: " if len(told) == 1 else "this cannot become a record:"
        text = told[0] if len(told) == 1 else "".join(f"\n  - {item}" for item in told)
        raise UnusableInput(f"{head}{text}", "Nothing was written.")


def _word(request: Request, dataset: Dataset, option: str) -> str:
    text = request.said(option) or ""
    return text if _is_added(request, option) else words.read(dataset, option, text)


def _row(dataset: Dataset, resource: str, key: str, added: Mapping[str, Row]) -> Record:
    """A row of a table, or the one that is to be added to it."""
    if resource not in added:
        return dataset.by_key[resource][key]
    fields = dataset.package.resources[resource].schema.fields
    return {field.name: field.read(added[resource].get(field.name, "")) for field in fields}


def with_defaults(resource: str, row: Row, dataset: Dataset) -> dict[str, str]:
    """A new row with what follows from its other cells: a model's slug and size."""
    if resource != "models":
        return dict(row)
    derived = {"slug": slug_of(row.get("model", "")), "size": _size(row, dataset)}
    return {**derived, **{name: cell for name, cell in row.items() if cell}}


def _size(row: Row, dataset: Dataset) -> str:
    parameters = number(row.get("parameters_b", ""))
    if parameters is None:
        return ""
    for size in dataset.records["sizes"]:
        below = size["below_parameters_b"]
        if below is None or (isinstance(below, int | float) and parameters < below):
            return str(size["size"])
    return ""


def _name(wanted: Configuration) -> ScriptName:
    return ScriptName(
        str(wanted.model["slug"]),
        str(wanted.task["task"]).lower(),
        wanted.cluster.gpus,
        str(wanted.device["device"]),
        str(wanted.train["backend"]),
        str(wanted.infer["backend"]),
    )


def _tuning_row(wanted: Configuration, script: str, contributor: str | None) -> Row:
    return {
        "script": script,
        "tag": wanted.tag,
        "model": str(wanted.model["model"]),
        "task": str(wanted.task["task"]),
        "gpus": str(wanted.cluster.gpus),
        "device": str(wanted.device["device"]),
        "nodes": str(wanted.cluster.nodes),
        "train": str(wanted.train["backend"]),
        "infer": str(wanted.infer["backend"]),
        "framework": FRAMEWORK,
        "max_prompt_length": str(settings.PROMPT_TOKENS),
        "max_response_length": str(settings.RESPONSE_TOKENS),
        "rollout_n": str(wanted.group),
        "contributor": contributor or "",
        "status": "untested",
    }
