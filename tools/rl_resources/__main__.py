"""`rl-resources`, and `python -m rl_resources`: can be interrupted from its first import on."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit status: stopped from the keyboard, as shells tell it."""


def main() -> int:
    """Run the command of this process and return its exit status."""
    try:
        from rl_resources.cli import main as command

        return command()
    except KeyboardInterrupt:
        print("rl-resources: interrupted", file=sys.stderr)  # noqa: T201 (this is a command)
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
