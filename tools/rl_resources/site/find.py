"""Answers of `find` as text for a person, and as JSON and CSV for a program."""

from __future__ import annotations

import csv
import io
import posixpath
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from rl_resources.dataset import Dataset, is_packaged
from rl_resources.query import sentences
from rl_resources.query.ask import ask
from rl_resources.query.configurations import Configuration
from rl_resources.query.find import Answer, Found, folded_answers
from rl_resources.query.fit import CLAIMED, SHOULD_FIT, TESTED, no_less
from rl_resources.query.question import Question, Words
from rl_resources.query.sentences import resource, start
from rl_resources.query.wording import say
from rl_resources.words import json_text, printable, unobeyed

if TYPE_CHECKING:
    import pandas as pd

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLUMNS = ("#", "FIT", "TAG", "MODEL", "TASK", "HARDWARE")
_MOST_ASIDE = 5
_MOST_BEFORE = 2
_NARROWEST = 40

_PANDAS_TYPES: Mapping[type, str] = {str: "string", int: "Int64", float: "Float64"}
_COLUMN_TYPES: Mapping[str, str] = {
    "fit": "string",
    "reason": "string",
    **{
        name: _PANDAS_TYPES.get(kind, "object")
        for name, kind in get_type_hints(Configuration).items()
    },
}


def flat(answer: Answer) -> dict[str, object]:
    """An answer as one level of columns; what is unknown is `None`."""
    row = answer.configuration
    known = {
        name: list(value) if isinstance(value, tuple) else value or None
        for name, value in zip(row._fields, row, strict=True)
    }
    return {"fit": answer.fit, "reason": answer.reason, **known}


def as_json(found: Found, notes: Iterable[str], version: str, root: str = "") -> str:
    """Everything that was found; scripts lie below `root`, where it is not the reader's folder."""
    return json_text(as_value(found, notes, version, root), 1)


def as_frame(dataset: Dataset, words: Words) -> pd.DataFrame:
    """The answers as a DataFrame with the columns of `flat`; all else is in its `attrs`."""
    import pandas as pd

    found, notes = ask(dataset, words)
    value = as_value(found, notes, dataset.version, scripts_root(dataset))
    rows = value.pop("answers")
    frame = pd.DataFrame(
        {
            name: pd.Series([row[name] for row in rows], dtype=dtype)
            for name, dtype in _COLUMN_TYPES.items()
        }
    )
    frame.attrs.update(value)
    return frame


def scripts_root(dataset: Dataset) -> str:
    """What a command names before a script's path: readers of a checkout stand in its root."""
    root = dataset.package.root
    return str(root) if is_packaged(root) else ""


def as_value(found: Found, notes: Iterable[str], version: str, root: str = "") -> dict[str, Any]:
    """Everything that was found, in values that JSON has."""
    asked = {item.name: getattr(found.question, item.name) or None for item in fields(Question)}
    return {
        "dataset_version": version,
        "question": asked,
        "notes": list(notes),
        "answers": [flat(item) for item in found.answers],
        "start": start(found.script, root) if found.script else None,
        "smallest": found.smallest.configuration.id if found.smallest else None,
        "smallest_full": (found.smallest_whole.configuration.id if found.smallest_whole else None),
        "longest": found.longest.configuration.id if found.longest else None,
        "largest": [
            {"task": item.task, "size": item.size}
            | {"best": item.best.configuration.id, "longest": item.longest.configuration.id}
            | {"longest_tokens": item.longest.configuration.length or None}
            for item in found.largest
        ],
        "nearest": [
            {"nearest": item.kind, "missing": item.reason, **flat(item.answer)}
            for item in found.nearest
        ],
        "failures": [flat(item) for item in found.failures],
        "unclear": [flat(item) for item in found.unclear],
        "contradictions": {
            name: [
                flat(Answer(row, row.outcome, found.question)) | {"reason": None} for row in rows
            ]
            for name, rows in found.contradictions.items()
        },
    }


