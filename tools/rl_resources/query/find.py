"""What runs on this hardware, best first, and why.

The page has this module and `fit.py` too, as `site/javascript.py` writes them in JavaScript.

1. A configuration *matches* when it has every word that was asked: the model or one of the same
   layers and widths, else the size, and each of `FILTERS`; a task also in its form with LoRA. An
   empty cell matches no word that was asked. A size is its class, a model of another number of
   parameters `differs` from it. A mixture of experts and a dense model never match
   each other where it is known which was asked. In what a match `differs` it is marked.
2. Its *fit* is, the first that holds:
   `out-of-memory` where it ran out of memory;
   `too-short` where it ran with less context than asked, or does not say with how much;
   `beyond` where it ran on more GPUs than asked, or with more host memory;
   `unclear` where it fits and is no answer (a record that is not run, a source's guess), or where
   the source does not say which of several devices it used and the asked one is among them, or
   where it used a variant of the asked device;
   `claimed` where it fits and no run is known: a stated minimum, a recommendation, what CI
   allocates, what a source lists;
   `ran-on-it` where it ran on the asked device, or any device of just the asked memory; without
   hardware in the question that is everything that ran;
   `ran-on-no-more` where it ran with no more memory each, on the asked device's vendor's software;
   else `beyond`. A device or memory that is unknown is never enough. Of a range of GPUs the lower
   end counts. Memory is compared, never estimated.
3. Answers are those of the fits `ran-on-it`, `ran-on-no-more` and `claimed`: undisputed first, the
   asked project's own runs first, what differs least first, records before reports, these fits in
   their order, larger models first, the same hardware first, the same memory first, else in the
   order of `configurations`. The front page says so in words.
4. Failures are configurations of the asked size, whatever their model and tag, that ran out of
   memory on the asked device or memory with any number of GPUs, or on no less of both of the same
   vendor; those on no less hardware come first.
5. Without an answer, the nearest: the matching run that used the least memory in all, and a claim
   of less; the same of any model of the size, where none of it fits; then the best answer of each
   of the first group of `ALTERNATIVES` that has one.
6. Without model and size, for each task the best run of the largest size that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from shlex import quote
from typing import Any, NamedTuple

from rl_resources.dataset import Dataset, grouped
from rl_resources.errors import UnusableInput
from rl_resources.estimate import PLAN_OPTIONS
from rl_resources.files import table_beside
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.fit import (
    BEYOND,
    CLAIMED,
    FAILED,
    FITTING,
    RAN_ON_IT,
    RAN_ON_NO_MORE,
    UNCLEAR,
    matches_of,
    near_size,
    no_less,
    of_fits,
    on_that_device,
    ordered,
    same_vendor,
    size_of,
)
from rl_resources.query.understand import Query, Tokens, stated, understand
from rl_resources.query.vocabulary import Vocabulary, vocabulary
from rl_resources.text import figure


class NearAnswer(NamedTuple):
    """What comes nearest where nothing fits: `kind` says in which way, `reason` what differs."""

    kind: str
    reason: str
    row: Configuration


class Found(NamedTuple):
    """All that is known to a question; `fit` of each configuration says how it answers.

    Of `failures` the first `worse` are on no less hardware. Of the answers that somebody ran
    `largest` has the best of the largest size of each task, where neither model nor size was asked,
    `smallest` needs the least memory in all, `smallest_full` the same of full fine-tuning where
    that is another one, and `longest` has the longest context. `words` are the question's own.
    """

    query: Query
    answers: Sequence[Configuration]
    unclear: Sequence[Configuration]
    failures: Sequence[Configuration]
    worse: int
    nearest: Sequence[NearAnswer]
    largest: Sequence[Configuration]
    smallest: Configuration | None
    smallest_full: Configuration | None
    longest: Configuration | None
    words: Tokens

    @property
    def best(self) -> Configuration | None:
        """The answer that a colleague would name; without hardware the one that used the least."""
        if self.largest:
            return self.largest[0]
        if self.smallest and not self.query.asked("gpus", "device", "memory_gb"):
            return self.smallest

        def key(row: Configuration) -> tuple[bool, ...]:
            is_other = "size" in row.differs
            is_part = "adapters" in row.differs or row.weights == "partial"
            is_synthetic = "synthetic" in row.words("scenario")
            return row.doubtful, is_other, is_part, row.fit == CLAIMED, is_synthetic

        return min(self.answers, key=key, default=None)

    @property
    def script(self) -> Configuration | None:
        """The best answer that has a script here."""
        return next((row for row in self.answers if row.script), None)


def by_device(
    rows: Sequence[Configuration], found: Found, known: Vocabulary
) -> list[Found]:
    """What is found on each memory that a device's name leaves open; else the same alone."""
    query = found.query
    if len(query.devices) < 2 or not found.best:
        return [found]
    devices = known.devices.known
    return [
        find(rows, query._replace(device=key, memory_gb=devices[key].memory_gb))
        for key in query.devices
    ]


