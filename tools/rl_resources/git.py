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
    r"^(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)(?s:.*?)^committer-time (?P<time>\d+)$", re.M
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
        return f"{self.url}/blob/{self.commit}/{{path}}" if self.url and self.commit else None


def read_repository(root: Path) -> Repository:
    """Ask git about `root`. `REPOSITORY_URL` in the environment overrides the remote.

    An archive that is unpacked inside another checkout is not part of that one.
    """
    remote = os.environ.get("REPOSITORY_URL", "")
    if not git_text(root, "ls-files", "--", DESCRIPTOR):
        return Repository(None, None, repository_url(remote))
    commit, _, time = git_text(root, "log", "-1", "--format=%H %ct").partition(" ")
    if git_text(root, "status", "--porcelain", "--untracked-files=no"):
        commit = ""  # what is published would differ from that revision
    remote = remote or git_text(root, "remote", "get-url", "origin")
    return Repository(commit or None, int(time) if time else None, repository_url(remote))


def released_versions(root: Path) -> list[str]:
    """Versions that have a tag `v…`, newest first."""
    tags = git_text(root, "tag", "--list", "v[0-9]*", "--sort=-version:refname").split()
    return [tag.removeprefix("v") for tag in tags]


def line_times(root: Path, path: str) -> dict[int, int]:
    """When a commit last wrote each line of a file, in seconds since 1970, by line from 1.

    Lines that are not committed are left out, and all lines in a shallow clone, which knows only
    the time of its oldest commit.
    """
    if git_text(root, "rev-parse", "--is-shallow-repository") != "false":
        return {}
    blamed = _BLAMED.finditer(git_text(root, "blame", "--line-porcelain", "--", path))
    return {int(one["line"]): int(one["time"]) for one in blamed if one["commit"].strip("0")}


def file_at(root: Path, revision: str, path: str) -> bytes | None:
    """A file as a revision has it, by its path below `root`; `None` where it has none."""
    return _git(root, "cat-file", "blob", f"{revision}:./{path}")


def git_text(root: Path, *arguments: str) -> str:
    """What a git command prints, without surrounding whitespace; empty where it fails."""
    return (_git(root, *arguments) or b"").decode("utf-8", "replace").strip()


def _git(root: Path, *arguments: str) -> bytes | None:
    try:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def utc(seconds: int) -> str:
    """A time in seconds since 1970 as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
    match = _REMOTE.fullmatch(remote)
    return f"https://{match['host']}/{match['path']}" if match else None
