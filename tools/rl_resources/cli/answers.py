"""`find`, `coverage` and `diff`: what the dataset says."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError

from rl_resources.cli.command import (
    FOUND,
    Arguments,
    command,
    dataset_of_answers,
    root_of,
    write_table,
)
from rl_resources.query.vocabulary import FILTERS

FIELDS = {
    "model": ("M", "Hugging Face id or its short name; `7B` is read as a size"),
    "size": ("S", "for example 7B"),
    **{name: (None, item.help) for name, item in FILTERS.items()},
    "gpus": ("N", "how many GPUs you have (default: any number)"),
    "device": ("D", "for example h100 or 'A100 80GB'"),
    "memory": ("GB", "of one device, of any vendor, in place of --device"),
    "length": ("TOKENS", "minimum context, prompt and response together, for example 16K"),
}
"""What may be asked, with metavar and help of its option."""


def _find_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    for option, (metavar, help_) in FIELDS.items():
        add(f"--{option.replace('_', '-')}", metavar=metavar, help=help_)
    help_ = "answers in text (default: 10); 0: all"
    add("--limit", type=_count, default=10, metavar="N", help=help_)
    add("--format", choices=["text", "json", "csv"], default="text")


def _count(text: str) -> int:
    """A whole number that is not negative; `argparse` reports any other."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"`{text}` is not a number from 0 on")
    return int(text)


@command(_find_options)
def find(arguments: Arguments) -> int:
    """Show what runs on your hardware, best first, and why."""
    from shutil import get_terminal_size

    from rl_resources.query.find import ask
    from rl_resources.site import answers

    dataset = dataset_of_answers(arguments)
    asked = {name: getattr(arguments, name) or "" for name in FIELDS}
    found, notes = ask(dataset, asked)
    if arguments.format == "json":
        sys.stdout.write(answers.as_json(dataset, found, notes))
    elif arguments.format == "csv":
        write_table(answers.as_csv(found))
        sys.stderr.write(answers.remarks_of_csv(found, notes))
    else:
        text = answers.as_text(
            dataset,
            found,
            notes,
            limit=arguments.limit,
            width=get_terminal_size((100, 24)).columns,
            color=sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        )
        sys.stdout.write(text)
    return 0 if found.answers else FOUND


def _estimate_options(parser: ArgumentParser) -> None:
    from rl_resources.estimate import NUMBERS

    add = parser.add_argument
    add("script", nargs="?", default="", metavar="SCRIPT", help="read, and never run")
    for option in ("gpus", "device", "memory", "task", "weights", "train", "infer"):
        metavar, help_ = FIELDS[option]
        add(f"--{option}", metavar=metavar, help=help_)
    add("--model", metavar="M", help="Hugging Face id, its short name, or a config.json")
    for option, help_ in NUMBERS.items():
        add(f"--{option.replace('_', '-')}", metavar="N", help=help_)
    help_ = "an input of the formula or a key of verl, for example fill=0.5; `--set list` shows all"
    add("--set", action="append", default=[], metavar="KEY=VALUE", help=help_)
    add("--format", choices=["text", "json"], default="text")


@command(_estimate_options)
def estimate(arguments: Arguments) -> int:
    """Estimate the memory of a run, and show what would lower it."""
    from rl_resources.estimate import NUMBERS, WORDS
    from rl_resources.query.estimate import estimate
    from rl_resources.site import answers

    if "list" in arguments.set:
        sys.stdout.write(answers.inputs_as_text())
        return 0
    asked = {name: getattr(arguments, name) or "" for name in (*WORDS, *NUMBERS)}
    found = estimate(dataset_of_answers(arguments), asked, arguments.set, arguments.script)
    forms = {"text": answers.estimate_as_text, "json": answers.estimate_as_json}
    sys.stdout.write(forms[arguments.format](found))
    return 0


def _coverage_options(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json"], default="text")


@command(_coverage_options)
def coverage(arguments: Arguments) -> int:
    """Show what the dataset covers and lacks."""
    from rl_resources.query.coverage import coverage
    from rl_resources.site import answers

    dataset = dataset_of_answers(arguments)
    found = coverage(dataset)
    if arguments.format == "json":
        sys.stdout.write(answers.coverage_as_json(found, dataset.version))
    else:
        sys.stdout.write(answers.coverage_as_text(dataset, found))
    return 0


def _diff_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("old", metavar="OLD", help="a git revision, or a directory with a dataset")
    add("new", nargs="?", metavar="NEW", help="another one (default: the files here)")
    add("--format", choices=["text", "json", "markdown"], default="text")


@command(_diff_options)
def diff(arguments: Arguments) -> int:
    """Show which records differ between two states."""
    from rl_resources.query.diff import diff, read_directory, read_state
    from rl_resources.site import changes

    root = root_of(arguments)
    old = read_state(root, arguments.old)
    new = read_state(root, arguments.new) if arguments.new else read_directory(root)
    found = diff(old, new)
    forms = {"text": changes.as_text, "json": changes.as_json, "markdown": changes.as_markdown}
    sys.stdout.write(forms[arguments.format](found))
    return 0
