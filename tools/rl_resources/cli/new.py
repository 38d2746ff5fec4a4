"""`rl-resources new`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import Arguments, Command
from rl_resources.cli.dataset import root_of
from rl_resources.cli.findings import show


def _options(parser: ArgumentParser) -> None:
    for option, example in (
        ("model", "Qwen/Qwen2.5-7B-Instruct"),
        ("task", "GRPO"),
        ("gpus", "8"),
        ("device", "h100"),
        ("train", "fsdp"),
        ("infer", "vllm"),
        ("tag", "MIN or RECOMMENDED"),
    ):
        parser.add_argument(f"--{option}", metavar=option.upper(), help=f"for example {example}")
    parser.add_argument("--nodes", metavar="N", help="machines (default: of 8 accelerators each)")
    parser.add_argument("--contributor", metavar="HANDLE", help="your public handle")
    for option in ("model", "device"):
        parser.add_argument(
            f"--add-{option}",
            nargs="*",
            metavar="COLUMN=VALUE",
            help=f"add the {option} to its table, with these cells",
        )
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    parser.add_argument("--format", choices=["text", "json"], default="text")


def _new(arguments: Arguments) -> int:
    from rl_resources.contribute.new import OPTIONS, new

    texts = {name: getattr(arguments, name) or "" for name in (*OPTIONS, "nodes", "contributor")}
    asked = {name: text.strip() for name, text in texts.items() if text.strip()}
    growing = {"model": arguments.add_model, "device": arguments.add_device}
    added = {option: cells for option, cells in growing.items() if cells is not None}
    written, terminal = not arguments.dry_run, sys.stdin.isatty()
    record = new(root_of(arguments), asked, added, write=written, terminal=terminal)
    form = record.as_json if arguments.format == "json" else record.as_text
    sys.stdout.write(form(written=written))
    show(record.findings)
    sys.stderr.write(record.next_step() if written else "Nothing was written.\n")
    return 0


COMMAND = Command(
    "new",
    "Write a script and its row; ask on a terminal for what is missing.",
    _options,
    _new,
    "check",
)
