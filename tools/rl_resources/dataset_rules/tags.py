"""Tags.

A tag is earned by what the dataset knows.

The tags are defined in `schema/tuning.json`; what they ask of a script is in
`script_rules/tags.py`. Nothing is said of a record that nobody has run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rl_resources.facts.broken import Record, records, with_cells
from rl_resources.facts.tags import (
    COMPARED,
    NO_TAG,
    SPEEDS,
    KnownRun,
    faster_record,
    smaller_run,
    tag_line,
)
from rl_resources.rule import Edit, Mistake, rewritten, rule, with_lines
from rl_resources.snapshot import ScriptFile, Snapshot
from rl_resources.text import shown

_EMPTY = "Empty the tag: `rl-resources check --fix` does it."


@rule("warning")
def not_the_least(snapshot: Snapshot) -> Iterator[Mistake]:
    """No record or report ran on less memory in all than a MIN record of the same kind.

    A reader takes MIN for the least that is known to do.

    Bad: MIN on `8` x `h100`, and the same model and weights ran on `8` x `l20`
    Good: MIN on `8` x `l20` alone

    The same kind is the same model, weights and scenario at no shorter context.
    """
    for record, smaller in _not_the_least(snapshot):
        name = shown(smaller.name, 120)
        where = f"{smaller.memory_gb:g} GB together, which is less"
        yield record.mistake(
            "tag", f", but `{name}` ran the same model and weights on {where}", _EMPTY
        )


def fix_not_the_least(snapshot: Snapshot) -> Iterator[Edit]:
    """Without their tag."""
    found = _not_the_least(snapshot)
    yield from _without_tag(record for record, _ in found)


def _not_the_least(snapshot: Snapshot) -> Iterator[tuple[Record, KnownRun]]:
    """MIN records, each with the run on the least memory that is of its kind."""
    for record in records(snapshot, "tuning", *COMPARED, "tag", "status"):
        if not _has_tag(record, "MIN"):
            continue
        smaller = smaller_run(snapshot, record)
        if smaller:
            yield record, smaller


@rule("warning")
def min_without_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """The device of a MIN record has a known memory.

    Otherwise nothing says that no other run took less.

    Bad: MIN on `ascend-910b`, which is sold with 32 and with 64 GB
    Good: MIN on `ascend-910b3`
    """
    for record in _without_memory(snapshot):
        yield record.mistake("tag", ", but the memory of its device is not known", _EMPTY)


def fix_min_without_memory(snapshot: Snapshot) -> Iterator[Edit]:
    """Without their tag."""
    yield from _without_tag(_without_memory(snapshot))


def _without_memory(snapshot: Snapshot) -> Iterator[Record]:
    for record in records(snapshot, "tuning", "tag", "status", "device"):
        if not _has_tag(record, "MIN"):
            continue
        device = snapshot.row("devices", record.text("device"))
        if device and not device["memory_gb"]:
            yield record


def _has_tag(record: Record, tag: str) -> bool:
    if record.text("status") == "untested":
        return False
    return record.text("tag") == tag


def _without_tag(found: Iterable[Record]) -> Iterator[Edit]:
    """The tables with no tag in these records."""
    return with_cells((record.table, record.row, "tag", "") for record in found)


@rule("warning")
def recommended_without_speed(snapshot: Snapshot) -> Iterator[Mistake]:
    """A RECOMMENDED record has a speed, or its source recommends it in words.

    Without either nothing says that it is fast.

    Bad: RECOMMENDED with neither `step_seconds` nor `tokens_per_second_per_gpu`
    Good: RECOMMENDED with `93.5` as `step_seconds`
    """
    speeds = " or ".join(SPEEDS)
    for record in records(snapshot, "tuning", "tag", "status", "statement", *SPEEDS):
        if not _has_tag(record, "RECOMMENDED"):
            continue
        has_speed = any(map(record.text, SPEEDS))
        is_recommended = record.text("statement") == "recommendation"
        if has_speed or is_recommended:
            continue
        yield record.mistake(
            "tag",
            ", but neither a speed nor a recommendation is known",
            f"Fill {speeds} from the source, or empty the tag.",
        )


@rule("warning")
def recommended_is_slower(snapshot: Snapshot) -> Iterator[Mistake]:
    """Of two RECOMMENDED records with a speed for one model and device the faster one has the tag.

    A reader takes RECOMMENDED for the fastest that is known.

    Bad: RECOMMENDED for two records of the same model, weights, scenario and device
    Good: RECOMMENDED for the one with more tokens per second and GPU, or else the shorter step
    """
    for record, faster in _slower(snapshot):
        label = faster.table.label(faster.row)
        yield record.mistake(
            "tag", f", but `{label}` is faster with the same model, weights and device", _EMPTY
        )


def fix_recommended_is_slower(snapshot: Snapshot) -> Iterator[Edit]:
    """Without their tag."""
    found = _slower(snapshot)
    yield from _without_tag(record for record, _ in found)


def _slower(snapshot: Snapshot) -> Iterator[tuple[Record, Record]]:
    """RECOMMENDED records, each with a faster one."""
    names = ("tag", "status", "model", "weights", "scenario", "device", *SPEEDS)
    tuning = records(snapshot, "tuning", *names)
    found = [record for record in tuning if _has_tag(record, "RECOMMENDED")]
    for record in found:
        faster = faster_record(record, found)
        if faster:
            yield record, faster


_HEADER = re.compile(r"^# Tag:[ \t]+(?P<tag>[^\s(]+).*$", re.MULTILINE)


@rule()
def tag_in_header(snapshot: Snapshot) -> Iterator[Mistake]:
    """The header of a script names the tag of its row, or no tag.

    A reader of the script alone would take it for what it is not.

    Bad: `# Tag: MIN` above a script whose row has no tag
    Good: `# Tag: MIN` above a script whose row has that tag
    """
    for script, line, text, tag in _wrong_headers(snapshot):
        column = text.index(":") + 1
        yield Mistake(
            script.path,
            line,
            column,
            f"the header says `{shown(text)}`, but the tag of the row is `{tag}`",
            f"Write `{tag_line(tag)}`.",
        )


def fix_tag_in_header(snapshot: Snapshot) -> Iterator[Edit]:
    """With the tag of the row."""
    for script, line, _, tag in _wrong_headers(snapshot):
        lines = {line: tag_line(tag)}
        text = with_lines(script.source, lines)
        yield rewritten(script.path, text)


def _wrong_headers(snapshot: Snapshot) -> Iterator[tuple[ScriptFile, int, str, str]]:
    """Scripts whose header has another tag than the row: the line, its text, the row's tag."""
    tags: dict[str, str] = {}
    for record in records(snapshot, "tuning", "tag"):
        script_name = record.text("script")
        tag = record.text("tag") or NO_TAG
        tags.setdefault(script_name, tag)  # others: duplicate_key
    for script in snapshot.scripts:
        if script.name not in tags:
            continue
        header = _HEADER.search(script.text or "")
        wanted = tags[script.name]
        if header and header["tag"] != wanted:
            before = header.string[: header.start()]
            line = before.count("\n") + 1
            text = header[0].rstrip()
            yield script, line, text, wanted
