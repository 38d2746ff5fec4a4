"""Answers of `find` and `coverage` as text for a person, and as JSON and CSV for a program."""

from __future__ import annotations

import csv
import io
import posixpath
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from rl_resources.dataset import Dataset, is_packaged
from rl_resources.devices import Devices
from rl_resources.estimate.configuration import estimable
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, every_configuration
from rl_resources.query.coverage import MOST_WANTED, WANTED_RULE, Cell, Coverage
from rl_resources.query.find import SHOULD_FIT, Found, Largest, folded
from rl_resources.query.messages import say
from rl_resources.query.vocabulary import vocabulary
from rl_resources.text import json_text, printable, unobeyed

COLUMNS = tuple(dict.fromkeys(("fit", "reason", *Configuration._fields)))
"""Of an answer as a row."""
_MOST_ASIDE, _MOST_BEFORE = 5, 2
_NARROWEST = 40
_EXTREMES = ("smallest", "smallest_full", "longest")
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def as_json(dataset: Dataset, found: Found, notes: Sequence[str]) -> str:
    """Everything that was found."""
    return json_text(as_value(dataset, found, notes), 1)


def as_value(dataset: Dataset, found: Found, notes: Sequence[str]) -> dict[str, Any]:
    """Everything that was found, in values that JSON has."""
    against = _contradictions(dataset, found)
    return {
        "dataset_version": dataset.version,
        "query": {name: value or None for name, value in asdict(found.query).items()},
        "notes": list(notes),
        "answers": [_flat(row) for row in found.answers],
        "start": sentences.start(found.script, _root(dataset)) if found.script else None,
        "estimate": estimate_command(dataset, found) or None,
        **{name: row.id if (row := getattr(found, name)) else None for name in _EXTREMES},
        "largest": [
            {
                "task": best.task,
                "size": best.size,
                "best": best.id,
                "longest": longest.id,
                "longest_tokens": longest.length or None,
            }
            for best, longest in found.largest
        ],
        "nearest": [
            {"nearest": item.kind, "missing": item.reason, **_flat(item.row)}
            for item in found.nearest
        ],
        "failures": [_flat(row) for row in found.failures],
        "unclear": [_flat(row) for row in found.unclear],
        "contradictions": {name: [_cells(row) for row in rows] for name, rows in against.items()},
    }


def _flat(row: Configuration) -> dict[str, Any]:
    """An answer as one level of columns; what is unknown is `None`."""
    return {"fit": row.fit, "reason": sentences.reason(row), **_cells(row)}


def _cells(row: Configuration) -> dict[str, Any]:
    cells = row._asdict()
    del cells["fit"]
    return {
        name: list(cell) if isinstance(cell, tuple) else cell or None
        for name, cell in cells.items()
    }


def _contradictions(dataset: Dataset, found: Found) -> dict[str, list[Configuration]]:
    """What other reports say against those that are listed, by the id of these."""
    by_id = {row.id: row for row in every_configuration(dataset)}
    nearest = (item.row for item in found.nearest)
    listed = (*found.answers, *found.unclear, *found.failures, *nearest)
    return {
        row.id: [by_id[name] for name in row.contradicts if name in by_id]
        for row in listed
        if row.contradicts
    }


def _root(dataset: Dataset) -> str:
    """What a command names before a script's path: readers of a checkout are in its root."""
    return str(dataset.package.root) if is_packaged(dataset.package.root) else ""


def estimate_command(dataset: Dataset, found: Found) -> str:
    """The command that estimates the memory of a question that no run on its device answers.

    Empty where one does, or where model, GPUs or device are open.
    """
    query, fits = found.query, {row.fit for row in found.answers}
    model = dataset.by_key["models"].get(query.model)
    known = model and estimable(model) and query.gpus and query.memory_gb
    several = len(query.devices) > 1 or query.weights == "partial"
    several = several or (query.weights == "full" and query.task.endswith("-LoRA"))
    if not known or several or (fits and SHOULD_FIT not in fits):
        return ""
    lengths = {"prompt-length": "0", "response-length": str(query.length)} if query.length else {}
    words = {
        "model": query.model,
        "gpus": str(query.gpus),
        "device": query.device,
        "memory": "" if query.device else f"{query.memory_gb:g}",
        **{name: getattr(query, name) for name in ("task", "weights", "train", "infer")},
        **lengths,
    }
    options = (f"--{name} {shlex.quote(word)}" for name, word in words.items() if word)
    return " ".join(["rl-resources estimate", *options])


