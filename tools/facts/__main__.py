"""`python -m facts FOLDER --read-on DAY`: writes the reports, new models and the ledger."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from facts.additions import new_models
from facts.conversion import convert
from facts.model import Models
from facts.statement import read_statements
from rl_resources.check.snapshot import take_snapshot
from rl_resources.contribute.preview import preview
from rl_resources.contribute.proposal import Change, Proposal, Row
from rl_resources.contribute.writing import write_proposal
from rl_resources.dataset import find_root
from rl_resources.fmt import format_tables
from rl_resources.output import write_file
from rl_resources.package import Package, read_package
from rl_resources.tabular import write

LEDGER = Path(__file__).parent / "ledger.csv"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the folder of facts and write what follows from it; again, the same bytes."""
    parser = argparse.ArgumentParser(prog="python -m facts", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the facts and reference tables")
    parser.add_argument("--read-on", required=True, help="day on which the facts were handed over")
    parser.add_argument("--root", type=Path, default=None)
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    options = parser.parse_args(arguments)
    root = options.root or find_root(Path.cwd())
    run(options.folder, root, options.read_on, options.ledger)


def run(folder: Path, root: Path, read_on: str, ledger: Path) -> None:
    """As `main`, from values."""
    package = read_package(root)
    aliases = _rows(folder / "ref-aliases.csv")
    known = _rows(root / package.resources["models"].path)
    models = Models(aliases, known, _rows(root / package.resources["sizes"].path))
    devices = {
        row["as_named_in_facts"]: row["hf_id_or_slug"] for row in aliases if row["kind"] == "device"
    }
    found = convert(read_statements(folder), models, devices, read_on)
    ours = list(found.reports.values())
    added = new_models(ours, known, _rows(folder / "ref-models.csv"))
    header = list(found.ledger[0])
    lines = [[entry[name] for name in header] for entry in found.ledger]
    tables = {"models": [*known, *added], "reports": [*_others(package, ledger), *ours]}
    _write(package, tables, ledger, write([header, *lines]))


def _others(package: Package, ledger: Path) -> list[dict[str, str]]:
    """The reports that did not come from facts: those that the last ledger does not name."""
    path = package.root / package.resources["reports"].path
    before = {entry["report"] for entry in _rows(ledger)} if ledger.is_file() else set()
    reports = _rows(path) if path.is_file() else []
    return [report for report in reports if report["report"] not in before]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _write(package: Package, tables: Mapping[str, Sequence[Row]], ledger: Path, told: str) -> None:
    """Put tables in canonical form and the ledger in their places, all or none."""
    root, own = package.root.resolve(), ledger.resolve()
    becomes = {
        package.resources[name].path: _text(package, name, rows) for name, rows in tables.items()
    }
    becomes |= format_tables(preview(take_snapshot(package), _changes(root, becomes)))
    if own.is_relative_to(root):
        becomes[own.relative_to(root).as_posix()] = told
    write_proposal(root, Proposal(_changes(root, becomes)))
    if not own.is_relative_to(root):
        write_file(own, told)


def _changes(root: Path, becomes: Mapping[str, str]) -> tuple[Change, ...]:
    """What differs from the files."""
    held = {
        path: (root / path).read_bytes() if (root / path).exists() else None for path in becomes
    }
    return tuple(
        Change(path, held[path], text.encode())
        for path, text in becomes.items()
        if held[path] != text.encode()
    )


def _text(package: Package, name: str, rows: Sequence[Row]) -> str:
    resource = package.resources[name]
    names = resource.schema.names
    if unknown := {column for row in rows for column in row} - set(names):
        raise ValueError(f"{resource.path} has no column {min(unknown)!r}")
    return write([names, *([row.get(column, "") for column in names] for row in rows)])


if __name__ == "__main__":
    main()
