"""`new` and `draft`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import FOUND, Arguments, command, root_of, show, write_table
from rl_resources.text import printable

EXAMPLES = {
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "task": "GRPO",
    "gpus": "8",
    "device": "h100",
    "train": "fsdp",
    "infer": "vllm",
    "tag": "MIN or RECOMMENDED",
}


def _new_options(parser: ArgumentParser) -> None:
    parser.usage = "%(prog)s --model … --task … --gpus … --device … --train … --infer … --tag …"
    required = parser.add_argument_group("required", "the word ? lists what an option can be")
    for option, example in EXAMPLES.items():
        required.add_argument(f"--{option}", metavar=option.upper(), help=f"for example {example}")
    add = parser.add_argument_group("optional").add_argument
    add("question", nargs="?", choices=["?"], metavar="?", help="list the words of all options")
    add("--nodes", metavar="N", help="machines (default: of 8 GPUs each)")
    add("--contributor", metavar="HANDLE", help="your public handle")


@command(_new_options, "check")
def new(arguments: Arguments) -> int:
    """Write a script that nobody has run yet, and its row."""
    from rl_resources.contribute.new import listed_words, new, next_step

    unclear = [name for name in EXAMPLES if "?" in {arguments.question, getattr(arguments, name)}]
    if unclear:
        sys.stdout.write(listed_words(root_of(arguments), unclear))
        return 0
    texts = {name: getattr(arguments, name) or "" for name in (*EXAMPLES, "nodes", "contributor")}
    asked = {name: text.strip() for name, text in texts.items() if text.strip()}
    record = new(root_of(arguments), asked)
    sys.stdout.write("".join(f"{change.path}\n" for change in record.changes))
    show(record.findings)
    sys.stderr.write(next_step(record))
    return 0


def _draft_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("script", nargs="?", default="", metavar="SCRIPT", help="read, and never run")
    add("--log", default="", metavar="FILE", help="the run's log")
    add("--issue", default="", metavar="FILE", help="the body of an issue form")
    add("--set", action="append", default=[], metavar="COLUMN=VALUE", help="state a cell yourself")
    for column in ("device", "tag", "contributor"):
        add(
            f"--{column}",
            action="append",
            dest="set",
            metavar="VALUE",
            type=f"{column}={{}}".format,
            help=f"short for --set {column}=VALUE",
        )
    written = "add the row, and copy or move the script to its place; overwrites nothing"
    add("--write", action="store_true", help=written)


@command(_draft_options, "check")
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
    write_table(drafted.as_csv())
    return FOUND if arguments.write and drafted.refused else 0
