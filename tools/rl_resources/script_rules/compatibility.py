"""Compatibility with releases.

The generated rows on releases belong to the scripts as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from rl_resources.facts.broken import Record, records, with_cells
from rl_resources.facts.pairs import script_texts
from rl_resources.rule import Edit, Mistake, rule
from rl_resources.script.framework.shipped import Rejected, as_word, read_rejected
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import Snapshot
from rl_resources.text import shown


def _stale_rows(snapshot: Snapshot) -> Iterator[tuple[Record, Sequence[Rejected | None]]]:
    """The rows with wrong lines, and their settings with the lines of today.

    `None` is a setting that the script does not have in exactly one line.
    """
    readable = (text for text in script_texts(snapshot) if not text.script.problems)
    lines = {text.path.rpartition("/")[2]: _lines_of_keys(text) for text in readable}
    for record in records(snapshot, "compatibility", "script", "rejected"):
        name, said = record.text("script"), read_rejected(record.text("rejected"))
        today = [_today(item, lines[name][item.key]) for item in said] if name in lines else said
        if today != said:
            yield record, today


def _today(item: Rejected, lines: Collection[int]) -> Rejected | None:
    if item.line in lines:
        return item
    return item._replace(line=min(lines)) if len(lines) == 1 else None


def _lines_of_keys(script: ScriptText) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for launch in script.launches:
        found[as_word(launch.module)].add(launch.command.place.line)
        for override in launch.overrides:
            found[as_word(override.key)].add(override.place.line)
    return found


@rule("warning")
def stale_lines(snapshot: Snapshot) -> Iterator[Mistake]:
    """records/compatibility.csv has the lines of each script as they are today.

    Its lines lead a reader to a setting that a release does not accept.

    Bad: `57 algorithm.use_kl_in_reward unknown-key` where that key is in line 58
    Good: `58 algorithm.use_kl_in_reward unknown-key`
    """
    reported: set[str] = set()
    for record, _ in _stale_rows(snapshot):
        if (name := record.text("script")) not in reported:
            reported.add(name)
            message = f"{shown(name, 120)} was edited since: these are not its lines"
            fix = "Run `rl-resources check --fix`; where settings changed, `rl-resources compat`."
            yield record.table.mistake(record.row, "rejected", message, fix)


def fix_stale_lines(snapshot: Snapshot) -> Iterator[Edit]:
    """The lines of keys that are in one other line today."""
    return with_cells(
        (*record, "rejected", "; ".join(map(str, today)))
        for record, today in _stale_rows(snapshot)
        if None not in today
    )