def verdicts(dataset: Dataset, found: Found) -> list[str]:
    """What a colleague would say first: a sentence, of an open device those of its memories."""
    return first_sentences(configurations(dataset), found, vocabulary(dataset))


def first_sentences(
    rows: Sequence[Configuration], found: Found, known: Vocabulary
) -> list[str]:
    """The answer in a sentence; of an open device one for each memory, the same one once."""
    said: dict[str, Found] = {}
    for one in by_device(rows, found, known):
        said.setdefault(first_sentence(one, known), one)
    if len(said) == 1:
        return list(said.keys())
    return [of_device(sentence, one.query, known) for sentence, one in said.items()]


def of_device(sentence: str, query: Query, known: Vocabulary) -> str:
    """The sentence after the device that it is about, unless it names it."""
    on = sentences.asked_hardware(query, known)
    if on in sentence:
        return sentence
    inside = sentence[:1].lower() + sentence[1:]
    return sentences.say("of-device", on=on, sentence=inside)


def first_sentence(found: Found, known: Vocabulary) -> str:
    """The answer in a sentence, or that none is known."""
    query = found.query
    best = found.best
    on = sentences.asked_hardware(query, known)
    failed = [row for row in found.failures if _is_asked(query, row)]
    if best and not (best.doubtful and "adapters" in best.differs):
        return verdict(query, best, on, failed)
    return nobody(query, on, failed)


def verdict(
    query: Query, row: Configuration, on: str, failed: Sequence[Configuration]
) -> str:
    """What a colleague would say of the best answer: how sure it is, then what ran.

    A claim is followed by the first failure of just what was asked.
    """
    opening = _opening(query, row, on)
    base = query.framework_label
    asked = figure(query.parameters_b)
    said = sentences.reason(row, opening, project=query.project, base=base, asked=asked)
    if row.state != "claim" or not on or not failed:
        return said
    but = sentences.reason(failed[0], "but-failed")
    return f"{said} {but}"


def nobody(query: Query, on: str, failed: Sequence[Configuration]) -> str:
    """That no answer is known, and the first failure of just what was asked."""
    what = sentences.asked_words(query, "any model")
    if not on:
        return sentences.say("nobody-open", what=what)
    if failed:
        return sentences.reason(failed[0], "nobody-failed", what=what, on=on)
    return sentences.say("nobody", what=what, on=on)


def _opening(query: Query, row: Configuration, on: str) -> str:
    """The message that a verdict begins with; the first doubt decides."""
    is_claim = row.state == "claim"
    is_part = row.weights == "partial" and not query.weights
    is_base = not sentences.is_of_project(query, row)
    openings = {
        "project-open": is_base and not query.size and not query.gpus,
        "project-base": is_base,
        "disputed": row.doubtful,
        "other-size": "size" in row.differs,
        "largest": not query.size and not is_claim,
        "least-claimed": is_claim and not on,
        "least": not on,
        "probably-claimed": is_claim,
        "probably-precision": "precision" in row.differs,
        "yes-part": "adapters" in row.differs or is_part,
        "yes-host-memory": "host-memory" in row.differs,
        "yes-fewer": row.fit == RAN_ON_NO_MORE and query.vendor,
        "probably": row.fit == RAN_ON_NO_MORE,
    }
    return next((name for name, holds in openings.items() if holds), "yes")


def _is_asked(query: Query, row: Configuration) -> bool:
    """Whether a failure answers the very question: the same model and weights on no fewer GPUs."""
    if not query.architecture or row.architecture != query.architecture:
        return False
    if "adapters" in row.differs or row.gpus < query.gpus:
        return False
    return row.weights == (query.weights or row.weights)


