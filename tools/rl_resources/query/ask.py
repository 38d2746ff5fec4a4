"""A question in words, asked of a dataset."""

from __future__ import annotations

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import configurations
from rl_resources.query.find import Found, find
from rl_resources.query.question import Words, understand


def ask(dataset: Dataset, words: Words) -> tuple[Found, tuple[str, ...]]:
    """What was found, and how the words were understood.

    Raises `UnusableInput` with the nearest known words.
    """
    understood = understand(dataset, words)
    return find(configurations(dataset), understood.question), understood.notes
