"""The rule on the generated table of releases: it matches the scripts as they are today."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.dataset.pairing import LIKENESS
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.check.target import ScriptText, script_texts
from rl_resources.script.framework.history import Rejected, as_word, read_rejected
from rl_resources.words import lines_in_words, shown

TABLE = "compatibility"
COMMAND = "Run `rl-resources compat`, which composes every script with every release."


class StaleRow(NamedTuple):
    """A row with wrong lines: what it says, and what it would say today.

    `None` stands for a key that the script does not have in exactly one line.
    """

    table: Table
    row: int
    said: Sequence[Rejected]
    today: Sequence[Rejected | None]


def stale_rows(snapshot: Snapshot) -> dict[str, list[StaleRow]]:
    """The rows with wrong lines of every script that has any, by its name."""
    found: dict[str, list[StaleRow]] = defaultdict(list)
    for script, rows in _rows_of_scripts(snapshot):
        table, lines = snapshot.tables[TABLE], _lines_of_keys(script)
        for row in rows:
            said = read_rejected(table.cell(row, "rejected"))
            today = [_today(script, lines, item) for item in said]
            if today != said:
                found[_name(script)].append(StaleRow(table, row, said, today))
    return found


def _name(script: ScriptText) -> str:
    return script.path.rpartition("/")[2]


def _rows_of_scripts(snapshot: Snapshot) -> Iterator[tuple[ScriptText, list[int]]]:
    """Every script with its rows; none of a table that cannot be read as a whole."""
    table = snapshot.tables.get(TABLE)
    if table is None or table.lost or "rejected" not in table.columns:
        return
    rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(table.columns.get("script", ())):
        if (table.path, row, "rejected") not in broken_keys(snapshot):
            rows[name].append(row)
    yield from ((text, rows[_name(text)]) for text in script_texts(snapshot) if _name(text) in rows)


def _lines_of_keys(script: ScriptText) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for launch in script.launches:
        for override in launch.overrides:
            found[as_word(override.key)].add(override.line)
    return found


def _today(script: ScriptText, lines: Mapping[str, set[int]], item: Rejected) -> Rejected | None:
    """The item with the line of its key today; `None` where that is not one line."""
    text = script.text.split("\n")
    own = lines.get(item.key, set())
    if item.line in own or (item.line <= len(text) and item.key in text[item.line - 1]):
        return item
    return item._replace(line=min(own)) if len(own) == 1 else None


@rule("warning")
def stale_lines(snapshot: Snapshot) -> Iterator[Mistake]:
    """records/compatibility.csv has the lines and the releases of each script as they are today.

    Its lines lead a reader to a setting that a release does not take, and a release that is missing
    for one script looks as if it had been left out on purpose.

    Bad: `57 algorithm.use_kl_in_reward unknown-key` where that key stands in line 58
    Good: `58 algorithm.use_kl_in_reward unknown-key`
    """
    for name, stale in stale_rows(snapshot).items():
        table, row, said, today = stale[0]
        item, now = next((old, new) for old, new in zip(said, today, strict=True) if old != new)
        where = f"stands in line {now.line}" if now else "does not stand there"
        lines = lines_in_words([table.rows[each.row].line for each in stale])
        message = (
            f"the script was edited since: `{shown(item.key, 120)}` of {shown(name, 120)} {where}, "
            f"not in line {item.line} (so in {lines})"
        )
        fix = (
            "Run `rl-resources check --fix`, which puts the lines right; where settings were "
            "added or taken away, `rl-resources compat` instead."
        )
        certain = all(None not in each.today for each in stale)
        yield table.mistake(row, "rejected", message, fix if certain else COMMAND)
    yield from _missing_releases(snapshot)


def _missing_releases(snapshot: Snapshot) -> Iterator[Mistake]:
    """Releases that a script has no row for, though other scripts have."""
    table = snapshot.tables.get(TABLE)
    if table is None:
        return
    rows = {_name(script): rows for script, rows in _rows_of_scripts(snapshot)}
    own = {name: [_release(table, row) for row in found] for name, found in rows.items()}
    every = dict.fromkeys(release for releases in own.values() for release in releases)
    for name, releases in own.items():
        frameworks = {framework for framework, _ in releases}
        known = [release for release in every if release[0] in frameworks]
        if missing := [" ".join(release) for release in known if release not in releases]:
            message = f"{shown(name, 120)} has no row for {shown(', '.join(missing), 120)}"
            yield Mistake(table.path, table.rows[rows[name][0]].line, 1, message, COMMAND)


def _release(table: Table, row: int) -> tuple[str, str]:
    return table.cell(row, "framework"), table.cell(row, "framework_version")


@lru_cache(maxsize=64)
def renamed_script(snapshot: Snapshot, old: str) -> str | None:
    """What a script that has rows here is called today.

    That is the one record without rows here whose name is much like the old one.
    """
    table = snapshot.tables.get(TABLE)
    known = set(table.columns.get("script", ())) if table else set()
    free = [name for name in snapshot.keys("tuning") if name and name not in known]
    close = difflib.get_close_matches(old, free, n=2, cutoff=LIKENESS) if old in known else []
    return close[0] if len(close) == 1 else None