def ask(dataset: Dataset, tokens: Tokens) -> tuple[Found, list[str]]:
    """What is found, and how the words of the question were read.

    Raises `UnusableInput` with the nearest known words.
    """
    words = stated(tokens)
    if "task" in words:
        _refuse_offline(words)
    query, notes = understand(vocabulary(dataset), tokens)
    found = find(configurations(dataset), query)
    return found._replace(words=words), notes


def _refuse_offline(words: Mapping[str, str]) -> None:
    """Raise `UnusableInput` where the task has no rollouts."""
    # Not above: it imports the estimate.
    from rl_resources.query.question_inputs import without_offline

    _, offline = without_offline(words)
    if offline:
        message = f"{offline.name} trains without rollouts, and all runs here are of RL"
        asked = {"model": words.get("size", "7B"), **words}
        options = [
            f" --{name.replace('_', '-')} {quote(asked[name])}"
            for name in PLAN_OPTIONS
            if name in asked
        ]
        command = "".join(["rl-resources plan", *options])
        raise UnusableInput(message, f"Ask for arithmetic: {command}")


def by_time(rows: Sequence[Configuration]) -> list[Configuration]:
    """The shortest published step first, then those without a time as they were."""
    return sorted(rows, key=lambda row: (not row.step_seconds, row.step_seconds))


def find(rows: Sequence[Configuration], query: Query) -> Found:
    """Answer a question. No answer is an answer too."""
    matching = matches_of(rows, query)
    fitting = ordered(of_fits(matching, *FITTING), query)
    failures = _failures(rows, query)
    runs = _for_headlines(query, of_fits(fitting, RAN_ON_IT, RAN_ON_NO_MORE))
    long = [row for row in runs if row.length]
    own = [row for row in matching if "adapters" not in row.differs]
    smallest = min(runs, key=size_of, default=None)
    full = [row for row in runs if row.weights == "full"]
    smallest_full = min(full, key=size_of, default=None)
    if smallest_full == smallest:
        smallest_full = None
    nearest: list[NearAnswer] = []
    if not of_fits(own, *FITTING):
        nearest = _nearest(rows, own, query, fitting)
    largest: list[Configuration] = []
    if not query.size:
        largest = _largest(runs)
    return Found(
        query,
        fitting,
        unclear=ordered(of_fits(matching, UNCLEAR), query),
        failures=failures,
        worse=sum(no_less(query, row) for row in failures),
        nearest=nearest,
        largest=largest,
        smallest=smallest,
        smallest_full=smallest_full,
        longest=max(long, key=attrgetter("length"), default=None),
        words={},
    )


def _for_headlines(query: Query, rows: list[Configuration]) -> list[Configuration]:
    """The rows that nothing contradicts, near the asked size; of these the asked project's own.

    All if there is none.
    """
    undisputed = [row for row in rows if not row.doubtful] or rows
    near = near_size(undisputed)
    own = [row for row in near if sentences.is_of_project(query, row)]
    return own or near


def folded(rows: Iterable[Configuration]) -> list[list[Configuration]]:
    """Answers of one series together in the place of the first of them."""
    series = grouped(rows, lambda row: row.series or f"alone {row.id}")
    return list(series.values())


def _failures(rows: Iterable[Configuration], query: Query) -> list[Configuration]:
    """Of asked weights also those that do not say what trains."""
    found = matches_of(
        rows, query._replace(model="", architecture="", tag="", weights="")
    )

    def counts(row: Configuration) -> bool:
        if query.weights and row.weights not in {"", query.weights}:
            return False
        return on_that_device(query, row) or no_less(query, row)

    def key(row: Configuration) -> tuple[object, ...]:
        is_other = row.architecture != (query.architecture or row.architecture)
        is_on_gpu = query.host_memory_gb > 0 and row.out_of_memory_on != "host"
        return not no_less(query, row), is_other, is_on_gpu, *size_of(row)

    return sorted(filter(counts, of_fits(found, FAILED)), key=key)


_NOTHING_ASKED = Query()._asdict()
_TABLES = table_beside(__file__)
OTHER_BASE: Mapping[str, str] = _TABLES["other_base"]


