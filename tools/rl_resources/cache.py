"""Where answers that cost time are kept between runs. Whatever is kept may be deleted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder of one kind of answers; `RL_RESOURCES_CACHE` moves all of them."""
    if own := os.environ.get("RL_RESOURCES_CACHE"):
        return Path(own) / name
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rl-resources" / name


def keep(path: Path, text: str) -> None:
    """Write a file of the cache whole or not at all; one that cannot be written costs time only."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}")
        own.write_text(text, encoding="utf-8")
        own.replace(path)
