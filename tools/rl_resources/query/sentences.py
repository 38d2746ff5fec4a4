"""Answers in words: the sentences of `sentences.toml`, the pieces of `sentences.jinja`.

What the page says in their place, in its own language, is `finder/sentences.js`.
"""

from __future__ import annotations

import posixpath
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_resources.certainty import script_said
from rl_resources.devices import device_label, hardware
from rl_resources.errors import UnusableInput
from rl_resources.facts.comparison import NO_TAG
from rl_resources.files import environment, table_beside
from rl_resources.query.vocabulary import (
    ADAPTERS,
    EITHER,
    FIELDS,
    PREFERENCE,
    TABLES,
    Vocabulary,
    spelled,
    without_owner,
)
from rl_resources.text import nearest, shown

if TYPE_CHECKING:
    from rl_resources.query.configurations import Configuration
    from rl_resources.query.understand import Query

MESSAGES: Mapping[str, str] = table_beside(__file__)
_KINDS_OF_MEMORY = {"gpu": "GPU ", "host": "host "}
NO_TASK = "task not stated"


def say(name: str, /, **words: object) -> str:
    """The message `name` with its words filled in."""
    return MESSAGES[name].format_map(words)


@cache
def _macros() -> Any:
    templates = environment(Path(__file__).parent)
    words = {**TABLES, "hardware": hardware}
    return templates.get_template("sentences.jinja", globals=words).module


def pieces(name: str, /, *given: object) -> list[str]:
    """The lines of the macro `name` that are not empty."""
    text: str = getattr(_macros(), name)(*given)
    return list(filter(None, text.split("\n")))


def hint(field: str) -> str:
    """What to write instead of a word that is not known."""
    return f"Write {FIELDS[field]}."


def unreadable(known: Vocabulary, field: str, text: str) -> UnusableInput:
    """What to raise for a word that is not known: with the nearest known words and an example."""
    message = say("unknown", field=field, text=shown(text))
    near = nearest(without_owner(text), known.written(field))
    if spelled(text) in map(spelled, PREFERENCE["words"]):
        near = near._replace(words=tuple(PREFERENCE["tasks"]))
    fix = f"{near.sentence()} {hint(field)}"
    return UnusableInput(message, fix.strip())


def refusal(name: str, field: str, text: str) -> UnusableInput:
    """What to raise for a word that is no number, or that no answer can have."""
    return UnusableInput(say(name, field=field, text=shown(text)), hint(field))


def contradiction(message: str) -> UnusableInput:
    """What to raise where two words of a question exclude each other."""
    return UnusableInput(message, "Leave one of them out.")


def either(texts: Iterable[str]) -> str:
    """Texts any of which may be meant."""
    return EITHER.join(texts)


def _said(name: str, /, *given: object) -> str:
    """The pieces of a macro, between commas."""
    return ", ".join(pieces(name, *given))


def resource(row: Configuration) -> str:
    """The hardware of a configuration: `2 × H800 80 GB`.

    The memory of each device is left out where it is unknown, or in the name already.
    """
    gpus = str(row.gpus)
    if row.gpus_maximum:
        gpus = f"{gpus} to {row.gpus_maximum}"
    named = hardware(gpus, row.device_label)
    memory = f"{row.memory_gb:g} GB"
    if not row.memory_gb or memory in row.device_label:
        return named
    may_be_several = len(row.possible_devices) > 1 and not row.memory_stated
    if may_be_several and not row.device:
        return f"{named} (at most {memory})"
    return f"{named} {memory}"


context = partial(_said, "context")
"""The context of a configuration, as far as it is known."""

how = partial(_said, "how")
"""What decides its memory, as far as it is stated."""

short = partial(_said, "short")
"""What decides its memory, as far as it is known, and the time of a step."""

sure = partial(_said, "sure")
"""The word of the scale for a configuration, and the marks beside it."""

claim = partial(_said, "claim")
"""What is known where no run is, or where its device is open; `parts` has the names in braces."""

step_time = partial(_said, "step_time")
"""The duration of a step with its statistic, what it is of several: `mean step 93.5 s`."""

figures = partial(pieces, "figures")
"""What is known of batch, rollouts, memory and time."""


def _joined(between: str, *texts: str) -> str:
    """The texts that are not empty."""
    return between.join(filter(None, texts))


def software(row: Configuration) -> str:
    """Framework and backends with their releases."""
    return _joined(" ", row.framework_label, row.backends_label)


