"""`python -m rl_resources`."""

from rl_resources.cli import main

raise SystemExit(main())
