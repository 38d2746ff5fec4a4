"""Answers of `find` as text for a person, and as JSON and CSV for a program."""

from __future__ import annotations

import csv
import io
import posixpath
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_type_hints

from rl_resources.dataset import Dataset, is_packaged
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import Answer, Found, ask, folded
from rl_resources.query.messages import say
from rl_resources.query.understand import Tokens
from rl_resources.query.vocabulary import vocabulary
from rl_resources.words import json_text, printable, unobeyed

if TYPE_CHECKING:
    import pandas as pd

_PANDAS_TYPES: Mapping[type, str] = {str: "string", int: "Int64", float: "Float64"}
_COLUMN_TYPES: Mapping[str, str] = {
    "fit": "string",
    "reason": "string",
    **{
        name: _PANDAS_TYPES.get(kind, "object")
        for name, kind in get_type_hints(Configuration).items()
    },
}
_MOST_ASIDE, _MOST_BEFORE = 5, 2
_NARROWEST = 40


def as_frame(dataset: Dataset, tokens: Tokens) -> pd.DataFrame:
    """The answers as a DataFrame, one row each; all else is in its `attrs`.

    Raises `UnusableInput` where a word of the question is not known.
    """
    import pandas as pd

    value = as_value(dataset, *ask(dataset, tokens))
    rows = value.pop("answers")
    frame = pd.DataFrame(rows, columns=list(_COLUMN_TYPES)).astype(_COLUMN_TYPES)
    frame.attrs.update(value)
    return frame


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
        "answers": [_flat(item) for item in found.answers],
        "start": sentences.start(found.script, _root(dataset)) if found.script else None,
        "smallest": _id(found.smallest),
        "smallest_full": _id(found.smallest_full),
        "longest": _id(found.longest),
        "largest": [
            {"task": item.task, "size": item.size}
            | {"best": _id(item.best), "longest": _id(item.longest)}
            | {"longest_tokens": item.longest.configuration.length or None}
            for item in found.largest
        ],
        "nearest": [
            {"nearest": item.kind, "missing": item.reason, **_flat(item.answer)}
            for item in found.nearest
        ],
        "failures": [_flat(item) for item in found.failures],
        "unclear": [_flat(item) for item in found.unclear],
        "contradictions": {name: [_cells(row) for row in rows] for name, rows in against.items()},
    }


def _id(answer: Answer | None) -> str | None:
    return answer.configuration.id if answer else None


def _flat(answer: Answer) -> dict[str, object]:
    """An answer as one level of columns; what is unknown is `None`."""
    return {"fit": answer.fit, "reason": answer.reason, **_cells(answer.configuration)}


def _cells(row: Configuration) -> dict[str, object]:
    cells = zip(row._fields, row, strict=True)
    return {name: list(cell) if isinstance(cell, tuple) else cell or None for name, cell in cells}


def _contradictions(dataset: Dataset, found: Found) -> dict[str, list[Configuration]]:
    """What other reports say against those that are listed, by the id of these."""
    by_id = {row.id: row for row in configurations(dataset)}
    nearest = (item.answer for item in found.nearest)
    listed = (*found.answers, *found.unclear, *found.failures, *nearest)
    rows = (item.configuration for item in listed if item.configuration.contradicts)
    return {row.id: [by_id[name] for name in row.contradicts if name in by_id] for row in rows}


def _root(dataset: Dataset) -> str:
    """What a command names before a script's path: readers of a checkout are in its root."""
    return str(dataset.package.root) if is_packaged(dataset.package.root) else ""


