"""The command `new`: what was asked for, to files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rl_resources.check.snapshot import take_snapshot
from rl_resources.contribute import prompts
from rl_resources.contribute.new import NewRecord, new_record
from rl_resources.contribute.preview import MEND_FIRST, objections, refuse
from rl_resources.contribute.proposal import Row
from rl_resources.contribute.words import GROWING, Request
from rl_resources.contribute.writing import write_proposal
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import UnusableInput
from rl_resources.package import read_package
from rl_resources.words import json_text, nearest


def new(
    root: Path, request: Request, added: Mapping[str, Iterable[str]], *, write: bool
) -> NewRecord:
    """Make the record that is asked for, and write it unless told not to.

    `added` holds the cells of new rows as `column=value`, by the option whose word they add. What
    is missing is asked for on a terminal. Raises `UnusableInput` and `InvalidDataset`.
    """
    package = read_package(root)
    dataset, snapshot = read_dataset(package), take_snapshot(package)
    rows = {
        GROWING[option]: _row(dataset, option, request.said(option) or "", cells)
        for option, cells in added.items()
    }
    request = replace(request, added=rows)
    if prompts.is_terminal():
        request = prompts.complete(request, dataset, snapshot)
    record = new_record(request, dataset, snapshot)
    found = objections(snapshot, record.proposal.changes)
    refuse(found)
    if write:
        write_proposal(root, record.proposal)
    return replace(record, findings=found)


def _row(dataset: Dataset, option: str, key: str, cells: Iterable[str]) -> Row:
    """The cells of a new row. Raises `UnusableInput` for what is no cell of its table."""
    names = dataset.package.resources[GROWING[option]].schema.names
    row = {option: key}
    for cell in cells:
        name, equals, value = cell.partition("=")
        if not equals or name not in names:
            problem = f"`{name}` is no column" if equals else f"`{cell}` is not COLUMN=VALUE"
            raise UnusableInput(
                f"--add-{option}: {problem} of {dataset.package.resources[GROWING[option]].path}",
                nearest(name, names).sentence() or f"Its columns are {', '.join(names)}.",
            )
        row[name] = value
    return row


def as_text(record: NewRecord, *, written: bool) -> str:
    """The paths of the files that were written; as a diff where none was."""
    if not written:
        return record.proposal.diff()
    return "".join(f"{change.path}\n" for change in record.proposal.changes)


def as_json(record: NewRecord, *, written: bool) -> str:
    """The record and its files as one object."""
    files = [change.path for change in record.proposal.changes]
    found = {"script": record.path, "row": record.row, "files": files, "written": written}
    return json_text(found, 2)


def next_step(record: NewRecord) -> str:
    """What to do with a record that was written."""
    who = "" if record.row["contributor"] else " --contributor HANDLE"
    alone = record.row["nodes"] == record.row["gpus"] != "1"
    return (
        (f"{MEND_FIRST}\n" if record.findings else "")
        + (f"It has {record.row['nodes']} nodes of 1; --nodes says otherwise.\n" if alone else "")
        + f"Run it: bash {record.path}\n"
        f"When it has run: rl-resources draft {record.path} --log LOG{who} --write\n"
    )
