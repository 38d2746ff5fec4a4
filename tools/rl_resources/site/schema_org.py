"""The dataset in the words of schema.org, as search engines and catalogues read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rl_resources.package import Package

if TYPE_CHECKING:
    from rl_resources.site.downloads import Download

VOCABULARY = "https://schema.org/"


def about(package: Package) -> dict[str, Any]:
    """What any description of the dataset says; the keys of JSON-LD without its context."""
    return {
        "@type": "Dataset",
        "name": package.document["name"],
        "description": package.description,
        "version": package.version,
        **({"datePublished": package.created} if package.created else {}),
        "license": [licence["path"] for licence in package.licenses],
        "keywords": list(package.keywords),
        "creator": [{"@type": "Organization", "name": name} for name in package.contributors],
        "isAccessibleForFree": True,
        "inLanguage": "en",
    }


def data_page(package: Package, files: Iterable[Download], site: str = "") -> dict[str, Any]:
    """JSON-LD of the page `/data/`; relative to it where the address of the `site` is blank."""
    distribution = [
        {
            "@type": "DataDownload",
            "name": item.name,
            "description": item.holds,
            "encodingFormat": item.mediatype,
            "contentUrl": f"{site or '../'}{item.path}",
            "contentSize": f"{item.size} B",
            "sha256": item.sha256,
        }
        for item in files
    ]
    names = {"name": package.title, "alternateName": package.document["name"]}
    context = {"@context": VOCABULARY}
    url = f"{site}data/" if site else "./"
    return {**context, **about(package), **names, "url": url, "distribution": distribution}


def citation(package: Package) -> str:
    """One line to cite this version by."""
    authors = ", ".join(package.contributors)
    year = f" ({package.created[:4]})" if package.created else ""
    name = package.document["name"]
    return f"{authors}{year}. {name}: {package.title}. Version {package.version}."
