"""Rules about the generated table of releases: it speaks of the scripts as they stand today."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.dataset.pairing import LIKENESS
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.check.subject import ScriptText, script_texts
from rl_resources.script.rejected import Rejected, as_word, read_rejected
from rl_resources.words import lines_in_words, shown

TABLE = "compatibility"
COMMAND = "Run `rl-resources compat`, which composes every script with every release"


class Rows:
    """The rows of one script that exists, with the lines that its settings stand in today."""

    def __init__(self, table: Table, rows: list[int], script: ScriptText) -> None:
        self.table, self.rows, self.script = table, rows, script

    @cached_property
    def lines(self) -> Mapping[str, list[int]]:
        """Where each key is written, as the table writes keys."""
        found: dict[str, set[int]] = defaultdict(set)
        for launch in self.script.launches:
            for override in launch.overrides:
                found[as_word(override.key)].add(override.line)
        return {key: sorted(lines) for key, lines in found.items()}

    @cached_property
    def _text(self) -> Sequence[str]:
        return self.script.text.split("\n")

    def stands(self, item: Rejected) -> bool:
        """Whether the key stands in its line, as an override or in any other way."""
        text = self._text
        within = item.line <= len(text) and item.key in text[item.line - 1]
        return within or item.line in self.lines.get(item.key, ())

    def meant(self, item: Rejected) -> Rejected | None:
        """The item with the line of its key today; `None` where that is not one line."""
        if self.stands(item):
            return item
        lines = self.lines.get(item.key, ())
        return item._replace(line=lines[0]) if len(lines) == 1 else None

    def stale(self) -> Iterator[tuple[int, list[Rejected], list[Rejected | None]]]:
        """The rows of which a line is wrong: what they say, and what they would say today."""
        for row in self.rows:
            said = read_rejected(self.table.cell(row, "rejected"))
            meant = [self.meant(item) for item in said]
            if meant != said:
                yield row, said, meant


@lru_cache(maxsize=1)
def rows_of_scripts(snapshot: Snapshot) -> Mapping[str, Rows]:
    """The rows of every script that can be read, by its name; none of a table in doubt."""
    table = snapshot.tables.get(TABLE)
    if table is None or table.lost or not table.rows or "rejected" not in table.columns:
        return {}
    rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(table.columns.get("script", ())):
        if (table.path, row, "rejected") not in broken_keys(snapshot):
            rows[name].append(row)
    texts = {text.path.rpartition("/")[2]: text for text in script_texts(snapshot)}
    return {name: Rows(table, own, texts[name]) for name, own in rows.items() if name in texts}


@rule("warning")
def stale_lines(snapshot: Snapshot) -> Iterator[Mistake]:
    """records/compatibility.csv names the lines in which a script's settings stand.

    Its lines lead a reader to a setting that a release does not take; after an edit of the
    script they lead elsewhere.

    Bad: `57 algorithm.use_kl_in_reward unknown-key` where that key stands in line 58
    Good: `58 algorithm.use_kl_in_reward unknown-key`
    """
    for name, rows in rows_of_scripts(snapshot).items():
        stale = list(rows.stale())
        if not stale:
            continue
        row, said, meant = stale[0]
        item, now = next((old, new) for old, new in zip(said, meant, strict=True) if old != new)
        where = f"stands in line {now.line}" if now else "does not stand there"
        lines = lines_in_words([rows.table.rows[row].line for row, _, _ in stale])
        message = (
            f"the script was edited since: `{shown(item.key, 120)}` of {shown(name, 120)} {where}, "
            f"not in line {item.line} (so in {lines})"
        )
        mend = f"{COMMAND}."
        if all(None not in new for _, _, new in stale):
            mend = (
                "Run `rl-resources check --fix`, which puts the lines right; where settings were "
                "added or taken away, `rl-resources compat` instead."
            )
        place = rows.table.place(row, "rejected")
        yield Mistake(rows.table.path, *place, message, mend)


@rule("warning")
def missing_release(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script that records/compatibility.csv knows has a row for every release there.

    A release that is missing for one script looks as if it had been left out on purpose.

    Bad: rows of a script for verl 0.9.0 and not for 0.9.1, which other scripts have
    Good: rows of a script for the releases that the others have
    """
    every: dict[str, dict[str, None]] = defaultdict(dict)
    own: dict[tuple[str, str], set[str]] = defaultdict(set)
    for rows in rows_of_scripts(snapshot).values():
        for row in rows.rows:
            framework, release = (
                rows.table.cell(row, name) for name in ("framework", "framework_version")
            )
            every[framework][release] = None
            own[rows.script.path.rpartition("/")[2], framework].add(release)
    for (name, framework), releases in own.items():
        missing = [release for release in every[framework] if release not in releases]
        if missing:
            table = snapshot.tables[TABLE]
            message = (
                f"{shown(name, 120)} has no row for {shown(framework)} "
                f"{shown(', '.join(missing[:5]))}{', …' if len(missing) > 5 else ''}"
            )
            first = rows_of_scripts(snapshot)[name].rows[0]
            yield Mistake(table.path, table.rows[first].line, 1, message, f"{COMMAND}.")


@lru_cache(maxsize=64)
def renamed_script(snapshot: Snapshot, old: str) -> str | None:
    """What a script that had rows here is called by now.

    That is the one record without rows here whose name is much like the old one, and in whose
    script the settings stand of which the old rows speak.
    """
    table = snapshot.tables.get(TABLE)
    known = set(table.columns.get("script", ())) if table else set()
    if table is None or old not in known:
        return None
    free = [name for name in snapshot.keys("tuning") if name and name not in known]
    close = difflib.get_close_matches(old, free, n=2, cutoff=LIKENESS)
    texts = {text.path.rpartition("/")[2]: text for text in script_texts(snapshot)}
    broken = {row for path, row, name in broken_keys(snapshot) if name == "rejected"}
    names = enumerate(table.columns["script"])
    rows = [row for row, name in names if name == old and row not in broken]
    fitting = [
        name for name in close if name in texts and not any(Rows(table, rows, texts[name]).stale())
    ]
    return fitting[0] if len(fitting) == 1 else None
