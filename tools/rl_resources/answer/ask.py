"""A question in words, asked of a dataset."""

from __future__ import annotations

from rl_resources.answer.configurations import configurations
from rl_resources.answer.find import Found, find
from rl_resources.answer.question import Words, understand
from rl_resources.dataset import Dataset


def ask(dataset: Dataset, words: Words) -> tuple[Found, tuple[str, ...]]:
    """What was found, and how the words were understood.

    Raises `UnusableInput` with the nearest known words.
    """
    understood = understand(dataset, words)
    return find(configurations(dataset), understood.question), understood.notes
