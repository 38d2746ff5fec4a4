"""The front page: its matrix, its form with an example, and what its finder reads, as compact JSON:
rows with their finished words, and what is needed to read a question.

Rows are in the order that no question changes, so that the page need not know it. They are
published by column, which compresses best. `finder.toml` has the example and the names of columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from rl_resources.certainty import MARKS, REWRITTEN, SCALE
from rl_resources.dataset import Dataset, grouped
from rl_resources.devices import Device
from rl_resources.estimate.formula import formula
from rl_resources.estimate.frameworks import profiles
from rl_resources.estimate.plan import rules
from rl_resources.estimate.time import PHASES
from rl_resources.facts.comparison import NO_TAG
from rl_resources.files import table_beside
from rl_resources.query import plan_question, sentences
from rl_resources.query.configurations import (
    Configuration,
    configurations,
)
from rl_resources.query.coverage import HEADLINES, NO_TEXT
from rl_resources.query.find import ask, folded, verdicts
from rl_resources.query.vocabulary import (
    ADAPTERS,
    FIELDS,
    FILTERS,
    WEIGHTS,
    vocabulary,
    words_of,
    words_of_filters,
)
from rl_resources.site.environment import Site, place, urls_of_things
from rl_resources.site.run_pages import arithmetic_of, fewest_run
from rl_resources.text import is_web_address

PATH = "assets/finder.json"
WORDS_PATH = "assets/words.json"
"""The rows, and what is needed to read a question, as the calculator does, too. Their form may
change with any release; that of the API is stable."""
EXAMPLE_CARDS = 2
_TABLE = table_beside(__file__)
_SAME: Sequence[str] = _TABLE["same"]
"""The columns that are facts of a configuration, under the same names."""
_ASKED = ("architecture", "size", *FILTERS)
_PLAN_SENTENCES: Mapping[str, Mapping[str, str]] = {
    table: plan_question.sentences()[table] for table in _TABLE["plan_sentences"]
}
"""The sentences of `plan` that the page needs, by their tables there."""
CALCULATOR: Mapping[str, str] = _TABLE["calculator"]
"""The question that the calculator of the estimate has answered."""


class FewestCell(NamedTuple):
    """A cell of the matrix: the run on the fewest GPUs; the fewest by arithmetic, 0 if unknown."""

    ran: Configuration | None
    estimated: int


def front(site: Site) -> str:
    """The front page."""
    rows = configurations(site.dataset)
    example = _TABLE["example"]
    found, notes = ask(site.dataset, example)
    fits = [row.fit for row in found.answers]
    return site.page(
        "index.md",
        choices=choices(site, rows),
        filters=FILTERS,
        data=PATH,
        vocabulary=WORDS_PATH,
        weights=WEIGHTS,
        devices=_classes(site),
        matrix=matrix(site, rows),
        fewest_tokens=_TABLE["fewest_tokens"],
        example=example,
        others=_TABLE["other"],
        folds=folded(found.answers)[:EXAMPLE_CARDS],
        verdict=" ".join(verdicts(site.dataset, found)),
        headline=sentences.headline(found.query, vocabulary(site.dataset), fits),
        notes=notes,
        words=sentences,
        said=said(),
        believe_run=plan_question.sentences()["believe_run"],
    )


_OPTION = re.compile(r" \(--[^)]*\)")
"""What the command names besides, and the page has a field for."""


def said() -> dict[str, str]:
    """What scripts of the front page write, by name."""
    found = {**sentences.MESSAGES, **_hints(), **_TABLE["said"], **_TABLE["mistakes"]}
    for table, texts in _PLAN_SENTENCES.items():
        for name, text in texts.items():
            found[f"{table}.{name}"] = text
    certainties = [*SCALE, *map(str.capitalize, SCALE), *MARKS, REWRITTEN]
    phases = [moment["phase"] for moment in formula()["moment"]]
    weights = [*WEIGHTS.values(), *ADAPTERS.values()]
    return found | _words(_TABLE["words"], certainties, _fields(), phases, weights)


def said_of_calculator() -> dict[str, str]:
    """What the script of the calculator writes: by name, or by the text that the formula has."""
    written = formula()
    time = written["time"]
    tables = (written["said"], time["said"], time["needed"], written["verdicts"])
    texts = chain.from_iterable(table.values() for table in tables)
    verdicts = [*written["verdicts"], *map(str.capitalize, written["verdicts"])]
    words = [*_TABLE["calculator_words"], *WEIGHTS.values(), *verdicts, *PHASES]
    for moment in written["moment"]:
        words += [moment["phase"], moment["name"], *moment["components"]]
    prices = [knob["price"] for knob in written["knob"]]
    for name in ("price_in_verl", "price_offline"):
        prices += filter(None, [knob.get(name) for knob in written["knob"]])
    read = {name: sentences.MESSAGES[name] for name in _TABLE["calculator_messages"]}
    own: dict[str, str] = _TABLE["mistakes"] | _TABLE["calculator_said"]
    found = {**read, **_hints(), **own}
    without_options = {text: _OPTION.sub("", text) for text in texts}
    return found | without_options | _words(words, _fields(), prices)


def _hints() -> dict[str, str]:
    """What to write in each field."""
    return {f"hint.{field}": sentences.hint(field) for field in FIELDS}


def _fields() -> list[str]:
    """The fields of a question as a sentence names them."""
    return [field.replace("_", " ") for field in FIELDS]


def _words(*lists: Iterable[str]) -> dict[str, str]:
    """Single words, each of which is its own text."""
    return {f"word.{text}": text for text in chain(*lists)}


def _classes(site: Site) -> list[Device]:
    """The device of each column of the matrix; a package of fewer devices has fewer columns."""
    known = site.devices.known
    keys = map(itemgetter("device"), rules()["class"])
    return [known[key] for key in keys if key in known]


def matrix(
    site: Site, rows: Sequence[Configuration]
) -> Mapping[str, Mapping[str, Sequence[FewestCell]]]:
    """The fewest GPUs known: by weights and size a cell for each class of devices."""
    by_size = grouped(filter(_is_counted, rows), attrgetter("size"))
    arithmetic = arithmetic_of(site)
    devices = _classes(site)
    tables: dict[str, dict[str, list[FewestCell]]] = {}
    for weights in HEADLINES:
        tables[weights] = {}
        for size in site.sizes:
            by_memory = arithmetic.get((size.name, weights), {})
            own = by_size.get(size.name, [])
            line: list[FewestCell] = []
            for device in devices:
                small = [row for row in own if _is_no_more(row, device)]
                least = by_memory.get(int(device.memory_gb), 0)
                line.append(FewestCell(fewest_run(small, weights), least))
            tables[weights][size.name] = line
    return tables


def _is_counted(row: Configuration) -> bool:
    """Whether it trained on texts of some length, on a known number of GPUs."""
    is_text = NO_TEXT.isdisjoint(row.scenario)
    return is_text and row.gpus > 0 and row.length >= _TABLE["fewest_tokens"]


def _is_no_more(row: Configuration, device: Device) -> bool:
    """Whether it ran on GPUs of a device's vendor with no more memory each."""
    return row.vendor == device.vendor and 0 < row.memory_gb <= device.memory_gb


