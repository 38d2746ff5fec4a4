"""Rules about where a published figure comes from, and what contradicts it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.dataset.tables import sizes_by_parameters
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.urls import THREAD, permalink
from rl_resources.words import nearest, shown

PLACE = ("source_repo", "source_commit", "source_path", "source_lines")
# Two reports that agree in all of these speak of the same configuration.
_CONFIGURATION = (
    *("size", "model", "model_as_published", "task", "task_as_published", "gpus", "gpus_maximum"),
    *("device", "device_as_published", "device_memory_gb", "framework", "framework_as_published"),
    *("framework_version", "train", "train_as_published", "infer", "infer_as_published"),
    *("infer_version", "batch", "batch_unit", "prompts_per_step", "rollout_n"),
    *("max_prompt_length", "max_response_length", "max_total_length", "lora_rank"),
    *("parallelism", "memory_optimizations", "script_path"),
)


@rule()
def source_address(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's address is the permalink of its repository, commit, path and lines, or a thread.

    A reader must come to the very line that the figure was read from.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/README.md`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/README.md#L12`
    """
    table = snapshot.tables["reports"]
    for row, url in enumerate(table.columns.get("source_url", ())):
        if _is_broken(snapshot, table, row, (*PLACE, "source_url")):
            continue
        repo, commit, path, lines = (table.cell(row, name) for name in PLACE)
        label = table.label(row)
        if bool(repo) != bool(commit) or (path and not repo) or (path and not lines):
            blank = "source_lines" if repo and commit else _blank_of(repo, commit)
            yield table.mistake(
                row,
                blank,
                f"{blank} of {label} is blank, but the source is a file at a commit",
                "Fill repository, commit, path and lines, or leave all four blank for a thread.",
            )
        elif repo and url != (wanted := permalink(repo, commit, path, lines)):
            yield table.mistake(
                row,
                "source_url",
                f"source_url of {label} is `{shown(url, 200)}`, which is not the permalink "
                "of its repository, commit, path and lines",
                f"Write `{shown(wanted, 400)}`, or fix those columns.",
            )
        elif not repo and THREAD.fullmatch(url) is None:
            yield table.mistake(
                row,
                "source_url",
                f"source_url of {label} is `{shown(url, 200)}`, which is neither a permalink "
                "nor a thread",
                "Fill source_repo, source_commit, source_path and source_lines, "
                "or give the address of an issue, a pull request or a discussion.",
            )


def _blank_of(repo: str, commit: str) -> str:
    return "source_commit" if repo and not commit else "source_repo"


def _is_broken(snapshot: Snapshot, table: Table, row: int, names: Sequence[str]) -> bool:
    broken = broken_keys(snapshot)
    return bool(broken) and any((table.path, row, name) in broken for name in names)


@rule()
def report_size(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report stands in the size of its model.

    The size decides on which page a reader finds it.

    Bad: `Qwen/Qwen2.5-7B-Instruct` under `14B`
    Good: `Qwen/Qwen2.5-7B-Instruct` under `7B`
    """
    table, models = snapshot.tables["reports"], snapshot.tables["models"]
    for row, size in enumerate(table.columns.get("size", ())):
        model = table.cell(row, "model")
        known = snapshot.keys("models").get(model) if model else None
        if known is None or _is_broken(snapshot, table, row, ("size", "model")):
            continue
        wanted = models.cell(known, "size")
        fitting = sizes_by_parameters(snapshot, known)
        doubtful = wanted not in snapshot.keys("sizes") or (fitting and wanted not in fitting)
        if size != wanted and not doubtful:
            is_now = f"is `{shown(size)}`" if size else "is blank"
            yield table.mistake(
                row,
                "size",
                f"size of {table.label(row)} {is_now}, but its model belongs to `{wanted}`",
                f"Write `{wanted}`.",
            )


@rule()
def contradiction(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports that contradict each other name each other.

    Whoever reads one must learn of the other; a disputed figure must never look settled. Of one
    configuration no report may say that it ran and another that it ran out of memory, unless they
    name each other.

    Bad: a report that names another, which does not name it back
    Good: two reports that name each other
    """
    table = snapshot.tables["reports"]
    ids = table.columns.get("report", ())
    named = {
        name: frozenset(table.cell(row, "contradicts").split()) for row, name in enumerate(ids)
    }
    yield from _unnamed_outcomes(table, named)
    broken = any((table.path, row, "report") in broken_keys(snapshot) for row, _ in enumerate(ids))
    if table.lost or broken:
        return
    for row, name in enumerate(ids):
        for other in named[name]:
            if other not in named or other == name:
                message = f"contradicts of {table.label(row)} names `{shown(other, 120)}`, "
                message += f"which is {'itself' if other == name else 'no report'}"
                close = nearest(other, named).sentence() if other != name else ""
                fix = close or "Name the other report, or none."
                yield table.mistake(row, "contradicts", message, fix)
            elif name not in named[other] and named[other] <= named.keys():
                back = snapshot.keys("reports")[other]
                message = f"contradicts of {table.label(back)} does not name `{shown(name, 120)}`, "
                message += f"which names it in line {table.place(row, 'report')[0]}"
                yield table.mistake(back, "contradicts", message, f"Add `{shown(name, 120)}`.")


def _unnamed_outcomes(table: Table, named: Mapping[str, frozenset[str]]) -> Iterator[Mistake]:
    """Reports of one configuration that ran and ran out of memory without naming each other."""
    outcomes: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (outcome, *key) in enumerate(table.cells(("outcome", *_CONFIGURATION))):
        outcomes[tuple(key)][outcome].append(row)
    for found in outcomes.values():
        for ran, failed in product(found.get("ran", ()), found.get("out-of-memory", ())):
            one, other = table.cell(ran, "report"), table.cell(failed, "report")
            if other not in named[one] and one not in named[other]:
                yield table.mistake(
                    failed,
                    "outcome",
                    f"{table.label(failed)} ran out of memory and {table.label(ran)} "
                    f"(line {table.place(ran, 'report')[0]}) ran, with the same configuration",
                    "Write each one's id as contradicts of the other, "
                    "or fill the column in which they differ.",
                )
