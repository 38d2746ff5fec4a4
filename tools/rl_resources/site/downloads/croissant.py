"""Croissant 1.1: the CSV files and their columns, for tools of machine learning.

One record set reads one CSV file. No field says what it `references`, because mlcroissant 1.1 joins
the tables then and fails where one of them refers to a third; `datapackage.json` has the foreign
keys. Vocabulary:
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from rl_resources.package import Field, Package, Resource
from rl_resources.site import schema_org

VERSION = "http://mlcommons.org/croissant/1.1"
_OF_CROISSANT = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field"),
    *("fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset"),
    *("jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": schema_org.VOCABULARY,
    "sc": schema_org.VOCABULARY,
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{word: f"cr:{word}" for word in _OF_CROISSANT},
}
_TYPES: Mapping[str, str] = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "list": "sc:Text",
}


def croissant(package: Package, csv: Mapping[str, bytes], folder: str = "") -> str:
    """The document about the CSV files beside it, whose contents `csv` has by resource.

    `folder` is the address that all of them are published under, with a closing slash. With it the
    document can be read by its own address; without it mlcroissant wants the files beside it.
    """
    document = {
        "@context": _CONTEXT,
        **schema_org.about(package),
        "conformsTo": VERSION,
        "citeAs": schema_org.citation(package),
        "url": urljoin(folder, "../data/"),
        "distribution": [_file(name, content, folder) for name, content in csv.items()],
        "recordSet": [_record_set(resource) for resource in package.resources.values()],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(name: str, content: bytes, folder: str) -> dict[str, str]:
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
        "field": [_field(resource, field) for field in schema.fields],
    }


def _field(resource: Resource, field: Field) -> dict[str, Any]:
    source: dict[str, Any] = {
        "fileObject": {"@id": f"{resource.name}.csv"},
        "extract": {"column": field.name},
    }
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{resource.name}/{field.name}",
        "name": field.name,
        "description": field.sentence,
        "dataType": _TYPES[field.type],
        "source": source,
    }
    if field.type == "list":
        source["transform"] = {"separator": field.delimiter}
        found |= {"isArray": True, "arrayShape": "-1"}
    return found