Alternative = Mapping[str, Any]
"""A wider question, as `find.toml` describes it."""
ALTERNATIVES: Sequence[Sequence[Alternative]] = _TABLES["alternatives"]


def _nearest(
    rows: Sequence[Configuration],
    matching: Iterable[Configuration],
    query: Query,
    fitting: Sequence[Configuration],
) -> list[NearAnswer]:
    """What is missing, then what would fit instead of no answer; no configuration twice."""
    found = list(_missing(rows, matching, query))
    if not fitting:
        found += _alternatives(rows, query)
    first: dict[str, NearAnswer] = {}
    for item in found:
        first.setdefault(item.row.id, item)
    return list(first.values())


def _alternatives(rows: Sequence[Configuration], query: Query) -> list[NearAnswer]:
    """The best answers to the wider questions of the first group that has any."""
    for group in ALTERNATIVES:
        answers = [_instead(rows, query, alternative) for alternative in group]
        found = list(filter(None, answers))
        if found:
            return found
    return []


def _missing(
    rows: Iterable[Configuration], matching: Iterable[Configuration], query: Query
) -> Iterator[NearAnswer]:
    """The smallest known run, and that of the size where none of it fits and it is another."""
    run = _smallest(matching, query)
    if run:
        message = "other-vendor"
        if same_vendor(query, run):
            message = "beyond"
        why = sentences.reason(run, message, own=query.vendor)
        yield NearAnswer("smallest-run", why, run)
    claim = _smallest(matching, query, "claim")
    if claim and not (run and run.total_memory_gb <= claim.total_memory_gb):
        why = sentences.reason(claim, "smallest-claim")
        yield NearAnswer("smallest-claim", why, claim)
    if not query.architecture:
        return
    of_size = matches_of(rows, query._replace(model="", architecture=""))
    other = _smallest(of_size, query)
    if other is None or of_fits(of_size, *FITTING):
        return
    if other.architecture != query.architecture and same_vendor(query, other):
        why = sentences.reason(other, "smallest-of-size")
        yield NearAnswer("smallest-of-size", why, other)


def _smallest(
    matching: Iterable[Configuration], query: Query, state: str = "run"
) -> Configuration | None:
    """The smallest known run; of another vendor only where the asked one has none."""
    ran = [row for row in of_fits(matching, BEYOND) if row.state == state]
    own = [row for row in ran if same_vendor(query, row)]
    return min(near_size(own or ran), key=size_of, default=None)


def _wider(query: Query, alternative: Alternative) -> Query | None:
    """The wider question; `None` where there is nothing to give up."""
    drops = alternative.get("drops", [])
    if not drops and query.weights in OTHER_BASE:
        return query._replace(weights=OTHER_BASE[query.weights])
    dropped = query.asked(*drops)
    if not dropped:
        return None
    return query._replace(**{name: _NOTHING_ASKED[name] for name in dropped})


def _instead(
    rows: Iterable[Configuration], query: Query, alternative: Alternative
) -> NearAnswer | None:
    """The best answer to a wider question: of the largest size, or of the longest context."""
    wider = _wider(query, alternative)
    if wider is None:
        return None
    if alternative.get("smaller"):
        rows = [row for row in rows if 0 < row.position < query.position]
    matching = matches_of(rows, wider)
    fitting = ordered(of_fits(matching, *FITTING), wider)
    if not fitting:
        return None
    is_open = not query.position and not query.memory_gb and not query.gpus
    if alternative.get("nearest") or is_open:
        best = min(fitting, key=size_of)
    elif query.length > wider.length:
        best = max(fitting, key=attrgetter("length"))
    else:
        best = max(fitting, key=attrgetter("position"))
    kind = alternative["kind"]
    return NearAnswer(kind, sentences.instead(kind, best), best)


def _largest(runs: Iterable[Configuration]) -> list[Configuration]:
    """The best of the largest size of each task, largest first. `runs` are in order of answers."""
    known = [row for row in runs if row.task and row.size]
    found: list[Configuration] = []
    for rows in grouped(known, attrgetter("task")).values():
        largest = max(rows, key=attrgetter("position"))
        found.append(largest)
    return sorted(found, key=lambda row: (-row.position, row.task))
