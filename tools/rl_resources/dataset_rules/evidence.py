"""Evidence: a measured run has a figure, a step time its statistic, a run one set of facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rl_resources import git
from rl_resources.certainty import FIGURES, MEASURED_RUN, STATED_RUN
from rl_resources.facts import TableRow, broken_columns, records, runs
from rl_resources.facts.comparison import SPEEDS, same_runs
from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import TABLES_OF_RUNS, Snapshot, Table
from rl_resources.text import nearest, quoted, shown


@rule(follows=["untested-figure"])
def measured_figure(snapshot: Snapshot) -> Iterator[Mistake]:
    """A measured run has a time, a throughput or a memory figure in its own row.

    Readers trust measurements most, and without a figure nothing was measured.

    Bad: `measured-run` with empty `step_seconds`, `tokens_per_second_per_gpu` and `peak_memory_gb`
    Good: `measured-run` with `360` as `step_seconds`, or `stated-run`
    """
    for resource in TABLES_OF_RUNS:
        figures = _figures(snapshot.tables[resource])
        for record in records(snapshot, resource, "statement", *figures):
            if record.text("statement") == MEASURED_RUN and not any(
                map(record.text, figures)
            ):
                columns = quoted(figures, "or")
                yield record.mistake(
                    "statement",
                    ", but the row has no figure",
                    f"Fill {columns} from the source, or write `stated-run`.",
                )


def _figures(table: Table) -> list[str]:
    """The columns of a table that can make a run a measured one."""
    return [name for name in FIGURES if name in table.schema.names]


@rule(follows=["untested-figure"])
def step_statistic(snapshot: Snapshot) -> Iterator[Mistake]:
    """A step time says which statistic it is; a row without a step time says nothing.

    A mean with warm-up steps is slower than a median, and a single step can be anything.

    Bad: `93.5` as `step_seconds` with empty `step_seconds_statistic`
    Good: `93.5` as `step_seconds` with `unknown` where the source does not say what it is
    """
    name = "step_seconds_statistic"
    for record in runs(snapshot, "step_seconds", name):
        seconds = record.text("step_seconds")
        statistic = record.text(name)
        if seconds and not statistic:
            words = quoted(record.table.schema.field(name).words, "or")
            yield record.mistake(
                name,
                f", but step_seconds is `{shown(seconds)}`",
                f"Write {words}, as the source says it.",
                [record.place("step_seconds")],
            )
        if statistic and not seconds:
            yield record.mistake(
                name,
                ", but step_seconds is empty",
                "Leave it empty, or fill `step_seconds`.",
            )


_TABLE = table_beside(__file__)
_SHARED: Sequence[str] = _TABLE["shared"]
_COMPARED = ("model", "gpus", "statement", "scenario", *SPEEDS, *_SHARED)


@rule("warning", exemptable=True)
def same_evidence(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record and a report with the same evidence agree.

    One source says one thing about a run, so if two cells differ, one of them is wrong.

    Bad: `5` as `rollout_n` of a record, `8` in the report of the same line of the same source
    Good: the figure of the source in both, or an exemption where one line is about two runs

    Speeds may be different statistics. A report that cites the source of a script only, and not
    the record's evidence, may have another statement.
    """
    recorded = records(snapshot, "tuning", "source", "evidence", *_COMPARED)
    reports = records(snapshot, "reports", "source_url", "outcome", *_COMPARED)
    ran = [report for report in reports if report.text("outcome") == "ran"]
    for record, report in same_runs(recorded, ran, TableRow.text):
        for name in ("statement", "scenario", *_SHARED):
            if _differ(record, report, name):
                yield _contradiction(record, report, name)


def _contradiction(record: TableRow, report: TableRow, name: str) -> Mistake:
    """The mistake at the cell of the record, although either cell may be wrong."""
    theirs = report.text(name)
    value = f"`{shown(theirs)}`" if theirs else "nothing"
    label = shown(report.text("report"), 120)
    url = shown(report.text("source_url"), 500)
    return record.mistake(
        name,
        f", but `{label}` of the same run has {value}",
        f"Correct the one that differs from {url}.",
    )


def _differ(record: TableRow, report: TableRow, name: str) -> bool:
    """Whether a record and a report of the same run cannot both be right."""
    ours = record.text(name)
    theirs = report.text(name)
    match name:
        case "scenario":
            return ours != theirs  # empty is RL on text
        case "statement" if not _has_same_basis(record, report):
            return False
        case "infer_version":
            theirs = theirs.removeprefix("v")  # a report has it as published
    return "" not in (ours, theirs) and ours != theirs


def _has_same_basis(record: TableRow, report: TableRow) -> bool:
    """Whether the statement of a report must be that of its record.

    A report may be measured, and its record not, by a figure that records have no column for.
    """
    if report.text("source_url") != (record.text("evidence") or record.text("source")):
        return False
    statements = {record.text("statement"), report.text("statement")}
    if statements != {MEASURED_RUN, STATED_RUN}:
        return True
    return any(map(report.text, _figures(record.table)))


