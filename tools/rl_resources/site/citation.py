"""CITATION.cff: how to cite the dataset, as GitHub and reference managers read it."""

from __future__ import annotations

import yaml

from rl_resources.package import Package

CITATION = "CITATION.cff"


def citation_file(package: Package) -> str:
    """Citation File Format 1.2.0 of this version, from the descriptor alone."""
    document = {
        "cff-version": "1.2.0",
        "message": "Please cite the dataset with its version. Each record names its source.",
        "type": "dataset",
        "title": package.title,
        "abstract": package.description,
        "version": package.version,
        **({"date-released": package.created} if package.created else {}),
        "authors": [{"name": name} for name in package.contributors],
        "license": [licence["name"] for licence in package.licenses],
        "keywords": list(package.keywords),
    }
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return f"# Generated from datapackage.json: make generate\n{text}"
