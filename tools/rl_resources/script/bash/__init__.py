"""Reads a bash script and reports what it would do, without running it."""

from rl_resources.script.bash.evaluate import read as read