def as_csv(found: Found) -> str:
    """One line for each answer."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMN_TYPES, lineterminator="\n")
    writer.writeheader()
    for item in found.answers:
        cells = _flat(item).items()
        writer.writerow({k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in cells})
    return text.getvalue()


def remarks_of_csv(found: Found, notes: Iterable[str]) -> str:
    """What the lines of CSV do not say, for a person who reads them."""
    lines = [*notes, *(item.reason for item in found.nearest)]
    return "".join(f"{printable(line)}\n" for line in lines)


def as_text(
    dataset: Dataset,
    found: Found,
    notes: Sequence[str],
    *,
    limit: int = 0,
    width: int = 100,
    color: bool = False,
    unfold: bool = False,
) -> str:
    """Everything that was found, in lines of `width`; of the answers `limit`, or with 0 all.

    Those of one series are one answer, unless `unfold`.
    """
    text = _Text(dataset, found, width, color=color)
    fits = [item.fit for item in found.answers]
    text.title(sentences.headline(found.query, vocabulary(dataset), fits))
    text.add(*notes, *_extremes(found))
    worse = found.worse if found.query.size else 0
    text.aside("Runs out of memory on as much or more", found.failures[:worse], _MOST_BEFORE)
    if found.largest:
        text.title("Largest size known to run, by task")
        text.add(*map(_largest, found.largest), mark="- ")
    text.answers([[item] for item in found.answers] if unfold else folded(found.answers), limit)
    if row := found.script:
        text.title("Start the best script")
        text.command(sentences.start(row, _root(dataset)))
        text.add(*([say("nodes", nodes=row.nodes)] if row.nodes > 1 else []), mark="  ")
    if found.nearest:
        text.title("Nothing that is known fits. The nearest")
    for item in found.nearest:
        text.row(item.reason, [item.answer], "- ")
    text.aside("Runs out of memory", found.failures[worse:])
    text.aside("Not clear, so not counted", found.unclear)
    return text.whole()


def _extremes(found: Found) -> Iterator[str]:
    """The smallest hardware and the longest context, where the first answer does not say them."""
    if not found.query.size or not found.answers:
        return
    first = found.answers[0]
    if found.smallest and found.smallest != first:
        yield _extreme("smallest", found.smallest)
    if found.smallest_full:
        yield _extreme("smallest_full", found.smallest_full)
    if found.longest and found.longest != first:
        yield _extreme("longest", found.longest)


def _extreme(name: str, answer: Answer) -> str:
    row = answer.configuration
    words = {"summary": sentences.summary(row), "context": sentences.context(row)}
    return f"{say(name, **words)} ({row.kind}, {row.id})."


def _largest(item: Any) -> str:
    best, longest = item.best.configuration, item.longest.configuration
    fit = item.best.fit.replace("-", " ")
    context = f"{sentences.context(longest)} on {sentences.resource(longest)}"
    what = f"{item.task}: {item.size}, {fit}, {sentences.resource(best)}"
    return f"{what}, {'; '.join(best.conditions)}. Longest context: {context}."


class _Text:
    """Lines of a width. URLs and commands are not broken."""

    def __init__(self, dataset: Dataset, found: Found, width: int, *, color: bool) -> None:
        self._lines: list[str] = []
        self._width = max(_NARROWEST, width)
        self._bold, self._plain = ("\x1b[1m", "\x1b[0m") if color else ("", "")
        self._root, self._against = _root(dataset), _contradictions(dataset, found)

    def whole(self) -> str:
        return "\n".join(self._lines) + "\n"

    def title(self, text: str) -> None:
        self._lines += [""] if self._lines else []
        self._lines += [f"{self._bold}{line}{self._plain}" for line in self._wrapped(text, "")]

    def add(self, *texts: str, mark: str = "") -> None:
        for text in texts:
            self._lines += self._wrapped(text, mark)

    def command(self, text: str) -> None:
        """A line to copy, whole however long it is."""
        self._lines.append(unobeyed(f"  {printable(text)}"))

    def _wrapped(self, text: str, mark: str) -> list[str]:
        lines = textwrap.wrap(
            printable(text),
            self._width,
            initial_indent=mark,
            subsequent_indent=" " * len(mark),
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [unobeyed(line) for line in lines]

    def answers(self, folds: Sequence[Sequence[Answer]], limit: int) -> None:
        """The answers in their order, those of a fold as one."""
        shown = folds[: limit or None]
        if shown:
            self.title("Configurations, best first")
        for number, fold in enumerate(shown, 1):
            row, fit = fold[0]
            parts = (row.tag, row.model_label, row.task_label, sentences.resource(row))
            what = f"{fit.replace('-', ' ')}: {', '.join(filter(None, parts))}"
            self.row(what, fold, f"{number}. ", fold[0].reason)
        if len(folds) > len(shown):
            self.add("", f"{len(folds) - len(shown)} more: give --limit {len(folds)}.")
        if any(len(fold) > 1 for fold in shown):
            self.add("Reports that differ in settings alone are one: give --all.")
        if len({fold[0].configuration.framework_label for fold in shown}) > 1:
            self.add(say("frameworks"))

    def aside(self, title: str, items: Sequence[Answer], most: int = _MOST_ASIDE) -> None:
        """What is no answer, as far as there is room."""
        folds = folded(items)
        if folds:
            self.title(title)
        for fold in folds[:most]:
            row = fold[0].configuration
            self.row(f"{row.model_label} {row.task_label}: {fold[0].reason}", fold, "- ")
        if len(folds) > most:
            self.add(f"{len(folds) - most} more: give --format json.", mark="- ")

    def row(self, first: str, fold: Sequence[Answer], mark: str, *more: str) -> None:
        """A configuration: its first line, then all that is known of it."""
        self.add(first, mark=mark)
        row = fold[0].configuration
        series = sentences.series([item.configuration for item in fold])
        figures = "; ".join(sentences.figures(row))
        lines = (*more, series, "; ".join(row.conditions), figures, sentences.evidence(row))
        script = posixpath.join(self._root, row.script) if row.script else ""
        others = self._against.get(row.id, ())
        against = (f"{sentences.contradicted(other)}: {other.source}" for other in others)
        indent = " " * len(mark)
        lines = (*lines, *sentences.doubts(row), script, row.source, *against)
        self.add(*filter(None, lines), mark=indent)
