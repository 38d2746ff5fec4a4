"""What contributors need: `check`, `fmt`, `new`, `draft`, `import-page`, `rules`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.cli import (
    FOUND,
    Arguments,
    among,
    command,
    dataset_of_answers,
    report,
    root_of,
    show,
    write_findings,
)
from rl_resources.errors import Finding, InvalidDataset, UnusableInput
from rl_resources.files import write_file
from rl_resources.package import read_package
from rl_resources.text import nearest, printable

if TYPE_CHECKING:
    from rl_resources.check import Asked
    from rl_resources.rule import Rule
    from rl_resources.snapshot import Snapshot


@command()
def check(arguments: Arguments) -> int:
    """Validate dataset and scripts against all rules."""
    from rl_resources.check import chosen_rules, findings_in
    from rl_resources.snapshot import take_snapshot

    rules = chosen_rules(arguments.select, arguments.ignore)
    try:
        package = read_package(root_of(arguments))
    except InvalidDataset as error:
        return write_findings(error.findings, arguments, None)
    snapshot = take_snapshot(package)
    if arguments.resource:
        return _check_records(arguments, snapshot, rules)
    asked = among(package, arguments.paths)
    if arguments.fix:
        snapshot = _fixed(snapshot, rules, asked)
    found = findings_in(snapshot, rules, asked)
    scripts = [script for script in snapshot.scripts if script.name.endswith(".sh")]
    looked_at = {"record": len(snapshot.tables["tuning"].rows), "script": len(scripts)}
    status = write_findings(found, arguments, package, looked_at)
    has_warnings = any(item.severity == "warning" for item in found)
    if has_warnings and not arguments.strict:
        print(
            "CI fails on warnings too: `rl-resources check --strict`.", file=sys.stderr
        )
    reported = {item.rule for item in found}
    fixable = [rule for rule in rules if rule.fixer and rule.name in reported]
    if not arguments.fix and _would_fix(snapshot, fixable, asked):
        print(
            "`rl-resources check --fix` applies the fixes that are certain.",
            file=sys.stderr,
        )
    return status


def _fixed(snapshot: Snapshot, rules: Sequence[Rule], asked: Asked) -> Snapshot:
    """The dataset after all fixes that are certain, which are written and listed."""
    from rl_resources.contribute import changes_between, fix, write_changes

    fixed = fix(snapshot, rules, asked)
    changes = list(changes_between(snapshot, fixed.snapshot))
    write_changes(snapshot.package.root, changes)
    sys.stderr.writelines(f"{line}\n" for line in fixed.done)
    return fixed.snapshot


def _would_fix(snapshot: Snapshot, rules: Sequence[Rule], asked: Asked) -> bool:
    """Whether one of these rules fixes anything."""
    from rl_resources.contribute import fix

    return bool(rules and fix(snapshot, rules, asked).done)


def _check_records(
    arguments: Arguments, snapshot: Snapshot, rules: Sequence[Rule]
) -> int:
    """Validate files of records from anywhere against one of the tables."""
    from rl_resources.check.records_file import RecordsFile

    if arguments.fix or not arguments.paths:
        raise UnusableInput(
            "--resource is for files of records, which --fix leaves alone",
            "Name the files, and leave out --fix.",
        )
    name = arguments.resource
    if name not in snapshot.tables:
        close = nearest(name, snapshot.tables).sentence()
        raise UnusableInput(
            f"--resource: {name!r} is not a table of the dataset", close
        )
    table = snapshot.tables[name]
    found: list[Finding] = []
    records = 0
    for path in arguments.paths:
        file = RecordsFile(snapshot, table, Path(path), rules)
        found += file.findings()
        records += file.records
    return write_findings(found, arguments, snapshot.package, {"record": records})


@command()
def fmt(arguments: Arguments) -> int:
    """Write the CSV files in canonical form."""
    from rl_resources.contribute import changes_between, formatted, write_changes
    from rl_resources.snapshot import take_snapshot

    snapshot = take_snapshot(read_package(root_of(arguments)))
    after, left = formatted(snapshot, among(snapshot.package, arguments.paths))
    changes = list(changes_between(snapshot, after))
    if arguments.check:
        done = "would be rewritten"
        lines = "".join(change.diff() for change in changes).split("\n")
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines[:-1])
    else:
        done = "rewritten"
        write_changes(snapshot.package.root, changes)
    for change in changes:
        print(f"{change.path}: {done}", file=sys.stderr)
    for path in left:
        print(f"{path}: left alone, `rl-resources check` says why", file=sys.stderr)
    if left or (arguments.check and changes):
        return FOUND
    return 0


REQUIRED = ("model", "task", "gpus", "device", "train", "infer")
"""What `new` needs."""


@command(dict.fromkeys(REQUIRED, "required"))
def new(arguments: Arguments) -> int | str:
    """Write a script that nobody has run yet, and its row."""
    from rl_resources.contribute.new import listed_words, new, next_step

    if arguments.question:
        return listed_words(root_of(arguments))
    given = {}
    for name in (*REQUIRED, "tag", "contributor"):
        text = getattr(arguments, name).strip()
        if text:
            given[name] = text
    try:
        drafted = new(root_of(arguments), given)
    except InvalidDataset as error:
        report(error.findings)
        print("new: Nothing was written: change what you ask for.", file=sys.stderr)
        return FOUND
    sys.stderr.write(next_step(drafted.record))
    return "".join(f"{change.path}\n" for change in drafted.changes)


@command()
def draft(arguments: Arguments) -> int:
    """Propose the row of a script that ran."""
    from rl_resources.contribute.draft import draft

    drafted = draft(
        root_of(arguments),
        arguments.script,
        log=arguments.log,
        issue=arguments.issue,
        stated=arguments.set,
        write=arguments.write,
    )
    for line in drafted.messages():
        print(f"draft: {printable(line)}", file=sys.stderr)
    show(drafted.findings)
    print(f"draft: {drafted.verdict()}", file=sys.stderr)
    sys.stdout.write(drafted.record.as_csv())
    return FOUND if arguments.write and drafted.refused else 0


@command()
def import_page(arguments: Arguments) -> int:
    """Check a hand-kept page (RST or Markdown) and its scripts; write its records."""
    from rl_resources.check.page_audit import import_page

    dataset = dataset_of_answers(arguments)
    scripts = Path(arguments.scripts) if arguments.scripts else None
    page = Path(arguments.page)
    text, found, notes = import_page(page, scripts, dataset, style=arguments.style)
    sys.stderr.write("".join(f"{line}\n" for line in notes))
    has_records = text.count("\n") > 1
    if arguments.out and has_records and not arguments.check:
        write_file(Path(arguments.out) / "tuning.csv", text)
    if arguments.format != "text":
        return write_findings(found, arguments, dataset.package)
    if not arguments.out and not arguments.check:
        sys.stdout.write(text)
    return report(found)


@command()
def rules(arguments: Arguments) -> str:
    """List the rules, or explain one."""
    from rl_resources.check import chosen_rules

    if arguments.name:
        (rule,) = chosen_rules([arguments.name])
        why = f"  why:  {rule.reason}\n  bad:  {rule.bad}\n  good: {rule.good}\n"
        return f"{_title(rule)}{why}"
    return "".join(map(_title, chosen_rules()))


def _title(rule: Rule) -> str:
    fixable = ", fixable" if rule.fixer else ""
    return f"{rule.name} ({rule.severity}{fixable}): {rule.summary}\n"
