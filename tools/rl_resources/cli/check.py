"""`rl-resources check`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.cli import findings
from rl_resources.cli.command import FOUND, Arguments, Command
from rl_resources.cli.dataset import root_of
from rl_resources.cli.paths import among
from rl_resources.errors import UnusableInput

if TYPE_CHECKING:
    from rl_resources.check import Rule
    from rl_resources.check.snapshot import Snapshot
    from rl_resources.finding import Finding, Severity

MOST_COUNTED = 1000


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="tell only about these files")
    parser.add_argument(
        "--resource",
        metavar="TABLE",
        default="",
        help="hold the paths, CSV or Parquet from anywhere, to this table: cells and keys alone",
    )
    parser.add_argument("--format", choices=findings.FORMATS, default="text")
    parser.add_argument("--select", type=_names, default=[], metavar="R,…", help="only these rules")
    parser.add_argument("--ignore", type=_names, default=[], metavar="R,…", help="not these rules")
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    parser.add_argument("--fix", action="store_true", help="make the mends that are certain first")


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check(arguments: Arguments) -> int:
    from rl_resources.check import chosen_rules, findings_in
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.package import read_package
    from rl_resources.site.findings import summary

    snapshot = take_snapshot(read_package(root_of(arguments)))
    rules = chosen_rules(arguments.select, arguments.ignore)
    if arguments.resource or any(path.endswith(".parquet") for path in arguments.paths):
        return _check_records(arguments, snapshot, rules)
    asked = among(snapshot.package, arguments.paths)
    if arguments.fix:
        snapshot = _fixed(snapshot, rules, asked)
    found = findings_in(snapshot, rules, asked)
    findings.write(found, arguments.format, snapshot.package.version)
    looked_at = {
        "record": len(snapshot.tables["tuning"].rows),
        "script": len(snapshot.scripts),
    }
    sys.stderr.write(f"{summary(found, looked_at)}\n")
    if not arguments.fix and (words := _fixable(snapshot, rules, asked, found)):
        sys.stderr.write(f"{words} mended by `rl-resources check --fix`.\n")
    return _status(arguments, {item.severity for item in found})


def _check_records(arguments: Arguments, snapshot: Snapshot, rules: Sequence[Rule]) -> int:
    """Hold files of records that lie anywhere to the tables that they are like."""
    from rl_resources.check.records import judge_records, table_of
    from rl_resources.site.findings import counted

    if arguments.fix or not arguments.paths:
        raise UnusableInput(
            "--resource is for files of records, which --fix leaves alone",
            "Name the files, and leave out --fix.",
        )
    tables = [
        (path, table_of(snapshot, path, arguments.resource)) for path in map(Path, arguments.paths)
    ]
    judged = [judge_records(snapshot, table, path, rules) for path, table in tables]
    counts: Counter[tuple[Severity, str]] = Counter()

    def noted() -> Iterator[Finding]:
        for finding in chain.from_iterable(of_file.findings for of_file in judged):
            counts[finding.severity, finding.path] += 1
            yield finding

    findings.write(noted(), arguments.format, snapshot.package.version)
    looked_at = {"record": sum(of_file.records for of_file in judged)}
    sys.stderr.write(f"{counted(counts, looked_at)}\n")
    return _status(arguments, {severity for severity, _ in counts})


def _status(arguments: Arguments, severities: Set[Severity]) -> int:
    wrong = {"error", "warning"} if arguments.strict else {"error"}
    return FOUND if severities & wrong else 0


def _fixed(snapshot: Snapshot, rules: Sequence[Rule], asked: Callable[[str], bool]) -> Snapshot:
    """Write the mends that are certain, say what they are, and read all files anew."""
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.contribute.changes import write_changes
    from rl_resources.contribute.fix import fix

    fixed = fix(snapshot, rules, asked)
    write_changes(snapshot.package.root, fixed.changes)
    for line in fixed.done:
        print(line, file=sys.stderr)
    return take_snapshot(snapshot.package)


def _fixable(
    snapshot: Snapshot,
    rules: Sequence[Rule],
    asked: Callable[[str], bool],
    found: Sequence[Finding],
) -> str:
    """How many findings `--fix` would leave less, in words; blank where there are none.

    To know that all rules look again at what the fixers leave; of many it is not asked.
    """
    if not {item.rule for item in found} & {rule.name for rule in rules if rule.fixable}:
        return ""
    if len(found) > MOST_COUNTED:
        return "Those of which the mend is certain are"
    from rl_resources.check import findings_in
    from rl_resources.contribute.fix import fix

    left = findings_in(fix(snapshot, rules, asked).snapshot, rules, asked)
    count = max(0, len(found) - len(left))
    return {0: "", 1: "1 of them is"}.get(count, f"{count} of them are")


COMMAND = Command("check", "Hold dataset and scripts to all rules.", _options, _check, "check")
