"""The table of a size to be shown on other sites: one small document, no script."""

from __future__ import annotations

from rl_resources.dataset import Dataset
from rl_resources.render.parts import ROWS
from rl_resources.render.site import Site
from rl_resources.render.size_page import ordered_rows


def files(dataset: Dataset, address: str) -> dict[str, str]:
    """`embed/7b.html` and the others by path. `address` is the site's, or blank.

    With it links are absolute, so that they also hold where the table is copied to another site
    and not framed.
    """
    site = Site(dataset, None)
    return {
        f"embed/{size.name.lower()}.html": site.page(
            "embed.html",
            size=size,
            rows=ordered_rows(dataset, size.name)[:ROWS],
            base=address or "../",
        )
        for size in site.sizes
    }
