"""What describes the dataset for others: Data Package, Croissant, schema.org, dataset card.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html): one record set
reads one CSV file. No field says what it `references`, because mlcroissant 1.1 then joins the
tables and fails where one of them refers to a third; `datapackage.json` has the foreign keys.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import yaml

from rl_resources.dataset import Dataset
from rl_resources.package import Field, Package, Resource

if TYPE_CHECKING:
    from rl_resources.site.downloads import Download

_SCHEMA_ORG = "https://schema.org/"
_CROISSANT_WORDS = (
    *("citeAs", "column", "extract", "field", "fileObject", "isArray", "arrayShape", "key"),
    *("recordSet", "separator", "source", "transform"),
)
_CROISSANT_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": _SCHEMA_ORG,
    "sc": _SCHEMA_ORG,
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{word: f"cr:{word}" for word in _CROISSANT_WORDS},
}
_CROISSANT_TYPES: Mapping[str, str] = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "list": "sc:Text",
}
_THOUSANDS = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def descriptor(package: Package, csv: Mapping[str, bytes]) -> str:
    """Data Package 2.0 of the CSV files beside it, by resource. It needs no other file."""
    resources = [
        {**item, **_file_and_schema(package, item["name"], csv[item["name"]])}
        for item in package.document["resources"]
    ]
    return _indented({**package.document, "resources": resources})


def _file_and_schema(package: Package, name: str, content: bytes) -> dict[str, Any]:
    schema = package.resources[name].schema
    return {
        "path": f"{name}.csv",
        "title": schema.title,
        "description": schema.description,
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": schema.document,
    }


def croissant(package: Package, csv: Mapping[str, bytes], folder: str = "") -> str:
    """Croissant of the CSV files beside it, whose contents `csv` has by resource.

    `folder` is the URL that all of them are published under, with a closing slash. With it the
    document can be read by its own URL; without it mlcroissant needs the files beside it.
    """
    document = {
        "@context": _CROISSANT_CONTEXT,
        **_about(package),
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "citeAs": citation(package),
        "url": urljoin(folder, "../data/"),
        "distribution": [_file_object(name, content, folder) for name, content in csv.items()],
        "recordSet": [_record_set(resource) for resource in package.resources.values()],
    }
    return _indented(document)


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
    source: dict[str, Any] = {
        "fileObject": {"@id": f"{table}.csv"},
        "extract": {"column": field.name},
    }
    if field.type == "list":
        source["transform"] = {"separator": field.delimiter}
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{field.name}",
        "name": field.name,
        "description": field.sentence,
        "dataType": _CROISSANT_TYPES[field.type],
        "source": source,
        **({"isArray": True, "arrayShape": "-1"} if field.type == "list" else {}),
    }


def data_page(package: Package, files: Iterable[Download], site: str = "") -> dict[str, Any]:
    """JSON-LD of the page `/data/`; relative to it where the URL of the `site` is empty."""
    return {
        "@context": _SCHEMA_ORG,
        **_about(package),
        "name": package.title,
        "alternateName": package.document["name"],
        "url": f"{site}data/" if site else "./",
        "distribution": [
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
        ],
    }


def _about(package: Package) -> dict[str, Any]:
    """What schema.org and Croissant share."""
    return {
        "@type": "Dataset",
        "name": package.document["name"],
        "description": package.description,
        "version": package.version,
        **({"datePublished": package.created} if package.created else {}),
        "license": [item["path"] for item in package.licenses],
        "keywords": list(package.keywords),
        "creator": [{"@type": "Organization", "name": name} for name in package.contributors],
        "isAccessibleForFree": True,
        "inLanguage": "en",
    }


def citation(package: Package) -> str:
    """One line to cite this version by."""
    authors = ", ".join(package.contributors)
    year = f" ({package.created[:4]})" if package.created else ""
    name = package.document["name"]
    return f"{authors}{year}. {name}: {package.title}. Version {package.version}."


def card(dataset: Dataset) -> str:
    """The dataset card, a README in the form of Hugging Face's dataset repositories.

    Its front matter makes the folder of downloads a repository that `datasets` loads.
    https://huggingface.co/docs/hub/datasets-cards
    """
    package, rows = dataset.package, sum(map(len, dataset.records.values()))
    front = {
        "license": [item["name"].lower() for item in package.licenses],
        "language": ["en"],
        "pretty_name": package.title,
        "tags": list(package.keywords),
        "task_categories": ["reinforcement-learning"],
        "size_categories": [next((word for most, word in _THOUSANDS if rows < most), "n>1M")],
        "configs": [
            {
                "config_name": name,
                "data_files": f"{name}.parquet",
                **({"default": True} if name == "tuning" else {}),
            }
            for name in package.resources
        ],
    }
    licenses = ", ".join(f"[{item['title']}]({item['path']})" for item in package.licenses)
    head = (
        f"# {package.title}\n\n{package.description}\n\n"
        f"Version {package.version}, under {licenses}. An empty cell means that the fact is not "
        "known; `datapackage.json` has the meaning of every column.\n\n"
        f"Cite as: {citation(package)}\n"
    )
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{text}---\n\n{head}"


def _indented(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