def as_csv(found: Found) -> str:
    """One line an answer, with the columns of `flat`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMN_TYPES, lineterminator="\n")
    writer.writeheader()
    for item in found.answers:
        cells = flat(item).items()
        writer.writerow({k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in cells})
    return text.getvalue()


def beside(found: Found, notes: Iterable[str]) -> str:
    """What does not stand in the lines of CSV, for a person who reads them."""
    lines = [*notes, *(item.reason for item in found.nearest)]
    return "".join(f"{printable(line)}\n" for line in lines)


def as_text(
    found: Found,
    notes: Iterable[str],
    *,
    limit: int,
    width: int,
    colour: bool,
    root: str = "",
    unfold: bool = False,
) -> str:
    """Everything that was found, in lines of `width`; of the answers `limit`, or with 0 all.

    Those of one series are told as one answer, unless `unfold`. Scripts lie below
    `root`, where it is not the reader's folder.
    """
    bold, dim, plain = (_BOLD, _DIM, _PLAIN) if colour else ("", "", "")
    wrapped = _Wrapped(width)
    lines = [f"{bold}{line}{plain}" for line in wrapped.all([_headline(found)], "")]
    lines += wrapped.all([*notes, *_smallest(found), *_longest(found)], "")
    folds = tuple((item,) for item in found.answers) if unfold else found.folds
    shown = folds[: limit or None]
    worse = tuple(item for item in found.failures if no_less(item.question, item.configuration))
    less = tuple(item for item in found.failures if item not in worse)
    if worse and found.question.size:
        title = "Known to run out of memory on as much or more"
        lines += ["", *(f"{bold}{line}{plain}" for line in wrapped.all([title], ""))]
        lines += _aside(worse, found, wrapped, root, _MOST_BEFORE)
    if found.largest:
        lines += ["", f"{bold}Largest size known to run, by task{plain}"]
        lines += _largest(found, wrapped)
    if shown:
        lines += ["", *_table(found, shown, wrapped, (bold, dim, plain), root)]
    if left := len(folds) - len(shown):
        lines += ["", f"{left} more: give --limit {len(folds)}."]
    if any(len(fold) > 1 for fold in shown):
        lines += [] if left else [""]
        lines += wrapped.all(["Reports that differ in settings alone are one: give --all."], "")
    if len({fold[0].configuration.framework_label for fold in shown}) > 1:
        lines += ["", *wrapped.all([say("frameworks")], "")]
    if row := found.script:
        lines += ["", f"{bold}Start the best script{plain}", f"  {start(row, root)}"]
        if row.nodes > 1:
            lines += wrapped.all([say("nodes", nodes=row.nodes)], "  ")
    if found.nearest:
        lines += ["", f"{bold}Nothing that is known fits. The nearest{plain}"]
        for item in found.nearest:
            lines += wrapped.all([item.reason], "- ")
            lines += wrapped.all(_facts(item.answer.configuration, found, root), "  ")
    for title, items in (
        ("Known to run out of memory", less if found.question.size else found.failures),
        ("Not clear, so not counted", found.unclear),
    ):
        if items:
            lines += ["", f"{bold}{title}{plain}", *_aside(items, found, wrapped, root)]
    return "\n".join(lines) + "\n"


class _Wrapped:
    """Text in lines of a width. Addresses are not broken."""

    def __init__(self, width: int) -> None:
        self._width = max(_NARROWEST, width)

    def rows(self, rows: Sequence[tuple[str, ...]], mark: str) -> list[list[str]]:
        """Lines for each row of a table: one under the others, or where that is too wide its cells.

        A table that is too wide has no line for its head.
        """
        lines = [f"{mark}{line}" for line in _aligned(rows)]
        if max(map(len, lines)) <= self._width:
            return [[line] for line in lines]
        stacked = (f"{first} {', '.join(filter(None, rest))}" for first, *rest in rows[1:])
        return [[], *(self._one(text, mark) for text in stacked)]

    def all(self, texts: Iterable[str], mark: str) -> list[str]:
        return [line for text in texts for line in self._one(printable(text), mark)]

    def _one(self, text: str, mark: str) -> list[str]:
        lines = textwrap.wrap(
            text,
            self._width,
            initial_indent=mark,
            subsequent_indent=" " * len(mark),
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [*map(unobeyed, lines)]


def _headline(found: Found) -> str:
    counts = Counter(item.fit for item in found.answers)
    numbers = (counts[fit] for fit in (TESTED, SHOULD_FIT, CLAIMED))
    return sentences.headline(found.question, *numbers)


def _smallest(found: Found) -> Iterator[str]:
    """The smallest hardware of a model or size, where the order does not bring it to the top."""
    smallest = found.smallest
    if smallest and found.question.size and smallest != found.answers[0]:
        row = smallest.configuration
        yield sentences.which(sentences.smallest(row), row)
    if smallest and found.question.size and (whole := found.smallest_whole):
        row = whole.configuration
        yield sentences.which(sentences.smallest(row, "smallest-whole"), row)


def _longest(found: Found) -> Iterator[str]:
    """The longest context of a model or size, where it is not that of the first answer."""
    longest = found.longest
    if longest and found.question.size and longest != found.answers[0]:
        row = longest.configuration
        yield sentences.which(sentences.longest_context(row, longest.fit), row)


def _largest(found: Found, wrapped: _Wrapped) -> Iterator[str]:
    rows = [("TASK", "SIZE", "FIT", "HARDWARE", "LONGEST CONTEXT", "CONDITIONS")]
    for item in found.largest:
        best, length = item.best, sentences.longest(item.longest.configuration)
        fit = best.fit.replace("-", " ")
        row = best.configuration
        conditions = "; ".join(row.conditions)
        rows.append((item.task, item.size, fit, resource(row), length, conditions))
    yield from (line for lines in wrapped.rows(rows, "  ") for line in lines)


def _table(
    found: Found,
    shown: Sequence[Sequence[Answer]],
    wrapped: _Wrapped,
    style: tuple[str, str, str],
    root: str,
) -> Iterator[str]:
    bold, dim, plain = style
    rows: list[tuple[str, ...]] = [_COLUMNS]
    firsts = [fold[0] for fold in shown]
    for number, item in enumerate(firsts, 1):
        row = item.configuration
        cells = (row.tag, row.model_label.rpartition("/")[2], row.task_label, resource(row))
        rows.append((str(number), item.fit.replace("-", " "), *map(printable, cells)))
    head, *told = wrapped.rows(rows, "")
    yield from (f"{dim}{line}{plain}" for line in head)
    for lines, item, fold in zip(told, firsts, shown, strict=True):
        yield from (f"{bold}{line}{plain}" for line in lines)
        facts = [*_series(fold), *_facts(item.configuration, found, root)]
        yield from wrapped.all([item.reason, *facts], "   ")


def _series(fold: Iterable[Answer]) -> Iterator[str]:
    yield from filter(None, [sentences.series([item.configuration for item in fold])])


def _aside(
    items: tuple[Answer, ...], found: Found, wrapped: _Wrapped, root: str, most: int = _MOST_ASIDE
) -> Iterator[str]:
    folds = folded_answers(items)
    for fold in folds[:most]:
        row = fold[0].configuration
        name = f"{row.model_label} {row.task_label}"
        yield from wrapped.all([f"{name}: {fold[0].reason}"], "- ")
        yield from wrapped.all([*_series(fold), *_facts(row, found, root)], "  ")
    if len(folds) > most:
        yield f"- {len(folds) - most} more: give --format json."


def _facts(row: Configuration, found: Found, root: str) -> Iterator[str]:
    """Conditions, figures, evidence, script, source and what else is known, each a line."""
    yield "; ".join(row.conditions)
    if figures := "; ".join(sentences.figures(row)):
        yield figures
    yield "; ".join(sentences.evidence(row))
    yield from sentences.doubts(row)
    if row.script:
        yield posixpath.join(root, row.script)
    if row.source:
        yield row.source
    for other in found.contradictions.get(row.id, ()):
        yield f"{sentences.contradicted(other)}: {other.source}"


def _aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
