"""`rl-resources diff`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import Arguments, Command, root_of


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a git revision, or a folder with a dataset")
    parser.add_argument(
        "new", nargs="?", metavar="NEW", help="another one (default: the files here)"
    )
    parser.add_argument("--format", choices=["text", "json", "markdown"], default="text")


def _diff(arguments: Arguments) -> int:
    from rl_resources.query.diff import diff
    from rl_resources.revision import read_folder, read_state
    from rl_resources.site import changes

    root = root_of(arguments)
    old = read_state(root, arguments.old)
    new = read_state(root, arguments.new) if arguments.new else read_folder(root)
    found = diff(old, new)
    forms = {"text": changes.as_text, "json": changes.as_json, "markdown": changes.as_markdown}
    sys.stdout.write(forms[arguments.format](found))
    return 0


COMMAND = Command("diff", "Show which records differ between two states.", _options, _diff)
