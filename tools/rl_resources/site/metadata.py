"""What describes the dataset for others: Data Package, Croissant, dataset card, llms.txt, feed.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html): one record set
reads one CSV file. No field says what it `references`, because mlcroissant 1.1 then joins the
tables and fails where one of them refers to a third; `datapackage.json` has the foreign keys.
"""

from __future__ import annotations

import hashlib
import html
import re
import uuid
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import yaml

from rl_resources.dataset import moves
from rl_resources.errors import UnusableInput
from rl_resources.git import utc
from rl_resources.package import Field, Package, Resource
from rl_resources.site.api import record_id
from rl_resources.site.environment import Site, page_url
from rl_resources.site.tuning_table import tuning_rows

HAND_WRITTEN = "site/pages"
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
_CROISSANT_TYPES: Mapping[str, str] = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "list": "sc:Text",
}
_THOUSANDS = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**9, "n>100K"))


def descriptor(package: Package, csv: Mapping[str, bytes]) -> dict[str, Any]:
    """Data Package 2.0 of the CSV files in the same folder, by resource. It needs no other file."""

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
    document can be read by its own URL; without it mlcroissant needs the files in the same folder.
    """
    return {
        "@context": _CROISSANT_CONTEXT,
        "@type": "Dataset",
        "name": package.document["name"],
        "alternateName": package.title,
        "description": package.description,
        "version": package.version,
        **({"datePublished": package.created} if package.created else {}),
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
        "dataType": _CROISSANT_TYPES[field.type],
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
    year = f" ({package.created[:4]})" if package.created else ""
    name = package.document["name"]
    return f"{authors}{year}. {name}: {package.title}. Version {package.version}."


def card(site: Site) -> str:
    """The dataset card, a README in the form of Hugging Face's dataset repositories.

    Its front matter makes the folder of downloads a repository that `datasets` loads.
    https://huggingface.co/docs/hub/datasets-cards
    """
    rows, path = sum(map(len, site.dataset.records.values())), "downloads/README.md"
    category = next(word for most, word in _THOUSANDS if rows < most)
    return site.page(path, path, size_category=category, citation=citation(site.dataset.package))


def llms_txt(site: Site, made: Mapping[str, str | bytes]) -> str:
    """Where assistants find the data and the pages, by the form of https://llmstxt.org.

    It lists the pages at the top and the index of each folder: those of the generated files `made`,
    and those written by hand.
    """
    tuning = {size.name: tuning_rows(site.dataset, size.name) for size in site.sizes}
    by_hand = sorted((site.dataset.package.root / HAND_WRITTEN).glob("*.md"))
    texts = {**made, **{file.name: file.read_text(encoding="utf-8") for file in by_hand}}
    return site.page("index.md", "llms.txt", tuning=tuning, pages=list(_described_pages(texts)))


def _described_pages(texts: Mapping[str, str | bytes]) -> Iterator[tuple[str, str, str]]:
    """URL, title and description of each page at the top, from its front matter."""
    for path, text in texts.items():
        if isinstance(text, str) and re.fullmatch(r"[^/]+\.md|[^/]+/index\.md", path):
            front = text.split("---\n", 2)[1] if text.startswith("---\n") else ""
            meta = yaml.safe_load(front) or {}
            if not {"title", "description"} <= meta.keys():
                problem = f"{HAND_WRITTEN}/{path} has no title and description"
                raise UnusableInput(problem, "Begin it like site/pages/contributing.md.")
            title, description = (html.unescape(meta[key]) for key in ("title", "description"))
            yield page_url(path), title, description


FEED = "feeds/all.xml"
"""The Atom feed (RFC 4287). An entry keeps its id; its time is that of the commit that last wrote
the row, or the day of the release where git does not say."""
MOST_ENTRIES = 200
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")

LineTimes = Mapping[int, int]
"""When each line of a file was last written, in seconds since 1970, by line from 1."""


def feed(site: Site, times: Mapping[str, LineTimes]) -> str:
    """The feed as XML. `times` has the lines of the tables `tuning` and `moved`."""
    dataset = site.dataset
    released = f"{dataset.package.created or '1970-01-01'}T00:00:00Z"

    def updated(table: str, line: int) -> str:
        return utc(times[table][line]) if line in times[table] else released

    entries: list[dict[str, Any]] = [
        {"id": record_id(row), "record": row, "updated": updated("tuning", line)}
        for line, row in enumerate(dataset.records["tuning"], start=2)
    ]
    lines = {row["id"]: line for line, row in enumerate(dataset.records["moved"], start=2)}
    entries += [
        {"id": move.id, "move": move, "updated": updated("moved", lines[move.id])}
        for move in moves(dataset, "tuning")
    ]
    entries.sort(key=itemgetter("updated"), reverse=True)
    values = {"entries": entries[:MOST_ENTRIES], "released": released}
    return site.page(FEED, FEED, **values, urn=lambda name: uuid.uuid5(_NAMESPACE, name).urn)
