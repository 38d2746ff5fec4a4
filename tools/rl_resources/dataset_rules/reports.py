"""Provenance of reports.

Each published figure links to the line that states it, at a commit, and names what contradicts it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.dataset_rules.broken import broken_columns, records
from rl_resources.git import THREAD, permalink
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot
from rl_resources.text import nearest, shown

PLACE = ("source_repo", "source_commit", "source_path", "source_lines")


@rule()
def source_url(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's URL is the permalink of its repository, commit, path and lines, or a thread.

    A reader must come to the very line that the figure was read from.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/README.md`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/README.md#L12`
    """
    for record in records(snapshot, "reports", *PLACE, "source_url"):
        repo, commit, path, lines = map(record.text, PLACE)
        whole = repo and commit and (lines or not path)
        wanted = permalink(repo, commit, path, lines) if whole else ""
        thread = THREAD.fullmatch(record.text("source_url")) and not (repo or commit or path)
        if record.text("source_url") != wanted and not thread:
            wrong = ", not the permalink of its repository, commit, path and lines, nor a thread"
            fix = f"Fill {', '.join(PLACE)}, or write the URL of an issue or discussion alone."
            fix = f"Write `{shown(wanted, 400)}`, or fix those columns." if wanted else fix
            yield record.mistake("source_url", wrong, fix)


@rule()
def contradiction(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports that contradict each other name each other.

    A reader of one must learn of the other; a disputed figure must never look settled.

    Bad: a report that names another, which does not name it back
    Good: two reports that name each other
    """
    table = snapshot.tables["reports"]
    if table.lost or (table.path, "report") in broken_columns(snapshot):
        return
    reports = {item.text("report"): item for item in records(snapshot, "reports")}
    named = {name: item.text("contradicts").split() for name, item in reports.items()}
    for name, record in reports.items():
        for other in named[name]:
            if other not in named or other == name:
                wrong = f", but `{shown(other, 120)}` is not another report"
                others = sorted(named.keys() - {name})
                fix = nearest(other, others).sentence() or "Name another report."
                yield record.mistake("contradicts", wrong, fix)
            elif name not in named[other] and set(named[other]) <= named.keys():
                line = table.rows[record.row].line
                wrong = f", but `{shown(name, 120)}` in line {line} names this report"
                fix = f"Add `{shown(name, 120)}`."
                yield reports[other].mistake("contradicts", wrong, fix)
