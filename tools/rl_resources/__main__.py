"""`rl-resources`, and `python -m rl_resources`."""

from rl_resources.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