def parts(row: Configuration) -> dict[str, str]:
    """The words of a configuration that the templates of `messages` have in braces."""
    model_label = row.model_label
    if row.experts == "mixture":
        model_label = f"{model_label} (mixture of experts)"
    variants = dict.fromkeys(map(device_label, row.possible_devices))
    names = {"hardware": resource(row), "variants": EITHER.join(variants)}
    return {
        **names,
        "model_label": model_label,
        "task_label": row.task_label or NO_TASK,
        "size": row.size,
        "weights_label": ADAPTERS.get(row.weights, row.conditions[0]),
        "context": context(row),
        "software": software(row),
        "certainty": row.certainty,
        "said": row.certainty.capitalize(),
        "claim": claim(row).format(**names),
        "memory_kind": _KINDS_OF_MEMORY.get(row.out_of_memory_on, ""),
    }


def _given(row: Configuration) -> str:
    """What decides its memory, and in what it is not just what was asked, in brackets."""
    pieces = _joined("; ", *_marks(row), how(row))
    if pieces:
        return f" ({pieces})"
    return ""


def _marks(row: Configuration) -> list[str]:
    """In what it is not just what was asked; its name says that it trains with LoRA."""
    differs = [name for name in row.differs if name != "adapters"]
    return [say(f"differs-{name}", size=row.size) for name in differs]


def reason(row: Configuration, name: str = "", **words: object) -> str:
    """One sentence that says why a configuration is listed: by its fit, or the message `name`."""
    return say(name or row.fit, **parts(row), given=_given(row), **words)


def instead(kind: str, row: Configuration) -> str:
    """What fits when something of the question is given up."""
    what = reason(row, kind)
    return reason(row, "instead", what=what)


def asked_hardware(query: Query, known: Vocabulary) -> str:
    """The hardware of a question: `8 × H100 80 GB`; empty where it is open."""
    labels = map(known.devices.label, query.devices)
    return _said("asked_hardware", query, EITHER.join(labels))


def is_of_project(query: Query, row: Configuration) -> bool:
    """Whether its source is the asked project; with none asked every one is."""
    return query.project.lower() in software(row).lower()


def asked_words(query: Query, otherwise: str = "Any model") -> str:
    """Model, filters and context of a question: `Qwen3-8B, GRPO`; `otherwise` without any."""
    return _said("asked_words", query) or otherwise


def line(row: Configuration, *, is_open: bool = True) -> str:
    """An answer in a line: how it fits, what ran where, and what decides."""
    return _said("line", row, parts(row), short(row), sure(row), _marks(row), is_open)


def lines(
    folds: Iterable[Sequence[Configuration]], *, is_open: bool = True
) -> list[str]:
    """A line for each series, those that read the same once with their number."""
    numbers: Counter[str] = Counter()
    for rows in folds:
        text = line(rows[0], is_open=is_open)
        numbers[text] += len(rows)
    found = []
    for text, number in numbers.items():
        if number > 1:
            text = f"{text} ({number} of this kind)"
        found.append(text)
    return found


def headline(query: Query, known: Vocabulary, fits: Sequence[str]) -> str:
    """What was asked, and how many answers of each fit there are."""
    on = asked_hardware(query, known)
    message = "headline-open"
    if on:
        message = "headline"
    return say(
        message,
        what=asked_words(query),
        hardware=on,
        on_it=fits.count("ran-on-it"),
        on_no_more=fits.count("ran-on-no-more"),
        claimed=fits.count("claimed"),
    )


def tag(row: Configuration) -> str:
    """The tag of a configuration, a dash for a record that earns none; a report seldom has one."""
    if row.kind == "record":
        return row.tag or NO_TAG
    return row.tag


def script(row: Configuration) -> str:
    """Whether the script of a record ran here; empty for a report, which has none."""
    if not row.script:
        return ""
    return script_said(row.tested_on, row.source)


def summary(row: Configuration) -> str:
    """Model, task, hardware and the conditions that decide."""
    words = parts(row)
    named = [words["model_label"], words["task_label"], words["hardware"]]
    return ", ".join([*named, *row.conditions])


def series(rows: Sequence[Configuration]) -> str:
    """How many are listed as one; empty for a single one."""
    number = len(rows)
    if number < 2:
        return ""
    return say("series", number=number)


def evidence(row: Configuration) -> str:
    """Why a configuration may be believed: kind, status, evidence, software, age."""
    return "; ".join(pieces("evidence", row, sure(row), software(row)))


def note(row: Configuration) -> str:
    """The note of a configuration, which says what is disputed; empty where there is none."""
    return _said("note", row, is_disputed(row))


def is_disputed(row: Configuration) -> bool:
    """Whether it is a record whose note says what is disputed."""
    return row.kind == "record" and row.doubtful


def contradicted(other: Configuration) -> str:
    """What another report says against one."""
    return _said("contradicted", other, resource(other))


def start(row: Configuration, root: str = "") -> str:
    """The command that starts a record's script from its `root`, or with one from anywhere."""
    path = posixpath.join(root, row.script)
    return f"bash {shlex.quote(path)}"