def as_csv(found: Found) -> str:
    """One line for each answer."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in map(_flat, found.answers):
        cells = {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in row.items()}
        writer.writerow(cells)
    return text.getvalue()


def remarks_of_csv(found: Found, notes: Iterable[str]) -> str:
    """What the lines of CSV do not say, for a person who reads them."""
    lines = [*notes, *(item.reason for item in found.nearest)]
    return "".join(f"{printable(line)}\n" for line in lines)


class Line(NamedTuple):
    """A paragraph of the text; `mark` stands before its first line and indents the others.

    A `command` stays one line, so that it can be copied, however long it is.
    """

    text: str
    mark: str = ""
    kind: Literal["", "title", "command"] = ""


def as_text(
    dataset: Dataset,
    found: Found,
    notes: Sequence[str],
    *,
    limit: int = 0,
    width: int = 100,
    color: bool = False,
) -> str:
    """Everything that was found, in lines of `width`; of the answers `limit`, or with 0 all.

    Those of one series are one answer. URLs are not broken.
    """
    lines = _Answers(dataset, found).lines(notes, limit)
    wrapped = (part for line in lines for part in _wrapped(line, max(_NARROWEST, width), color))
    return "\n".join(wrapped).lstrip("\n") + "\n"


def _wrapped(line: Line, width: int, color: bool) -> list[str]:
    text = printable(line.text)
    lines = textwrap.wrap(
        text,
        len(line.mark + text) if line.kind == "command" else width,
        initial_indent=line.mark,
        subsequent_indent=" " * len(line.mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    safe = [unobeyed(one) for one in lines]
    if line.kind != "title":
        return safe
    return ["", *(f"{_BOLD}{one}{_PLAIN}" if color else one for one in safe)]


class _Answers:
    def __init__(self, dataset: Dataset, found: Found) -> None:
        self._dataset, self._found, self._root = dataset, found, _root(dataset)
        self._against = _contradictions(dataset, found)

    def lines(self, notes: Sequence[str], limit: int) -> Iterator[Line]:
        found = self._found
        fits = [row.fit for row in found.answers]
        yield _title(sentences.headline(found.query, vocabulary(self._dataset), fits))
        yield from map(Line, (*notes, *_extremes(found)))
        worse = found.worse if found.query.size else 0
        before = found.failures[:worse]
        yield from self._aside("Runs out of memory on as much or more", before, _MOST_BEFORE)
        if found.largest:
            yield _title("Largest size known to run, by task")
        yield from map(_largest, found.largest)
        yield from self._answers(folded(found.answers), limit)
        if row := found.script:
            yield _title("Start the best script")
            yield Line(sentences.start(row, self._root), "   ", "command")
        if found.nearest:
            yield _title("Nothing that is known fits. The nearest")
        for item in found.nearest:
            yield from self._row(item.reason, item.row, "-  ")
        if command := estimate_command(self._dataset, found):
            yield _title("Estimate its memory")
            yield Line(command, "   ", "command")
        yield from self._aside("Runs out of memory", found.failures[worse:])
        yield from self._aside("Not clear, so not counted", found.unclear)

    def _answers(self, folds: Sequence[Sequence[Configuration]], limit: int) -> Iterator[Line]:
        """The answers in their order, those of a fold as one."""
        shown = folds[: limit or None]
        if shown:
            yield _title("Configurations, best first")
        for number, fold in enumerate(shown, 1):
            row = fold[0]
            parts = (row.tag, row.model_label, row.task_label, sentences.resource(row))
            what = f"{row.fit.replace('-', ' ')}: {', '.join(filter(None, parts))}"
            more = sentences.reason(row), sentences.series(fold)
            yield from self._row(what, row, f"{number}. ", *more)
        if len(folds) > len(shown):
            yield Line(f"{len(folds) - len(shown)} more: give --limit {len(folds)}.")
        if len({fold[0].framework_label for fold in shown}) > 1:
            yield Line(say("frameworks"))

    def _aside(
        self, title: str, rows: Sequence[Configuration], most: int = _MOST_ASIDE
    ) -> Iterator[Line]:
        """What is no answer, as far as there is room."""
        folds = folded(rows)
        if folds:
            yield _title(title)
        for row, *_ in folds[:most]:
            what = f"{row.model_label} {row.task_label}: {sentences.reason(row)}"
            yield from self._row(what, row, "-  ")
        if len(folds) > most:
            yield Line(f"{len(folds) - most} more: give --format json.", "-  ")

    def _row(self, first: str, row: Configuration, mark: str, *more: str) -> Iterator[Line]:
        """A configuration: its first line, then all that is known of it."""
        yield Line(first, mark)
        others = self._against.get(row.id, ())
        lines = (
            *more,
            "; ".join((*row.conditions, *sentences.figures(row))),
            sentences.evidence(row),
            *sentences.doubts(row),
            sentences.note(row),
            posixpath.join(self._root, row.script) if row.script else "",
            row.source,
            *(f"{sentences.contradicted(other)}: {other.source}" for other in others),
        )
        yield from (Line(line, " " * len(mark)) for line in lines if line)


def _title(text: str) -> Line:
    return Line(text, kind="title")


def _extremes(found: Found) -> Iterator[str]:
    """The smallest hardware and the longest context, where the first answer does not say them."""
    if not found.query.size or not found.answers:
        return
    for name in _EXTREMES:
        row = getattr(found, name)
        if row and (name == "smallest_full" or row != found.answers[0]):
            words = {"summary": sentences.summary(row), "context": sentences.context(row)}
            yield f"{say(name, **words)} ({row.kind}, {row.id})."


def _largest(item: Largest) -> Line:
    best, longest = item
    context = f"{sentences.context(longest)} on {sentences.resource(longest)}"
    what = f"{best.task}: {best.size}, {best.fit.replace('-', ' ')}, {sentences.resource(best)}"
    return Line(f"{what}, {'; '.join(best.conditions)}. Longest context: {context}.", "-  ")


def coverage_as_json(found: Coverage, version: str) -> str:
    """Every cell that anything is known of, what is wanted most, and which tags are missing."""
    value = {
        "dataset_version": version,
        "cells": [asdict(cell) for cell in found.cells],
        "unplaced_reports": found.unplaced,
        "most_asked": [item._asdict() for item in found.asked],
        "wanted_rule": WANTED_RULE,
        "wanted": [
            {"size": cell.size, "task": cell.task, "device": cell.device} for cell in found.wanted
        ],
        "missing_tags": [
            {"size": size, "tag": tag} for tag, sizes in found.missing.items() for size in sizes
        ],
    }
    return json_text(value, 1)


def coverage_as_text(dataset: Dataset, found: Coverage) -> str:
    """What there is, what is wanted, and which tags are missing."""
    names = Devices(dataset)
    counts = {
        "MIN": "records_min",
        "RECOMMENDED": "records_recommended",
        "UNTESTED": "untested",
        "REPORTS": "reports",
        "OUT OF MEMORY": "out_of_memory",
    }
    wanted = {"PROJECTS": "projects", "REPORTS": "reports"}
    asked = (
        f"{item.title}: {item.records} records, {item.reports} reports"
        + f"; wanted: {item.wanted}" * bool(item.wanted)
        for item in found.asked
    )
    blocks: tuple[Iterable[str], ...] = (
        _cell_lines(names, found.cells, counts),
        [f"{found.unplaced} more reports leave size, task or device open."],
        ["Often asked, with our records and others' reports:", *asked],
        [
            f"Most wanted. {WANTED_RULE}",
            *_cell_lines(names, found.wanted[:MOST_WANTED], wanted),
        ],
        (f"No {tag} record: {', '.join(sizes)}" for tag, sizes in found.missing.items()),
    )
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def _cell_lines(names: Devices, cells: Sequence[Cell], counts: Mapping[str, str]) -> list[str]:
    """An aligned table of cells with some of their counts, by header; 0 is empty."""
    header = ("SIZE", "TASK", "DEVICE", *counts)
    rows = [
        (
            *(cell.size, cell.task, names.label(cell.device)),
            *(str(getattr(cell, name) or "") for name in counts.values()),
        )
        for cell in cells
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in (header, *rows))
    return ["  ".join(cell.ljust(width) for cell, width in row).rstrip() for row in padded]
