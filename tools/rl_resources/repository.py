"""What git knows of the checkout: revision, its time, and the public address."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rl_resources.package import DESCRIPTOR

_SSH = re.compile(r"(?:ssh://)?git@(?P<host>[\w.-]+)[:/](?P<path>[\w./-]+?)(?:\.git)?/?")
_BLAMED = re.compile(r"(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)")
_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?(?:/[^\s?#]*)?")
_HTTPS = re.compile(r"https://(?:[^@/]+@)?(?P<host>[\w.-]+)/(?P<path>[\w./-]+?)(?:\.git)?/?")


@dataclass(frozen=True, slots=True)
class Repository:
    """Facts of a checkout; each is `None` where git does not know it.

    `commit` is also `None` where tracked files differ from it.

    `commit_time` is in seconds since 1970. `url` is the address people see in a browser.
    """

    commit: str | None
    commit_time: int | None
    url: str | None

    def script_url(self) -> str | None:
        """The address template of a script at this revision."""
        return f"{self.url}/blob/{self.commit}/{{path}}" if self.url and self.commit else None


def read_repository(root: Path) -> Repository:
    """Ask git about `root`. `REPOSITORY_URL` in the environment goes before the remote.

    An archive that is unpacked inside of another checkout is none of what that one holds.
    """
    if not _git(root, "ls-files", "--", DESCRIPTOR):
        return Repository(None, None, public_address(os.environ.get("REPOSITORY_URL", "")))
    revision = _git(root, "log", "-1", "--format=%H %ct")
    commit, _, time = (revision or "").partition(" ")
    if _git(root, "status", "--porcelain", "--untracked-files=no"):
        commit = ""  # what is published would not be what that revision holds
    remote = os.environ.get("REPOSITORY_URL") or _git(root, "remote", "get-url", "origin") or ""
    return Repository(commit or None, int(time) if time else None, public_address(remote))


def line_times(root: Path, path: str) -> dict[int, int]:
    """When each line of a file was written by a commit, in seconds since 1970.

    Lines that no commit holds are left out. In a shallow clone old lines have the time of the
    oldest commit there.
    """
    times: dict[str, int] = {}
    lines: dict[int, str] = {}
    commit = ""
    for line in (_git(root, "blame", "--porcelain", "--", path) or "").splitlines():
        if match := _BLAMED.match(line):
            commit = match["commit"]
            lines[int(match["line"])] = commit
        elif line.startswith("committer-time "):
            times[commit] = int(line.split()[1])
    return {number: times[name] for number, name in lines.items() if name.strip("0")}


def moment(seconds: int) -> str:
    """A time as RFC 3339 has it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def site_address() -> str | None:
    """Where the site is published, with a closing slash, if `SITE_URL` in the environment says it.

    `None` where that is no address. MkDocs takes the same variable.
    """
    address = os.environ.get("SITE_URL", "")
    return f"{address.rstrip('/')}/" if _ADDRESS.fullmatch(address) else None


def public_address(remote: str) -> str | None:
    """The https address of a remote, without credentials; `None` for anything not on the web."""
    match = _HTTPS.fullmatch(remote) or _SSH.fullmatch(remote)
    return f"https://{match['host']}/{match['path']}" if match else None


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None
