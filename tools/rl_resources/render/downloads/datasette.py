"""What Datasette shows beside the tables of the SQLite database."""

from __future__ import annotations

import json

from rl_resources.package import Package, Resource


def metadata(package: Package, database: str) -> str:
    """Datasette's metadata for the database that it knows as `database`."""
    licence = package.licenses[0]
    tables = {name: _table(resource) for name, resource in package.resources.items()}
    document = {
        "title": package.title,
        "description": package.description,
        "license": licence["title"],
        "license_url": licence["path"],
        "databases": {database: {"tables": tables}},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _table(resource: Resource) -> dict[str, object]:
    schema = resource.schema
    return {
        "title": schema.title,
        "description": schema.description,
        "columns": {field.name: field.sentence for field in schema.fields},
    }
