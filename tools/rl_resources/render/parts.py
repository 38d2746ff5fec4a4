"""Lists that are too long for one page, on several: `sizes/7b.md`, `sizes/7b/2.md`, …

The first page keeps the address that it has while the list is short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rl_resources.render.site import page_url

ROWS = 100
"""The most rows of a table that one page holds."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Part(Generic[Item]):
    """One page of a list: its number from 1, of how many, and what stands on it."""

    whole: str
    number: int
    count: int
    items: tuple[Item, ...]

    @property
    def path(self) -> str:
        """This page, relative to the folder of pages."""
        return self._path(self.number)

    @property
    def mark(self) -> str:
        """What tells its title from that of the first page."""
        return f", page {self.number}" if self.number > 1 else ""

    @property
    def urls(self) -> list[str]:
        """All pages of the list in their order, relative to the root of the site."""
        return [page_url(self._path(number)) for number in range(1, self.count + 1)]

    @property
    def url(self) -> str:
        """This page, relative to the root of the site."""
        return self.urls[self.number - 1]

    @property
    def before(self) -> str:
        """The page before this one, relative to the root of the site; blank on the first."""
        return self.urls[self.number - 2] if self.number > 1 else ""

    @property
    def after(self) -> str:
        """The page after this one, relative to the root of the site; blank on the last."""
        return self.urls[self.number] if self.number < self.count else ""

    def _path(self, number: int) -> str:
        return self.whole if number == 1 else f"{self.whole.removesuffix('.md')}/{number}.md"


def parted(
    path: str,
    items: Sequence[Item],
    most: int,
    rows: Callable[[Item], int] = lambda _: 1,
) -> list[Part[Item]]:
    """The pages of a list, whose first is at `path`, with `most` rows each.

    An item of several `rows` is never divided, so that a larger one has a page to itself.
    """
    groups: list[list[Item]] = [[]]
    for item in items:
        if groups[-1] and sum(map(rows, groups[-1])) + rows(item) > most:
            groups.append([])
        groups[-1].append(item)
    return [
        Part(path, number, len(groups), tuple(group))
        for number, group in enumerate(groups, start=1)
    ]
