"""`rl-resources COMMAND`, and `python -m rl_resources`: arguments in, exit status out."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rl_resources.cli import (
    FOUND,
    PARSER,
    UNUSABLE,
    answers,  # noqa: F401 (these two add their commands)
    contribution,  # noqa: F401
    report,
    root_of,
)
from rl_resources.dataset import installed_root
from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnusableInput,
    refuse_errors,
)
from rl_resources.package import read_package

INTERRUPTED = 130
"""Exit status: stopped from the keyboard, as shells report it."""


def main() -> int:
    """Run the command of this process and return its exit status.

    Nothing looks for cyclic garbage: a command ends soon, and the search through the trees of all
    scripts was a sixth of `check`.
    """
    gc.disable()
    # Who ends the program otherwise than from the keyboard finds nothing temporary either.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return status_of()
    finally:
        gc.freeze()  # else the interpreter searches once more at its end


def status_of(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    That is 0 where nothing is wrong, 1 for findings of severity error or where nothing is found, 2
    for wrong usage or unreadable input.
    """
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
        answer: int | str = parsed.run(parsed)
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
    if isinstance(answer, int):
        return answer
    sys.stdout.write(answer)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
