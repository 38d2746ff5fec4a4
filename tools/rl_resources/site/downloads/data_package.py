"""The descriptor of the downloads: that of the repository, with its schemas, hashes and sizes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rl_resources.package import Package


def descriptor(package: Package, csv: Mapping[str, bytes]) -> str:
    """Data Package 2.0 of the CSV files beside it, by resource. It needs no other file."""
    resources = [
        _resource(package, item, csv[item["name"]]) for item in package.document["resources"]
    ]
    document = {**package.document, "resources": resources}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _resource(package: Package, item: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    schema = package.resources[item["name"]].schema
    return {
        **item,
        "path": f"{item['name']}.csv",
        "title": schema.title,
        "description": schema.description,
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": schema.document,
    }
