"""What a root offers for download, for whoever has it made in a process of its own."""

from __future__ import annotations

from pathlib import Path

from rl_resources.dataset import read_dataset
from rl_resources.package import read_package
from rl_resources.render.downloads import Download, downloads
from rl_resources.repository import site_address


def downloads_of(root: Path) -> tuple[Download, ...]:
    """Every file below `/downloads`. Raises `InvalidDataset` and `UnreadableDataset`."""
    return downloads(read_dataset(read_package(root)), site_address() or "")
