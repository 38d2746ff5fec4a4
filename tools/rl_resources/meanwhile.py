"""What another process does while MkDocs makes the pages of a build.

It makes the downloads, whose size a page tells; it asks the rules, and writes the page of each
record as soon as the record's script has been read for them; then it makes what no page shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rl_resources.beside import Answer, Asked, Worker
from rl_resources.check import Judged, check_root
from rl_resources.check.script import shellcheck
from rl_resources.check.subject import ScriptText
from rl_resources.dataset import read_dataset, script_path
from rl_resources.errors import InvalidDataset, InvalidOutput, RlResourcesError
from rl_resources.finding import Finding
from rl_resources.package import Record, read_package
from rl_resources.publish import record_pages
from rl_resources.render.downloads import Download, downloads
from rl_resources.render.errors import error_as_text
from rl_resources.render.record_page import path_of
from rl_resources.repository import site_address

_PAUSE_SECONDS = 0.01


class Meanwhile:
    """The work of the other process, of whom more can be asked. `folder` gets pages of records."""

    def __init__(self, root: Path, worker: Worker) -> None:
        self._worker = worker
        self.folder = worker.folder / "pages"
        # Asked for first, since they are wanted first.
        self.downloads = self.ask(downloads_of, root)
        self.verdict = self.ask(judge_and_write, root, self.folder)

    def ask(self, function: Callable[..., Answer], *arguments: Any) -> Asked[Answer]:
        """Have something else done after that."""
        return self._worker.ask(_told_in_words, function, *arguments)

    def go_on(self) -> None:
        """Raise what was raised instead of the verdict, or the errors that it holds, if known."""
        if self.verdict.known:
            hold_to(self.verdict.answer)

    def wait_for(self, page: str) -> None:
        """Wait until a page of a record is written.

        Raises what `go_on` does, and `InvalidOutput` for a record that came during the build.
        """
        path = self.folder / page
        while not path.exists():
            all_written = self.verdict.known
            self.go_on()
            if all_written and not path.exists():
                raise InvalidOutput(
                    f"{page}: its record was not there when the build began",
                    "Build again, and change no data meanwhile.",
                )
            time.sleep(_PAUSE_SECONDS)


def _told_in_words(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """What a function returns; what it raises by mistake as `InvalidOutput`, with the place."""
    try:
        return function(*arguments)
    except (RlResourcesError, OSError):
        raise
    except Exception as error:
        raise InvalidOutput(error_as_text(error).strip()) from error


def downloads_of(root: Path) -> tuple[Download, ...]:
    """Every file below `/downloads`. Raises `InvalidDataset` and `UnreadableDataset`."""
    return downloads(read_dataset(read_package(root)), site_address() or "")


def judge(root: Path, judged: Judged = bool) -> list[Finding]:
    """What all rules but ShellCheck's say of a dataset that pages are made of.

    ShellCheck takes longer for the scripts than all pages take, and looks at nothing that they
    show; `check` asks it.
    """
    return check_root(root, ignore=shellcheck.RULES, judged=judged)


def judge_and_write(root: Path, folder: Path) -> list[Finding]:
    """What `judge` says, and below `folder` the pages of all records where it finds no error.

    Raises whatever is raised where data that hold their rules make no pages.
    """
    try:
        writer = _Writer(root, folder)
        findings = judge(root, writer.write_of)
        if not _has_error(findings):
            writer.write_others()
    except Exception:
        findings = judge(root)  # of data that break rules they say more than who stumbles
        if not _has_error(findings):
            raise
    return findings


def hold_to(findings: Sequence[Finding]) -> None:
    """Raise `InvalidDataset` where one of the findings is an error."""
    if _has_error(findings):
        raise InvalidDataset(findings)


def _has_error(findings: Sequence[Finding]) -> bool:
    return any(item.severity == "error" for item in findings)


class _Writer:
    """Writes the page of a record while what was read of its script is at hand."""

    def __init__(self, root: Path, folder: Path) -> None:
        dataset = read_dataset(read_package(root))
        self._pages = record_pages(dataset)
        self._left = {script_path(dataset, record): record for record in dataset.records["tuning"]}
        self._folder = folder

    def write_of(self, subject: object) -> None:
        """The page of a script's record."""
        if isinstance(subject, ScriptText) and subject.path in self._left:
            self._write(self._left.pop(subject.path))

    def write_others(self) -> None:
        """All pages that were not written yet."""
        for record in self._left.values():
            self._write(record)

    def _write(self, record: Record) -> None:
        path = self._folder / path_of(record)
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(".part")
        whole.write_text(self._pages.page(record), encoding="utf-8", newline="\n")
        whole.replace(path)
