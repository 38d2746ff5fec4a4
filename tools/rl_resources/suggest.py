"""`python -m rl_resources.suggest DIFF`: what `check --fix` would change, as review suggestions.

Runs with the right to write to pull requests, so it imports nothing but the standard library and
trusts nothing: the diff comes from a run of somebody else's code. It may only propose text, at
lines of data and scripts that the pull request itself changes, for a person to see and accept.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

MOST_BYTES = 200_000
MOST_SUGGESTIONS = 30
PATHS = re.compile(r"(?:records/[a-z_]+\.csv|examples/tuning/[\w.-]+/[\w.-]+\.sh)", re.ASCII)
BODY = (
    "`rl-resources check --fix` would mend what is proposed here. A row that moves is taken out at "
    "one line and put in at another: add all suggestions to one batch, or run the command yourself."
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Call = Callable[[str, str, object], Any]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines `first` to `last` of a file, counted from 1, and what should stand there instead."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk: its sign, its number in the old file (of the next, if new), its text."""

    sign: str
    number: int
    text: str


def replacements(diff: str) -> list[Replacement]:
    """What a unified diff with a line of context would replace, in files that exist before it.

    A file of which any change cannot be told as a replacement is left out as a whole: half of a
    move would lose a row.
    """
    found: list[Replacement] = []
    for path, hunks in _files(diff):
        told = [_replacement(path, hunk) for hunk in hunks]
        complete = [item for item in told if item is not None]
        if PATHS.fullmatch(path) and len(complete) == len(told):
            found += complete
    return found


def _files(diff: str) -> Iterator[tuple[str, list[list[Line]]]]:
    """Each file of a diff with its hunks. One that is new, gone or renamed has no path."""
    for part in re.split(r"(?m)^diff --git ", diff)[1:]:
        head, mark, rest = part.partition("\n@@ ")
        old = re.search(r"(?m)^--- a/(\S+)$", head)
        new = re.search(r"(?m)^\+\+\+ b/(\S+)$", head)
        same = old is not None and new is not None and old[1] == new[1]
        yield (old[1] if same and old else ""), list(_hunks(mark[1:] + rest)) if mark else []


def _hunks(text: str) -> Iterator[list[Line]]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        header = _HUNK.match(lines[at])
        at += 1
        if header is None:
            continue
        number, hunk = int(header[1]), list[Line]()
        while at < len(lines) and lines[at][:1] in {" ", "+", "-", "\\"}:
            sign = lines[at][:1]
            hunk.append(Line(sign, number, lines[at][1:]))
            number += sign in {" ", "-"}
            at += 1
        if any(line.sign != " " for line in hunk):
            yield hunk


def _replacement(path: str, hunk: Sequence[Line]) -> Replacement | None:
    """The hunk as one replacement; `None` where a suggestion cannot say it or hides a sign.

    A suggestion must replace some line: one that only adds takes a neighbour into itself.
    """
    changed = [at for at, line in enumerate(hunk) if line.sign != " "]
    first, end = changed[0], changed[-1] + 1
    if all(line.sign == "+" for line in hunk[first:end]):
        first, end = (first - 1, end) if first else (first, end + 1)
    span = hunk[first:end]
    old = [line.number for line in span if line.sign in {" ", "-"}]
    lines = [line.text for line in span if line.sign in {" ", "+"}]
    plain = all(text.replace("\t", "").isprintable() for text in lines)
    if not old or not plain or any(line.sign == "\\" for line in span):
        return None
    return Replacement(path, old[0], old[-1], tuple(lines))


def shown_lines(patch: str) -> set[int]:
    """The lines of the new file that a pull request's patch shows: only they take comments."""
    found: set[int] = set()
    number = 0
    for line in patch.split("\n"):
        header = _HUNK.match(line)
        if header:
            number = int(header[3])
        elif line[:1] in {" ", "+"}:
            found.add(number)
            number += 1
    return found


def comments(
    wanted: Iterable[Replacement], shown: Mapping[str, Collection[int]]
) -> list[dict[str, Any]]:
    """Review comments for GitHub's API. `shown` are the lines of each file that take comments.

    All of a file or none of it; no more than `MOST_SUGGESTIONS` together.
    """
    by_path: dict[str, list[Replacement]] = {}
    for item in wanted:
        by_path.setdefault(item.path, []).append(item)
    found: list[dict[str, Any]] = []
    for path, items in by_path.items():
        lines = shown.get(path, ())
        reachable = all(item.first in lines and item.last in lines for item in items)
        if reachable and len(found) + len(items) <= MOST_SUGGESTIONS:
            found += map(_comment, items)
    return found


def _comment(item: Replacement) -> dict[str, Any]:
    text = "".join(f"{line}\n" for line in item.lines)
    fence = "`" * (1 + max([2, *map(len, re.findall(r"`+", text))]))
    comment = {"path": item.path, "line": item.last, "side": "RIGHT"}
    if item.first != item.last:
        comment |= {"start_line": item.first, "start_side": "RIGHT"}
    return {**comment, "body": f"{fence}suggestion\n{text}{fence}"}


@dataclass(frozen=True, slots=True)
class Run:
    """The run of the checks that made the diff, as the event tells it."""

    repository: str
    head: str
    branch: str
    commit: str


def propose(diff: str, run: Run, call: Call) -> int:
    """Post the suggestions to the open pull request whose last commit the run was of.

    `call(method, path, body)` asks GitHub. Returns how many suggestions were posted.
    """
    base = f"/repos/{run.repository}/pulls"
    query = urlencode({"state": "open", "head": f"{run.head}:{run.branch}"})
    numbers = [
        int(pull["number"])
        for pull in call("GET", f"{base}?{query}", None)
        if pull["head"]["sha"] == run.commit
    ]
    return sum(_review(diff, f"{base}/{number}", run.commit, call) for number in numbers)


def _review(diff: str, pull: str, commit: str, call: Call) -> int:
    files = call("GET", f"{pull}/files?per_page=100", None)
    shown = {item["filename"]: shown_lines(item.get("patch", "")) for item in files}
    said = call("GET", f"{pull}/comments?per_page=100", None)
    there = {(item["path"], item["line"], item["body"]) for item in said}
    wanted = comments(replacements(diff), shown)
    new = [item for item in wanted if (item["path"], item["line"], item["body"]) not in there]
    if new:
        review = {"commit_id": commit, "event": "COMMENT", "body": BODY, "comments": new}
        call("POST", f"{pull}/reviews", review)
    return len(new)


def read_diff(path: Path) -> str:
    """The diff, or nothing where it is not an ordinary file of a sensible size."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return ""
    return path.read_bytes().decode("utf-8", "replace")


def github(address: str, token: str) -> Call:
    """Ask the API at `address`; raises `urllib.error.HTTPError` where it refuses."""

    def call(method: str, path: str, body: object) -> Any:
        request = urllib.request.Request(  # noqa: S310 (the address is that of the runner)
            f"{address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            return json.load(reply)

    return call


def main() -> int:
    """Read the diff that is named, and the run from the environment."""
    run = Run(*(os.environ[name] for name in ("GITHUB_REPOSITORY", "HEAD", "BRANCH", "COMMIT")))
    call = github(os.environ["GITHUB_API_URL"], os.environ["GITHUB_TOKEN"])
    count = propose(read_diff(Path(sys.argv[1])), run, call)
    print(f"{count} suggestions posted for {run.commit}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
