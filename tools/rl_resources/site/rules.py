"""The page of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.site.site import Site


def pages(
    dataset: Dataset,
    repository_url: str | None,
    families: Mapping[str, Any],
    rules: Mapping[str, Sequence[Any]],
) -> dict[str, str]:
    """`/rules/` by its path. `rules` are those of each family by the family's name."""
    site = Site(dataset, repository_url)
    return {
        "rules/index.md": site.page("rules/index.md", "rules.md", families=families, rules=rules)
    }
