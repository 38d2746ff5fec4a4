"""Which hardware does an RL run of a language model need?

>>> import rl_resources
>>> rl_resources.load().tuning.query("gpus <= 2")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnreadableDataset,
    UnusableInput,
)

__all__ = [
    "Dataset",
    "InvalidDataset",
    "InvalidOutput",
    "RlResourcesError",
    "UnreadableDataset",
    "UnusableInput",
    "load",
]

if TYPE_CHECKING:
    from rl_resources.frames import Dataset, load
else:

    def __getattr__(name: str) -> object:
        """Import what reads data when it is asked for: before, a command can be interrupted."""
        if name in __all__:
            from rl_resources import frames

            return getattr(frames, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
