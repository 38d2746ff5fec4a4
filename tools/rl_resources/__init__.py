"""Which hardware does an RL run of a language model need?

>>> import rl_resources
>>> rl_resources.load().tuning.query("gpus <= 2")  # doctest: +SKIP
"""

from rl_resources.dataset import Dataset, load
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
