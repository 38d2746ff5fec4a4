"""`rl-resources fmt`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import FOUND, Arguments, Command
from rl_resources.cli.dataset import root_of
from rl_resources.cli.paths import among


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these files")
    parser.add_argument(
        "--check", action="store_true", help="show what would change, change nothing"
    )


def _fmt(arguments: Arguments) -> int:
    from rl_resources.check.dataset.form import format_tables, unformattable
    from rl_resources.check.snapshot import take_snapshot
    from rl_resources.contribute.changes import Change, write_changes
    from rl_resources.package import read_package
    from rl_resources.site.findings import shown_diff

    root = root_of(arguments)
    snapshot = take_snapshot(read_package(root))
    asked = among(snapshot.package, arguments.paths)
    left = [path for path in unformattable(snapshot) if asked(path)]
    tables = {table.path: table for table in snapshot.tables.values()}
    changes = [
        Change(path, tables[path].data, text.encode("utf-8"))
        for path, text in format_tables(snapshot).items()
        if asked(path)
    ]
    if arguments.check:
        sys.stdout.write(shown_diff("".join(change.diff() for change in changes)))
    else:
        write_changes(root, changes)
    for change in changes:
        done = "would be rewritten" if arguments.check else "rewritten"
        print(f"{change.path}: {done}", file=sys.stderr)
    for path in left:
        message = f"{path}: left alone, because it cannot be read; `rl-resources check` says why"
        print(message, file=sys.stderr)
    return FOUND if left or (arguments.check and changes) else 0


COMMAND = Command("fmt", "Write the CSV files in canonical form.", _options, _fmt)
