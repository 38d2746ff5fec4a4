"""The page of all pictures, and each picture as a file that can be put into other pages."""

from __future__ import annotations

from pathlib import PurePosixPath

from rl_resources.dataset import Dataset
from rl_resources.site.charts.pictures import Picture, pictures
from rl_resources.site.charts.sheet import sheet
from rl_resources.site.site import Site

STYLE = PurePosixPath("site/assets/stylesheets/charts.css")


def pages(dataset: Dataset, repository_url: str | None) -> dict[str, str]:
    """`charts.md`, and `charts/NAME.svg` for each picture that has marks."""
    site = Site(dataset, repository_url)
    found = pictures(dataset)
    style = (dataset.package.root / STYLE).read_text(encoding="utf-8")
    files = {
        f"charts/{picture.name}.svg": _file(site, picture, style)
        for picture in found
        if picture.panels
    }
    return {"charts.md": site.page("charts.md", pictures=found), **files}


def _file(site: Site, picture: Picture, style: str) -> str:
    # The file lies in the folder that the page has, so its links are those of the page.
    return site.page("charts.md", "chart.svg", picture=picture, sheet=sheet(picture), style=style)
