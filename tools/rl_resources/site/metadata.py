"""What describes the dataset for others: Data Package, Croissant, card, feed.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html): one record set
reads one CSV file. No field says what it `references`, because mlcroissant 1.1 then joins the
tables and fails where one of them refers to a third; `datapackage.json` has the foreign keys.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from rl_resources.git import utc
from rl_resources.package import Field, Package, Resource
from rl_resources.site.api import record_id
from rl_resources.site.environment import Site

FEED = "feeds/all.xml"
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")
_CROISSANT_WORDS = (
    *("citeAs", "column", "extract", "field", "fileObject", "isArray", "arrayShape", "key"),
    *("recordSet", "separator", "source", "transform"),
)
_CROISSANT_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{word: f"cr:{word}" for word in _CROISSANT_WORDS},
}
_CROISSANT_TYPES = {"integer": "Integer", "number": "Float", "boolean": "Boolean", "date": "Date"}


def descriptor(package: Package, csv: Mapping[str, bytes]) -> dict[str, Any]:
    """Data Package 2.0 of the CSV files next to it, by resource. It needs no other file."""

    def resource(item: Mapping[str, Any]) -> dict[str, Any]:
        name = item["name"]
        schema, content = package.resources[name].schema, csv[name]
        return {
            **item,
            "path": f"{name}.csv",
            "title": schema.title,
            "description": schema.description,
            "bytes": len(content),
            "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "schema": schema.document,
        }

    document = package.document
    return {**document, "resources": [resource(item) for item in document["resources"]]}


def croissant(package: Package, csv: Mapping[str, bytes], folder: str = "") -> dict[str, Any]:
    """Croissant of CSV files, whose contents `csv` has by resource.

    `folder` is the URL that all of them are published under, with a closing slash. With it the
    document can be read by its own URL; without it mlcroissant needs the files next to it.
    """
    return {
        "@context": _CROISSANT_CONTEXT,
        "@type": "Dataset",
        "name": package.document["name"],
        "alternateName": package.title,
        "description": package.description,
        "version": package.version,
        "datePublished": package.created,
        "license": [item["path"] for item in package.licenses],
        "keywords": list(package.keywords),
        "creator": [{"@type": "Organization", "name": name} for name in package.contributors],
        "isAccessibleForFree": True,
        "inLanguage": "en",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "citeAs": citation(package),
        "url": f"{(folder or '../downloads/').removesuffix('downloads/')}data/",
        "distribution": [_file_object(name, content, folder) for name, content in csv.items()],
        "recordSet": [_record_set(resource) for resource in package.resources.values()],
    }


def _file_object(name: str, content: bytes, folder: str) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}.csv",
        "name": f"{name}.csv",
        "contentUrl": f"{folder}{name}.csv",
        "contentSize": f"{len(content)} B",
        "encodingFormat": "text/csv",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _record_set(resource: Resource) -> dict[str, Any]:
    schema = resource.schema
    return {
        "@type": "cr:RecordSet",
        "@id": resource.name,
        "name": resource.name,
        "description": schema.description,
        "key": [{"@id": f"{resource.name}/{name}"} for name in schema.primary_key],
        "field": [_field(resource.name, field) for field in schema.fields],
    }


def _field(table: str, field: Field) -> dict[str, Any]:
    is_list = field.type == "list"
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{field.name}",
        "name": field.name,
        "description": field.sentence,
        "dataType": f"sc:{_CROISSANT_TYPES.get(field.type, 'Text')}",
        "source": {
            "fileObject": {"@id": f"{table}.csv"},
            "extract": {"column": field.name},
            **({"transform": {"separator": field.delimiter}} if is_list else {}),
        },
        **({"isArray": True, "arrayShape": "-1"} if is_list else {}),
    }


def citation(package: Package) -> str:
    """One line to cite this version by."""
    authors = ", ".join(package.contributors)
    name, year = package.document["name"], package.created[:4]
    return f"{authors} ({year}). {name}: {package.title}. Version {package.version}."


def card(site: Site) -> str:
    """The dataset card, a README in the form of Hugging Face's dataset repositories.

    Its front matter makes the directory of downloads a repository that `datasets` loads.
    https://huggingface.co/docs/hub/datasets-cards
    """
    path = "downloads/README.md"
    return site.page(path, path, citation=citation(site.dataset.package))


def feed(site: Site, times: Mapping[int, int]) -> str:
    """The Atom feed of all records (RFC 4287), the latest change first.

    `times` says when each line of their table was last written, in seconds since 1970, by line from
    1; where it does not, that was the day of the release. An entry keeps its id.
    """
    released = f"{site.dataset.package.created}T00:00:00Z"
    entries = [
        (utc(times[line]) if line in times else released, row)
        for line, row in enumerate(site.dataset.records["tuning"], start=2)
    ]
    entries.sort(key=itemgetter(0), reverse=True)
    values = {"entries": entries, "released": released, "record_id": record_id}
    return site.page(FEED, FEED, **values, urn=lambda name: uuid.uuid5(_NAMESPACE, name).urn)
