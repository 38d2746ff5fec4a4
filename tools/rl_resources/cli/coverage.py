"""`rl-resources coverage`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import Arguments, Command, dataset_of_answers, write_table


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json", "csv"], default="text")


def _coverage(arguments: Arguments) -> int:
    from rl_resources.query.coverage import coverage
    from rl_resources.site import answers

    dataset = dataset_of_answers(arguments)
    found = coverage(dataset)
    if arguments.format == "csv":
        write_table(answers.coverage_as_csv(found))
    elif arguments.format == "json":
        sys.stdout.write(answers.coverage_as_json(found, dataset.version))
    else:
        sys.stdout.write(answers.coverage_as_text(found))
    return 0


COMMAND = Command("coverage", "Show what the dataset holds and lacks.", _options, _coverage)
