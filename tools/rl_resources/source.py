"""Addresses of sources: what may be a link, permalinks on GitHub, threads that stand for one."""

from __future__ import annotations

import re

THREAD = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/[0-9]+(?:#[\w-]+)?"
)
_WEB_ADDRESS = re.compile(
    r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][\w.~:/?#@!$&'()*+,;=%-]*)?", re.A
)


def permalink(repo: str, commit: str, path: str, lines: str) -> str:
    """The address of the first of some lines, such as `31` or `49-51+75`, of a file at a commit.

    Without a path it is the address of the commit, whose message the lines are of.
    """
    if not path:
        return f"https://github.com/{repo}/commit/{commit}"
    first = lines.partition("+")[0].replace("-", "-L")
    return f"https://github.com/{repo}/blob/{commit}/{path}" + (f"#L{first}" if first else "")


def is_web_address(text: str) -> bool:
    """Whether a text may become a link: an address as a whole, of the signs that one is made of."""
    return _WEB_ADDRESS.fullmatch(text) is not None
