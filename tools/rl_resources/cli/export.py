"""`rl-resources export`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from rl_resources.cli.command import Arguments, Command
from rl_resources.cli.dataset import root_of_answers
from rl_resources.cli.findings import tell


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=["rst", "json", "markdown"])
    parser.add_argument("--size", metavar="S", help="only this size, for example 7B")
    parser.add_argument(
        "--script-url", metavar="TEMPLATE", help="address of a script, with {path} or {script}"
    )
    parser.add_argument("--out", metavar="FILE", help="write to a file, not to standard output")


def _export(arguments: Arguments) -> int:
    from rl_resources.dataset import is_packaged, read_dataset
    from rl_resources.export import export
    from rl_resources.git import read_repository
    from rl_resources.output import write_file
    from rl_resources.package import read_package

    root = root_of_answers(arguments)
    script_url = arguments.script_url
    if not is_packaged(root):
        from rl_resources.check import check_root

        if errors := [item for item in check_root(root) if item.severity == "error"]:
            return tell(errors)
        script_url = script_url or read_repository(root).script_url()
    dataset = read_dataset(read_package(root))
    text = export(dataset, arguments.kind, arguments.size, script_url)
    if arguments.out:
        write_file(Path(arguments.out), text)
    else:
        sys.stdout.write(text)
    return 0


COMMAND = Command("export", "Write one rendering alone.", _options, _export, "check")
