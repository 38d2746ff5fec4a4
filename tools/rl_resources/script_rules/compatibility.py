"""Compatibility with releases.

The generated rows on releases match the current scripts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from rl_resources.facts import TableRow, records, with_cells
from rl_resources.facts.pairs import script_texts
from rl_resources.rule import Edit, Mistake, rule
from rl_resources.script.framework.shipped import as_word, read_rejected
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import Snapshot, name_of
from rl_resources.text import shown


def _stale_cells(snapshot: Snapshot) -> Iterator[tuple[TableRow, str, str]]:
    """The cells with wrong lines, each with its text for the script of today."""
    lines = {
        name_of(script.path): _lines_of_keys(script)
        for script in script_texts(snapshot)
        if not script.script.problems
    }
    for record in records(snapshot, "compatibility", "script", "rejected"):
        cell = record.text("rejected")
        today = _with_lines(cell, lines.get(record.text("script"), {}))
        if today != cell:
            yield record, "rejected", today


def _with_lines(cell: str, lines: Mapping[str, Collection[int]]) -> str:
    """The rejected settings of a cell with their lines; one that the script lacks keeps its own."""
    items = []
    for item in read_rejected(filter(None, cell.split("; "))):
        now = lines.get(item.key, [item.line])
        if item.line not in now:
            item = item._replace(line=min(now))
        items.append(str(item))
    return "; ".join(items)


def _lines_of_keys(script: ScriptText) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for launch in script.launches:
        found[as_word(launch.module)].add(launch.command.place.line)
        for override in launch.overrides:
            found[as_word(override.key)].add(override.place.line)
    return found


@rule("warning")
def stale_lines(snapshot: Snapshot) -> Iterator[Mistake]:
    """records/compatibility.csv has the current line numbers of each script.

    Stale line numbers point readers to the wrong setting.

    Bad: `57 algorithm.use_kl_in_reward unknown-key` where that key is in line 58
    Good: `58 algorithm.use_kl_in_reward unknown-key`
    """
    reported: set[str] = set()
    for record, column, _ in _stale_cells(snapshot):
        name = record.text("script")
        if name not in reported:
            reported.add(name)
            yield record.mistake_in_words(
                column,
                f"{shown(name, 120)} has changed: these are not its line numbers",
                "Run `rl-resources check --fix`; where settings changed, `rl-resources compat`.",
            )


def fix_stale_lines(snapshot: Snapshot) -> Iterator[Edit]:
    """Write the lines of today."""
    return with_cells(_stale_cells(snapshot))
