"""URLs: what may become a link, permalinks on GitHub, where repository and site are published."""

from __future__ import annotations

import os
import re

THREAD = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/[0-9]+(?:#[\w-]+)?"
)
_WEB = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][\w.~:/?#@!$&'()*+,;=%-]*)?", re.A)
_SITE = re.compile(r"https?://(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?(?:/[^\s?#]*)?")
_HTTPS = re.compile(r"https://(?:[^@/]+@)?(?P<host>[\w.-]+)/(?P<path>[\w./-]+?)(?:\.git)?/?")
_SSH = re.compile(r"(?:ssh://)?git@(?P<host>[\w.-]+)[:/](?P<path>[\w./-]+?)(?:\.git)?/?")


def is_web_address(text: str) -> bool:
    """Whether a text may become a link: a URL as a whole, made of its characters alone."""
    return _WEB.fullmatch(text) is not None


def permalink(repo: str, commit: str, path: str, lines: str) -> str:
    """The URL of the first of some lines, such as `31` or `49-51+75`, of a file at a commit.

    Without a path it is the URL of the commit, whose message the lines belong to.
    """
    if not path:
        return f"https://github.com/{repo}/commit/{commit}"
    first = lines.partition("+")[0].replace("-", "-L")
    return f"https://github.com/{repo}/blob/{commit}/{path}" + (f"#L{first}" if first else "")


def repository_url(remote: str) -> str | None:
    """The https URL of a git remote, without credentials; `None` for anything not on the web."""
    match = _HTTPS.fullmatch(remote) or _SSH.fullmatch(remote)
    return f"https://{match['host']}/{match['path']}" if match else None


def site_url() -> str | None:
    """Where the site is published, with a closing slash, from `SITE_URL` in the environment.

    `None` where that is no URL. MkDocs reads the same variable.
    """
    url = os.environ.get("SITE_URL", "")
    return f"{url.rstrip('/')}/" if _SITE.fullmatch(url) else None
