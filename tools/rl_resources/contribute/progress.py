"""A progress bar on a terminal; on anything else nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rl_resources.contribute.training_log.stream import Progress
from rl_resources.words import shown


@contextmanager
def shown_progress(label: str) -> Iterator[Progress]:
    """A function that shows on standard error how much of a file is read."""
    if not sys.stderr.isatty():
        yield lambda _done, _size: None
        return
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn
        from rich.progress import Progress as Bars
    except ImportError:
        yield lambda _done, _size: None
        return
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(escape(shown(label)), total=None)
        yield lambda done, size: bars.update(task, completed=done, total=size or None)