@rule()
def provenance(snapshot: Snapshot) -> Iterator[Mistake]:
    """A record that ran has a real contributor or a source.

    Nobody can be asked about an anonymous record, and a placeholder is not a person.

    Bad: empty `contributor` and empty `source`; `your-handle` as `contributor`
    Good: a handle as `contributor`
    """
    for record in records(snapshot, "tuning", "contributor", "status", "source"):
        contributor = record.text("contributor")
        is_known = (
            contributor or record.text("source") or record.text("status") == "untested"
        )
        if not is_known or contributor.lower() in _TABLE["placeholders"]:
            yield record.mistake(
                "contributor",
                ", which names nobody",
                "Write your public handle, or leave it empty where the record has a source.",
            )


_BRANCH = re.compile(
    r"https://(?:github\.com|gitlab\.com|huggingface\.co)/(?:datasets/)?[^/]+/[^/]+/(?:-/)?"
    r"(?:blob|tree|raw|blame|resolve)/(?![0-9a-f]{7,64}/)(?P<branch>[^/]+)"
    r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/(?![0-9a-f]{7,64}/)(?P<raw>[^/]+)"
)


@rule("warning")
def permalink(snapshot: Snapshot) -> Iterator[Mistake]:
    """The source and evidence of a record link to a commit, not to a branch.

    A branch changes: next month the URL shows other figures, or nothing.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/PATH`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/PATH`, COMMIT of 40 hexadecimal
        digits
    """
    for name in ("evidence", "source"):
        for record in records(snapshot, "tuning", name):
            match = _BRANCH.match(record.text(name))
            if match:
                branch = shown(match["branch"] or match["raw"])
                yield record.mistake(
                    name,
                    f", which follows the branch `{branch}`",
                    f"Write the commit instead of `{branch}`: on GitHub, press `y`.",
                )


_PLACE: Sequence[str] = _TABLE["place"]


@rule()
def source_url(snapshot: Snapshot) -> Iterator[Mistake]:
    """The URL of a report is a thread, or the permalink built from its repository, commit, path and
    lines.

    Readers must land on the exact line that states the figure.

    Bad: `https://github.com/OWNER/REPOSITORY/blob/main/README.md`
    Good: `https://github.com/OWNER/REPOSITORY/blob/COMMIT/README.md#L12`
    """
    for record in records(snapshot, "reports", *_PLACE, "source_url"):
        wanted = _wanted_permalink(record)
        if record.text("source_url") == wanted or _is_thread_alone(record):
            continue
        fix = f"Fill {', '.join(_PLACE)}, or write the URL of an issue or discussion alone."
        if wanted:
            fix = f"Write `{shown(wanted, 400)}`, or fix those columns."
        yield record.mistake(
            "source_url",
            ", not the permalink of its repository, commit, path and lines, nor a thread",
            fix,
        )


def _wanted_permalink(report: TableRow) -> str:
    """The permalink built from a report's source; empty if something is missing for it."""
    repo, commit, path, lines = map(report.text, _PLACE)
    if not repo or not commit:
        return ""
    if path and not lines:
        return ""
    return git.permalink(repo, commit, path, lines)


def _is_thread_alone(report: TableRow) -> bool:
    """Whether a report's source is a thread and not a file."""
    if any(map(report.text, _PLACE[:3])):
        return False
    return git.THREAD.fullmatch(report.text("source_url")) is not None


@rule()
def contradiction(snapshot: Snapshot) -> Iterator[Mistake]:
    """Reports that contradict each other refer to each other.

    Readers of one report must learn about the other: a disputed figure must never look settled.

    Bad: a report that names another, which does not name it back
    Good: two reports that name each other
    """
    table = snapshot.tables["reports"]
    if table.lost or (table.path, "report") in broken_columns(snapshot):
        return
    reports = {}
    named = {}
    for report in records(snapshot, "reports"):
        name = report.text("report")
        reports[name] = report
        named[name] = report.text("contradicts").split()
    for name, others in named.items():
        for other in others:
            back = named.get(other, ())
            if other == name or other not in named:
                yield _not_another(reports[name], other, sorted(named.keys() - {name}))
            # A report that names an unknown one is fixed first: it may mean this one.
            elif name not in back and named.keys() >= set(back):
                yield _not_named_back(reports[other], name)


def _not_another(report: TableRow, named: str, others: Sequence[str]) -> Mistake:
    """The mistake of a report that names itself or one that does not exist."""
    return report.mistake(
        "contradicts",
        f", but `{shown(named, 120)}` is not another report",
        nearest(named, others).sentence() or "Name another report.",
    )


def _not_named_back(report: TableRow, by: str) -> Mistake:
    """The mistake of a report that does not name the one that names it."""
    name = shown(by, 120)
    return report.mistake(
        "contradicts",
        f", but `{name}` names this report",
        f"Add `{name}`.",
    )
