"""What git knows of a checkout: its revision, other files, times of lines; URLs on GitHub."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rl_resources.package import DESCRIPTOR

THREAD = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/[0-9]+(?:#[\w-]+)?"
)
_REMOTE = re.compile(
    r"(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)(?P<host>[\w.-]+)[:/](?P<path>[\w./-]+?)(?:\.git)?/?"
)
_BLAMED = re.compile(
    r"^(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)(?s:.*?)^committer-time (?P<time>\d+)$",
    re.M,
)


class Repository(NamedTuple):
    """Facts of a checkout; each is `None` where git does not know it.

    `commit` is also `None` where tracked files differ from it. `commit_time` is in seconds since
    1970. `url` is the URL that people open in a browser.
    """

    commit: str | None
    commit_time: int | None
    url: str | None

    def script_url(self) -> str | None:
        """The URL template of a script at this revision."""
        if self.url is None or self.commit is None:
            return None
        return f"{self.url}/blob/{self.commit}/{{path}}"


def read_repository(root: Path) -> Repository:
    """Ask git about `root`. `REPOSITORY_URL` in the environment overrides the remote.

    An archive that is unpacked inside another checkout is not part of that one.
    """
    remote = os.environ.get("REPOSITORY_URL", "")
    if not git_text(root, "ls-files", "--", DESCRIPTOR):
        return Repository(None, None, repository_url(remote))
    remote = remote or git_text(root, "remote", "get-url", "origin")
    url = repository_url(remote)
    commit, _, time = git_text(root, "log", "-1", "--format=%H %ct").partition(" ")
    if not commit:
        return Repository(None, None, url)
    # What is published from changed files would differ from the revision.
    if git_text(root, "status", "--porcelain", "--untracked-files=no"):
        return Repository(None, int(time), url)
    return Repository(commit, int(time), url)


def released_versions(root: Path) -> list[str]:
    """Versions that have a tag `v…`, newest first."""
    tags = git_text(root, "tag", "--list", "v[0-9]*", "--sort=-version:refname")
    return [tag.removeprefix("v") for tag in tags.split()]


def line_times(root: Path, path: str) -> dict[int, int]:
    """When a commit last wrote each line of a file, in seconds since 1970, by line from 1.

    Lines that are not committed are left out, and all lines in a shallow clone, which knows only
    the time of its oldest commit.
    """
    if git_text(root, "rev-parse", "--is-shallow-repository") != "false":
        return {}
    blame = git_text(root, "blame", "--line-porcelain", "--", path)
    found: dict[int, int] = {}
    for line in _BLAMED.finditer(blame):
        is_committed = line["commit"].strip("0")
        if is_committed:
            number = int(line["line"])
            found[number] = int(line["time"])
    return found


def file_at(root: Path, revision: str, path: str) -> bytes | None:
    """A file as a revision has it, by its path below `root`; `None` where it has none."""
    return _git(root, "cat-file", "blob", f"{revision}:./{path}")


def git_text(root: Path, *arguments: str) -> str:
    """What a git command prints, without surrounding whitespace; empty where it fails."""
    printed = _git(root, *arguments)
    if printed is None:
        return ""
    return printed.decode("utf-8", "replace").strip()


def _git(root: Path, *arguments: str) -> bytes | None:
    """What a git command prints; `None` where it fails."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return done.stdout


def utc(seconds: int) -> str:
    """A time in seconds since 1970 as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def permalink(repo: str, commit: str, path: str, lines: str) -> str:
    """The URL of the first of some lines, such as `31` or `49-51+75`, of a file at a commit.

    Without a path it is the URL of the commit, whose message the lines belong to.
    """
    if not path:
        return f"https://github.com/{repo}/commit/{commit}"
    url = f"https://github.com/{repo}/blob/{commit}/{path}"
    first, _, _ = lines.partition("+")
    if not first:
        return url
    return f"{url}#L{first.replace('-', '-L')}"


def repository_url(remote: str) -> str | None:
    """The https URL of a git remote, without credentials; `None` for anything not on the web."""
    match = _REMOTE.fullmatch(remote)
    if match is None:
        return None
    return f"https://{match['host']}/{match['path']}"
