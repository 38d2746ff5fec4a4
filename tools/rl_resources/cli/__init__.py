"""`rl-resources COMMAND`: arguments in, exit status out.

Exit status: 0 nothing wrong, 1 findings of severity error or nothing found, 2 wrong usage or
unreadable input. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rl_resources.cli import answers, contribution  # noqa: F401 (they add their commands)
from rl_resources.cli.command import FOUND, INTERRUPTED, PARSER, UNUSABLE, report, root_of
from rl_resources.dataset import installed_root
from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnusableInput,
    refuse_errors,
)
from rl_resources.package import read_package


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except InvalidDataset as error:
        return report(error.findings)
    except KeyboardInterrupt:
        print("rl-resources: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        return 0
    except (RlResourcesError, OSError) as error:
        print(f"rl-resources: error: {error}", file=sys.stderr)
        help_ = getattr(error, "help", "")
        if help_:
            print(f"  help: {help_}", file=sys.stderr)
        return FOUND if isinstance(error, InvalidOutput) else UNUSABLE
    return status


def _run(arguments: Sequence[str] | None) -> int:
    parsed = PARSER.parse_args(arguments)
    if parsed.version:
        print(f"rl-resources {read_package(installed_root()).version}")
        return 0
    if "run" not in parsed:
        PARSER.print_help(sys.stderr)
        return UNUSABLE
    try:
        return int(parsed.run(parsed))
    except (RlResourcesError, OSError):
        raise
    except ModuleNotFoundError as error:
        raise UnusableInput(
            f"{parsed.command} needs {error.name}, which is not installed: "
            "pip install 'rl-resources[site]'"
        ) from error
    except Exception:
        # Answers assume that the dataset keeps its rules: report those that it breaks.
        from rl_resources.check import check_root

        refuse_errors(check_root(root_of(parsed)))
        raise
