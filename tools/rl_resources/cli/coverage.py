"""`rl-resources coverage`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import Arguments, Command
from rl_resources.cli.dataset import dataset_of_answers


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json", "csv"], default="text")


def _coverage(arguments: Arguments) -> int:
    from rl_resources.answer.coverage import coverage
    from rl_resources.render import coverage as form

    dataset = dataset_of_answers(arguments)
    found = coverage(dataset)
    texts = {
        "text": lambda: form.as_text(dataset, found),
        "json": lambda: form.as_json(dataset, found),
        "csv": lambda: form.as_csv(found),
    }
    sys.stdout.write(texts[arguments.format]())
    return 0


COMMAND = Command("coverage", "Say what the dataset holds and lacks.", _options, _coverage)
