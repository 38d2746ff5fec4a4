"""Addresses of sources: permalinks on GitHub, and the threads that stand for one."""

from __future__ import annotations

import re

THREAD = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/[0-9]+(?:#[\w-]+)?"
)


def permalink(repo: str, commit: str, path: str, lines: str) -> str:
    """The address of the first of some lines, such as `31` or `49-51+75`, of a file at a commit.

    Without a path it is the address of the commit, whose message the lines are of.
    """
    if not path:
        return f"https://github.com/{repo}/commit/{commit}"
    first = lines.partition("+")[0].replace("-", "-L")
    return f"https://github.com/{repo}/blob/{commit}/{path}" + (f"#L{first}" if first else "")
