"""The audit of a hand-kept page: the page, its rows against their scripts, and the scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rl_resources.check import all_rules, findings_of
from rl_resources.dataset import Dataset, csv_text
from rl_resources.devices import Device, devices_of
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts.pairs import Pair, Said
from rl_resources.files import read_text
from rl_resources.package import text_of
from rl_resources.page.reader import read_page
from rl_resources.page.rows import HEADER_OF, Reading, ReadRow, read_rows
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import ScriptFile, script_data
from rl_resources.text import MOST_LISTED, shown

LARGEST_PAGE_BYTES = 1 << 19
"""That of a thousand records."""

Texts = Mapping[str, ScriptText]


def import_page(
    page: Path, scripts: Path | None, dataset: Dataset
) -> tuple[str, list[Finding], list[str]]:
    """The CSV text of the records of the file `page`, what is wrong with it and its scripts, and
    what was not checked: scripts that nothing on the page leads to, rows that no script is read of.

    `scripts` is the directory with the scripts that the page links to; they are read and never run.
    Raises `UnusableInput` where page or directory cannot be read.
    """
    paths = None if scripts is None else _script_paths(scripts)
    text = read_text(page, LARGEST_PAGE_BYTES, "Name a page that is UTF-8 text.")
    parsed = read_page(text, page.as_posix())
    reading = read_rows(parsed, dataset, paths)
    texts = {} if scripts is None else _script_texts(scripts, reading)
    return (
        csv_text(dataset, "tuning", (row.record for row in reading.rows)),
        audit(reading, texts),
        [] if paths is None else [*_unchecked(paths, reading, texts)],
    )


def _unchecked(paths: Iterable[str], reading: Reading, texts: Texts) -> Iterator[str]:
    named = {*reading.subjects()}
    if unread := [shown(path, 120) for path in paths if path not in named]:
        more = f" and {len(unread) - MOST_LISTED} more" if len(unread) > MOST_LISTED else ""
        yield f"Not read, because no row leads to them: {', '.join(unread[:MOST_LISTED])}{more}."
    scripts = ((row, texts.get(row.link.read or "")) for row in reading.rows)
    lines = [row.cells["Link"].line for row, script in scripts if not script or not script.training]
    if lines:
        listed = ", ".join(map(str, lines))
        yield f"Not compared, because no script with one training is read of them: lines {listed}."


def audit(reading: Reading, texts: Texts) -> list[Finding]:
    """Run all rules but those of datasets on a page and the scripts in `texts`, by their path."""
    rules = all_rules().values()
    linked = ((row, texts.get(row.link.read or "")) for row in reading.rows)
    pairs = {row: _pair(reading, row, script) for row, script in linked if script}
    found = findings_of(rules, {"pair": pairs.values, "script": texts.values})
    errors = (item for item in found if item.severity == "error")
    reported = {(item.path, item.line, item.column) for item in errors}
    of_page = (
        item
        for item in findings_of(rules, {"page": lambda: [reading]})
        if (item.path, item.line, item.column) not in reported
    )
    return sorted([*found, *of_page], key=lambda item: item.position)


def _pair(reading: Reading, row: ReadRow, script: ScriptText) -> Pair:
    model = reading.dataset.by_key["models"].get(row.record["model"], {})
    device = devices_of(reading.dataset).known.get(text_of(row.record, "device"), Device())
    fields = reading.dataset.package.resources["models"].schema.fields
    facts = {field.name: field.write(model[field.name]) for field in fields if model}
    said = {name: found for name in HEADER_OF if (found := _said(row, name))}
    names = [facts.get("model", ""), facts.get("slug", ""), row.text("Model")]
    return Pair(
        reading.page.path,
        row.link.script,
        said,
        script,
        models=tuple(dict.fromkeys(filter(None, names))) if "model" in said else (),
        model_facts=facts,
        device_memory_gb=device.memory_gb,
    )


def _said(row: ReadRow, column: str) -> Said | None:
    """What a row says of a column; `None` where another rule reports the cell.

    It is said as the records write it, but for the model: a page may leave out its owner.
    """
    cell, text = row.cells[HEADER_OF[column]], text_of(row.record, column)
    if column == "model" and column not in row.doubts:
        text = row.text("Model")
    return Said(text, cell.line, cell.column) if text else None


def _script_paths(folder: Path) -> list[str]:
    """Paths of all scripts below `folder`, relative to it; no link to a directory is followed."""
    if not folder.is_dir():
        message = f"{folder}: cannot be read: no such directory"
        raise UnusableInput(message, "Name the directory of the scripts.")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.sh"))


def _script_texts(folder: Path, reading: Reading) -> dict[str, ScriptText]:
    """The scripts that the page is about, where they can be read.

    A link may lead anywhere, so none is followed.
    """
    found: dict[str, ScriptText] = {}
    for name in reading.subjects():
        path = folder / name
        text = None if path.is_symlink() else ScriptFile(name, data=script_data(path)).text
        if text is not None:
            found[name] = ScriptText(path.as_posix(), text, ours=False)
    return found
