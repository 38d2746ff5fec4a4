"""`rl-resources import-page`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from rl_resources.cli import findings
from rl_resources.cli.command import FOUND, Arguments, Command
from rl_resources.cli.dataset import dataset_of_answers


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE.rst")
    parser.add_argument("--scripts", metavar="DIR", help="the scripts that the page links to")
    parser.add_argument("--out", metavar="DIR", help="write DIR/tuning.csv, not standard output")
    parser.add_argument(
        "--format",
        choices=findings.FORMATS,
        default="text",
        help="all but text write the findings to standard output; then --out alone writes CSV",
    )


def _import_page(arguments: Arguments) -> int:
    from rl_resources.output import write_file
    from rl_resources.page.audit import import_page
    from rl_resources.site.findings import summary

    dataset = dataset_of_answers(arguments)
    scripts = Path(arguments.scripts) if arguments.scripts else None
    text, found = import_page(Path(arguments.page), scripts, dataset)
    empty = text.count("\n") <= 1
    if empty:
        message = f"{arguments.page}: no record could be read from it, so none is written"
        print(message, file=sys.stderr)
    elif arguments.out:
        write_file(Path(arguments.out) / "tuning.csv", text)
    if arguments.format == "text":
        sys.stdout.write("" if arguments.out else text)
        return findings.tell(found) or (FOUND if empty else 0)
    findings.write(found, arguments.format, dataset.version)
    sys.stderr.write(f"{summary(found)}\n")
    return FOUND if empty or findings.has_errors(found) else 0


COMMAND = Command(
    "import-page",
    "Hold a hand-kept RST page to its scripts; read it.",
    _options,
    _import_page,
    "page",
)
