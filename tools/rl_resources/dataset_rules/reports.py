"""Provenance of reports.

Each published figure links to the line that states it, at a commit, and names what contradicts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from rl_resources.dataset_rules.broken import Record, broken_columns, records
from rl_resources.dataset_rules.records import size_of, slug_of
from rl_resources.git import THREAD, permalink
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot
from rl_resources.text import nearest, shown

PLACE = ("source_repo", "source_commit", "source_path", "source_lines")
# Two reports that agree in all of these describe the same configuration.
_CONFIGURATION = (
    *("size", "model", "model_as_published", "task", "task_as_published", "gpus", "gpus_maximum"),
    *("device", "device_as_published", "device_memory_gb", "framework", "framework_as_published"),
    *("framework_version", "train", "train_as_published", "infer", "infer_as_published"),
    *("infer_version", "batch", "batch_unit", "prompts_per_step", "rollout_n"),
    *("max_prompt_length", "max_response_length", "max_total_length", "lora_rank"),
    *("parallelism", "memory_optimizations", "script_path"),
)


@rule()
def source_url(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's URL is the permalink of its repository, commit, path and lines, or a thread.

    A reader must come to the very line that the figure was read from.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/README.md`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/README.md#L12`
    """
    for record in records(snapshot, "reports", *PLACE, "source_url"):
        repo, commit, path, lines = map(record.text, PLACE)
        wanted = permalink(repo, commit, path, lines)
        if missing := _missing(repo, commit, path, lines):
            fix = "Fill repository, commit, path and lines, or leave all four empty for a thread."
            yield record.mistake(missing, ", but the source is a file at a commit", fix)
        elif repo and record.text("source_url") != wanted:
            wrong = ", not the permalink of its repository, commit, path and lines"
            fix = f"Write `{shown(wanted, 400)}`, or fix those columns."
            yield record.mistake("source_url", wrong, fix)
        elif not repo and THREAD.fullmatch(record.text("source_url")) is None:
            fix = f"Fill {', '.join(PLACE)}, or write the URL of an issue or discussion."
            yield record.mistake("source_url", ", neither a permalink nor a thread", fix)


def _missing(repo: str, commit: str, path: str, lines: str) -> str:
    """The column that a file at a commit lacks."""
    if (commit or path) and not repo:
        return "source_repo"
    if repo and not commit:
        return "source_commit"
    return "source_lines" if path and not lines else ""


@rule()
def report_size(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report has the size of its model.

    The size decides on which page a reader finds it.

    Bad: `Qwen/Qwen2.5-7B-Instruct` under `14B`
    Good: `Qwen/Qwen2.5-7B-Instruct` under `7B`
    """
    for record in records(snapshot, "reports", "size", "model"):
        wanted = size_of(snapshot, slug_of(record.text("model")))
        if wanted and record.text("size") != wanted:
            wrong = f", but its model belongs to `{wanted}`"
            yield record.mistake("size", wrong, f"Write `{wanted}`.")


@rule()
def contradiction(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports that contradict each other name each other.

    A reader of one must learn of the other; a disputed figure must never look settled. Of one
    configuration no report may say that it ran and another that it ran out of memory, unless they
    name each other.

    Bad: a report that names another, which does not name it back
    Good: two reports that name each other
    """
    table = snapshot.tables["reports"]
    yield from _unnamed_outcomes(snapshot)
    if table.lost or (table.path, "report") in broken_columns(snapshot):
        return
    reports = {item.text("report"): item for item in records(snapshot, "reports")}
    named = {name: item.text("contradicts").split() for name, item in reports.items()}
    for name, record in reports.items():
        for other in named[name]:
            if other not in named or other == name:
                wrong = f", but `{shown(other, 120)}` is not another report"
                others = (one for one in named if one != name)
                fix = nearest(other, others).sentence() if other != name else ""
                yield record.mistake("contradicts", wrong, fix or "Name the other report, or none.")
            elif name not in named[other] and set(named[other]) <= named.keys():
                line = table.rows[record.row].line
                wrong = f", but `{shown(name, 120)}` in line {line} names this report"
                fix = f"Add `{shown(name, 120)}`."
                yield reports[other].mistake("contradicts", wrong, fix)


def _unnamed_outcomes(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports of one configuration that ran and ran out of memory without naming each other."""
    found: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    table = snapshot.tables["reports"]
    names = [name for name in ("outcome", *_CONFIGURATION) if name in table.columns]
    for row, key in enumerate(table.cells(names)):
        found[key].append(Record(table, row))
    for (outcome, *configuration), failures in [*found.items()]:
        runs = found["ran", *configuration] if outcome == "out-of-memory" else []
        for ran, failed in product(runs, failures):
            both = ran.text("contradicts").split() + failed.text("contradicts").split()
            if not {ran.text("report"), failed.text("report")} & set(both):
                name, line = ran.table.label(ran.row), ran.table.rows[ran.row].line
                wrong = f", but {name} (line {line}) ran with the same configuration"
                fix = "Name each in `contradicts` of the other, or fill the column that differs."
                yield failed.mistake("outcome", wrong, fix)
