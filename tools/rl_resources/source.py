"""Addresses of sources: permalinks on GitHub, and the threads that stand for one."""

from __future__ import annotations

import re

THREAD = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/[0-9]+(?:#[\w-]+)?"
)
_BRANCH = re.compile(
    r"https://(?:(?:www\.)?github\.com/[\w.-]+/[\w.-]+/(?:blob|tree|raw|blame)"
    r"|raw\.githubusercontent\.com/[\w.-]+/[\w.-]+"
    r"|huggingface\.co/(?:(?:datasets|spaces)/)?[\w.-]+/[\w.-]+/(?:blob|tree|raw|blame|resolve))"
    r"/(?P<revision>[^/?#]+)"
)


def permalink(repo: str, commit: str, path: str, lines: str) -> str:
    """The address of the first of some lines, such as `31` or `49-51+75`, of a file at a commit.

    Without a path it is the address of the commit, whose message the lines are of.
    """
    if not path:
        return f"https://github.com/{repo}/commit/{commit}"
    first = lines.partition("+")[0].replace("-", "-L")
    return f"https://github.com/{repo}/blob/{commit}/{path}" + (f"#L{first}" if first else "")


def branch_of(address: str) -> str:
    """The branch or tag that an address of a file names; empty where it names a commit or none."""
    found = _BRANCH.match(address)
    if found is None or re.fullmatch(r"[0-9a-f]{40}", found["revision"]):
        return ""
    return found["revision"]
