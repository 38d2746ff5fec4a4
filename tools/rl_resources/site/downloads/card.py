"""The dataset card: a README in the form of Hugging Face's dataset repositories.

Its front matter makes the folder of downloads, as it is, a repository that `datasets` loads.
https://huggingface.co/docs/hub/datasets-cards
"""

from __future__ import annotations

from typing import Any

import yaml

from rl_resources.dataset import Dataset
from rl_resources.package import Resource
from rl_resources.site import schema_org

_MAIN = "tuning"
_THOUSANDS = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def card(dataset: Dataset) -> str:
    """The whole card: front matter, what the dataset is, its tables and columns."""
    package = dataset.package
    front = yaml.safe_dump(_front(dataset), sort_keys=False, allow_unicode=True, width=100)
    licences = ", ".join(f"[{item['title']}]({item['path']})" for item in package.licenses)
    head = (
        f"# {package.title}\n\n{package.description}\n\n"
        f"Version {package.version}, under {licences}. A blank means that the fact is not known; "
        "`datapackage.json` has the constraints of every column.\n\n"
        f"Cite as: {schema_org.citation(package)}\n"
    )
    tables = (_table(dataset, resource) for resource in package.resources.values())
    return f"---\n{front}---\n\n{head}\n" + "\n".join(tables)


def _front(dataset: Dataset) -> dict[str, Any]:
    package = dataset.package
    rows = sum(map(len, dataset.records.values()))
    return {
        "license": [licence["name"].lower() for licence in package.licenses],
        "language": ["en"],
        "pretty_name": package.title,
        "tags": list(package.keywords),
        "task_categories": ["reinforcement-learning"],
        "size_categories": [next((word for most, word in _THOUSANDS if rows < most), "n>1M")],
        "configs": [_configuration(name) for name in package.resources],
    }


def _configuration(name: str) -> dict[str, Any]:
    files = {"config_name": name, "data_files": f"{name}.parquet"}
    return {**files, "default": True} if name == _MAIN else files


def _table(dataset: Dataset, resource: Resource) -> str:
    schema = resource.schema
    lines = [
        f"## {schema.title}\n",
        f"`{resource.name}`, {len(dataset.records[resource.name])} rows. {schema.description}\n",
        "| Column | Type | Unit | Meaning |",
        "|---|---|---|---|",
    ]
    for field in schema.fields:
        meaning = field.description.replace("|", "\\|")
        lines.append(f"| `{field.name}` | {field.type} | {field.unit} | {meaning} |")
    return "\n".join(lines) + "\n"
