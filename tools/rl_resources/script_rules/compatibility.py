"""Compatibility with releases.

The generated rows on releases belong to the scripts as they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rl_resources.dataset_rules.broken import Record, records, with_cells
from rl_resources.rule import Mistake, Rewrite, rule
from rl_resources.script.framework.shipped import Rejected, as_word, read_rejected
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules.target import script_texts
from rl_resources.snapshot import Snapshot
from rl_resources.text import shown


class StaleRow(NamedTuple):
    """A row with wrong lines: what it says, and what it would say today.

    `None` means that the script does not have the key in exactly one line.
    """

    record: Record
    said: Sequence[Rejected]
    today: Sequence[Rejected | None]


def stale_rows(snapshot: Snapshot) -> Iterator[StaleRow]:
    """The rows with wrong lines."""
    texts = {text.path.rpartition("/")[2]: text for text in script_texts(snapshot)}
    for record in records(snapshot, "compatibility", "script", "rejected"):
        name, said = record.text("script"), read_rejected(record.text("rejected"))
        today = [_today(texts[name], item) for item in said] if name in texts else said
        if today != said:
            yield StaleRow(record, said, today)


@lru_cache(maxsize=1024)
def _lines_of_keys(script: ScriptText) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for launch in script.launches:
        for override in launch.overrides:
            found[as_word(override.key)].add(override.place.line)
    return found


def _today(script: ScriptText, item: Rejected) -> Rejected | None:
    """The item with the line of its key today; `None` where that is not one line."""
    own = _lines_of_keys(script).get(item.key, set())
    line = "".join(script.text.split("\n")[item.line - 1 : item.line])
    if item.line in own or re.search(rf"{re.escape(item.key)}(?![\w.])", line):
        return item
    return item._replace(line=min(own)) if len(own) == 1 else None


@rule("warning")
def stale_lines(snapshot: Snapshot) -> Iterator[Mistake]:
    """records/compatibility.csv has the lines of each script as they are today.

    Its lines lead a reader to a setting that a release does not accept.

    Bad: `57 algorithm.use_kl_in_reward unknown-key` where that key is in line 58
    Good: `58 algorithm.use_kl_in_reward unknown-key`
    """
    of_script = {stale.record.text("script"): stale for stale in reversed([*stale_rows(snapshot)])}
    for name, (record, said, today) in of_script.items():
        changed = [(old, new) for old, new in zip(said, today, strict=True) if old != new]
        item, now = min(changed, key=lambda pair: pair[1] is not None)
        where = f"is in line {now.line}" if now else "is not there any more"
        key = f"`{shown(item.key, 120)}` of {shown(name, 120)}"
        message = f"the script was edited since: {key} {where}, not in line {item.line}"
        fix = "Run `rl-resources check --fix`; where settings changed, `rl-resources compat`."
        if None in today:
            fix = "Run `rl-resources compat`."
        yield record.table.mistake(record.row, "rejected", message, fix)


def fix_stale_lines(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The lines of keys that are in one other line today."""
    meant = (
        (*record, "rejected", "; ".join(map(str, today)))
        for record, _, today in stale_rows(snapshot)
        if None not in today
    )
    return with_cells(meant)
