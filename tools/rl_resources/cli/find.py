"""`rl-resources find`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError

from rl_resources.cli.command import FOUND, Arguments, Command, dataset_of_answers, write_table

FIELDS = (
    ("model", "M", "Hugging Face id or its short name; `7B` is read as a size"),
    ("size", "S", "for example 7B"),
    ("task", "T", "for example GRPO or GRPO-LoRA"),
    ("weights", "W", "what trains: full, lora, qlora or partial"),
    ("scenario", "S", "for example multimodal or agentic"),
    ("gpus", "N", "how many GPUs you have (default: any number)"),
    ("length", "TOKENS", "minimum context, prompt and response together, for example 16K"),
    ("framework", "F", "for example verl"),
    ("train", "BACKEND", "training backend, for example fsdp"),
    ("infer", "BACKEND", "rollout engine, for example vllm"),
    ("tag", "TAG", "MIN or RECOMMENDED"),
    ("device", "D", "for example h100 or 'A100 80GB'"),
    ("memory", "GB", "of one device, of any vendor, in place of --device"),
)


def _options(parser: ArgumentParser) -> None:
    for option, metavar, help_ in FIELDS:
        parser.add_argument(f"--{option}", metavar=metavar, help=help_)
    parser.add_argument(
        "--limit", type=_count, default=10, metavar="N", help="answers in text; 0: all"
    )
    parser.add_argument(
        "--all", action="store_true", help="each answer, also where settings alone differ"
    )
    parser.add_argument("--format", choices=["text", "json", "csv"], default="text")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _find(arguments: Arguments) -> int:
    from shutil import get_terminal_size

    from rl_resources.query.find import ask
    from rl_resources.site import answers as form

    dataset = dataset_of_answers(arguments)
    asked = {name: getattr(arguments, name) or "" for name, _, _ in FIELDS}
    found, notes = ask(dataset, asked)
    if arguments.format == "json":
        sys.stdout.write(form.as_json(dataset, found, notes))
    elif arguments.format == "csv":
        write_table(form.as_csv(found))
        sys.stderr.write(form.remarks_of_csv(found, notes))
    else:
        text = form.as_text(
            dataset,
            found,
            notes,
            limit=arguments.limit,
            width=get_terminal_size((100, 24)).columns,
            color=sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
            unfold=arguments.all,
        )
        sys.stdout.write(text)
    return 0 if found.answers else FOUND


COMMAND = Command("find", "Show what runs on your hardware, best first, and why.", _options, _find)