def choices(
    site: Site, rows: Sequence[Configuration]
) -> Mapping[str, list[tuple[str, str]]]:
    """Words with their titles for each field of the form: every device, of others those in use."""

    def in_use(name: str, words: Mapping[str, str]) -> list[tuple[str, str]]:
        used = set(chain.from_iterable(row.words(name) for row in rows))
        return [(word, title) for word, title in words.items() if word in used]

    models = words_of(site.dataset, "models", "size")
    devices = words_of(site.dataset, "devices", "name")
    sizes = [(size.name, "any model of this size") for size in site.sizes]
    found = {
        "model": sizes + in_use("model", models),
        "device": [(site.devices.label(key), name) for key, name in devices.items()],
    }
    for name, words in words_of_filters(site.dataset).items():
        found[name] = in_use(name, words)
    return found


def files(site: Site) -> dict[str, str]:
    """The files by their paths on the site."""
    rows = {"columns": columns(site, configurations(site.dataset))}
    values = {PATH: rows, WORDS_PATH: _words_of_questions(site.dataset)}
    return {
        path: json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        for path, value in values.items()
    }


def _words_of_questions(dataset: Dataset) -> dict[str, Any]:
    known = vocabulary(dataset)
    return {
        "dataset_version": dataset.version,
        "vocabulary": {
            "spellings": known.spellings,
            "models": known.models,
            "sizes": [size._asdict() for size in known.sizes],
            "devices": {
                "known": {
                    key: device._asdict() for key, device in known.devices.known.items()
                },
                "spellings": known.devices.spellings,
            },
            "tasks": known.tasks,
            "architectures": known.architectures,
            "experts": known.experts,
            "projects": known.projects,
            "frameworks": known.frameworks,
        },
        "weights": WEIGHTS,
        "no_tag": NO_TAG,
        "filters": list(FILTERS),
        "things": {key: url for (_, key), url in urls_of_things(dataset).items()},
        "profiled": {name: row.get("called", {}) for name, row in profiles().items()},
        "without_rollouts": [task.lower() for task in formula()["offline"]],
        "plan": _plan(dataset),
    }


def _plan(dataset: Dataset) -> dict[str, Any]:
    """What the page's plan begins with."""
    published = {name: rules()[name] for name in _TABLE["plan"]}
    return published | {
        "tasks": {
            name: plan_question.of_task(name) for name in vocabulary(dataset).tasks
        },
        "sizes": list(_PLAN_SENTENCES["size"]),
    }


def columns(site: Site, rows: Sequence[Configuration]) -> dict[str, list[Any]]:
    """Rows by column."""
    by_id = {row.id: row for row in rows}
    by_column: dict[str, list[Any]] = {}
    for row in rows:
        against = [by_id[name] for name in row.contradicts if name in by_id]
        said = [site.facts[one.id] for one in (row, *against)]
        make = partial(_cells, row, against)
        for name, cell in site.once((row.series, *said), make).items():
            by_column.setdefault(name, []).append(cell)
    return by_column


def _cells(row: Configuration, against: Sequence[Configuration]) -> dict[str, Any]:
    """What the finder reads of a row, with the rows that contradict it."""
    doubts: list[str] = []
    if sentences.is_disputed(row) and row.notes:
        doubts.append(sentences.note(row))
    doubts += map(sentences.contradicted, against)
    # A link, or what the row names in its place.
    source = row.source
    origin = ""
    if not is_web_address(source):
        origin = source
        source = ""
    folder, _, _ = place(row).partition(row.id)
    start = ""
    if row.script:
        start = sentences.start(row)
    return {
        **{name: getattr(row, name) for name in _SAME},
        **sentences.parts(row),
        "claim": sentences.claim(row),
        "asked": {name: row.words(name) for name in _ASKED},
        "conditions": [*row.conditions],
        "folder": folder,
        "figures": list(sentences.figures(row)),
        "evidence": sentences.evidence(row),
        "source": source,
        "origin": origin,
        "doubts": doubts,
        "start": start,
        "script": sentences.script(row),
    }
