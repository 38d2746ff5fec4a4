"""`rl-resources COMMAND`: arguments in, exit status out; all work is done elsewhere.

Each command is a module of its name. Exit status: 0 nothing wrong, 1 findings of severity error,
2 wrong usage or unreadable input; `__main__` has that of an interrupted one. Nothing heavy is
imported before a command needs it.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from contextlib import suppress

from rl_resources.cli import streams
from rl_resources.cli.command import FOUND, UNUSABLE, Arguments
from rl_resources.cli.dataset import root_of
from rl_resources.cli.findings import has_errors, tell
from rl_resources.cli.parser import parser
from rl_resources.errors import InvalidDataset, InvalidOutput, RlResourcesError, UnusableInput


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    # A short process that mostly imports: collecting garbage as often as usual, and once more all
    # that there is at the end, is a tenth of `check`.
    gc.set_threshold(200_000)
    if arguments is None:  # the process is this command
        atexit.register(gc.freeze)
    streams.open_all()
    parsed = Arguments(extra="")
    try:
        parser().parse_args(arguments, parsed)
        status = _run(parsed)
        sys.stdout.flush()
    except InvalidDataset as error:
        tell(error.findings)
        return FOUND
    except RlResourcesError as error:
        _complain(error)
        return FOUND if isinstance(error, InvalidOutput) else UNUSABLE
    except ImportError as error:
        _complain(_lacking(parsed, error))
        return UNUSABLE
    except BrokenPipeError:  # the reader of our output has gone
        streams.close_all()
        return 0
    except OSError as error:
        if not streams.is_of_output(error):
            raise
        return _untold(error)
    return status


def _run(arguments: Arguments) -> int:
    """The command. Where it stumbles over data that break rules, the rules say it better.

    Answers take it for granted that the dataset holds its rules, so that no answer says them again.
    """
    try:
        status: int = arguments.run(arguments)
    except (RlResourcesError, OSError, ImportError):
        raise
    except Exception:
        _refuse_broken(arguments)
        raise
    return status


def _refuse_broken(arguments: Arguments) -> None:
    from rl_resources.check import check_root

    findings = check_root(root_of(arguments))
    if has_errors(findings):
        raise InvalidDataset(findings)


def _lacking(arguments: Arguments, error: ImportError) -> RlResourcesError:
    """A module of others comes with an extra; one of ours, when package and checkout are one."""
    if str(error.name).partition(".")[0] == "rl_resources":
        return UnusableInput(
            f"this checkout and the installed rl-resources are not of one version: {error}",
            "In the checkout, `rm -rf .venv && make check` sets it up anew.",
        )
    missing = isinstance(error, ModuleNotFoundError) and error.name
    needs = f"needs {missing}, which is not installed" if missing else f"cannot be run: {error}"
    extra = f"[{arguments.extra}]" if arguments.extra else ""
    return UnusableInput(f"{arguments.command} {needs}: pip install 'rl-resources{extra}'")


def _untold(error: OSError) -> int:
    with suppress(OSError):
        _complain(UnusableInput(f"the output could not be written: {error.strerror}"))
    streams.close_all()
    return UNUSABLE


def _complain(error: RlResourcesError) -> None:
    print(f"rl-resources: error: {error}", file=sys.stderr)
    if error.help:
        print(f"  help: {error.help}", file=sys.stderr)
