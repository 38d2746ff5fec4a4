"""`rl-resources`, and `python -m rl_resources`."""

import gc

from rl_resources import cli


def main() -> int:
    """Run one command and return its exit status.

    Nothing looks for cyclic garbage: a command ends soon, and the search through the trees of all
    scripts was a sixth of `check`.
    """
    gc.disable()
    try:
        return cli.main()
    finally:
        gc.freeze()  # else the interpreter searches once more at its end


if __name__ == "__main__":
    raise SystemExit(main())
