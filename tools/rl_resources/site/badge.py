"""A record's badge: one line that says what runs where, and how sure that is.

As the JSON that https://shields.io/badges/endpoint-badge reads.
"""

from __future__ import annotations

import json

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.site.api import record_id
from rl_resources.site.tuning_table import tuning_row

COLOURS = {
    "untested": "51606a",
    "reported": "12405a",
    "reproduced": "0b6b4b",
    "disputed": "a3202c",
}
_OTHER_COLOUR = "2f3b43"


def files(dataset: Dataset) -> dict[str, str]:
    """The badges of all records by their paths, `badges/<id>.json`."""
    return {
        f"badges/{record_id(record)}.json": endpoint(record) for record in dataset.records["tuning"]
    }


def endpoint(record: Record) -> str:
    """The document that Shields asks for: model and task, then hardware, tag and status."""
    row = tuning_row(record, "")
    document = {
        "schemaVersion": 1,
        "label": f"{row.model} {row.task}",
        "message": f"{row.resource} · {row.tag} · {row.status}",
        "color": COLOURS.get(row.status, _OTHER_COLOUR),
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
