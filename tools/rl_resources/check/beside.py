"""The rules, asked by a process of their own while this one does other work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from subprocess import DEVNULL, PIPE

from rl_resources.check import check_root
from rl_resources.errors import InvalidDataset
from rl_resources.finding import Finding

# Unless it is told so (-P), Python imports what lies in the current folder, which may be anybody's.
COMMAND = (sys.executable, "-P", "-m", "rl_resources", "check", "--format", "json", "--root")


class Verdict:
    """What the rules say of the dataset at `root`."""

    def __init__(self, root: Path, process: subprocess.Popen[bytes] | None) -> None:
        self._root = root
        self._process = process

    @property
    def known(self) -> bool:
        """Whether nobody has to wait for it."""
        return self._process is None or self._process.poll() is not None

    @cached_property
    def findings(self) -> list[Finding]:
        """All findings, as `check_root` gives them; where the process gave none, asked here."""
        try:
            answer = self._process.communicate()[0] if self._process else b""
            return [Finding(**item) for item in json.loads(answer)]
        except ValueError:
            return check_root(self._root)

    def hold(self) -> None:
        """Raise `InvalidDataset` where the dataset breaks rules."""
        if any(item.severity == "error" for item in self.findings):
            raise InvalidDataset(self.findings)


@contextmanager
def judged_beside(root: Path) -> Iterator[Verdict]:
    """Ask the rules; who leaves before they have answered asks no longer."""
    with ExitStack() as leaving:
        process = None
        with suppress(OSError):  # where there can be no other process
            process = leaving.enter_context(
                subprocess.Popen([*COMMAND, root], stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
            )
            leaving.callback(process.kill)
        yield Verdict(root, process)
