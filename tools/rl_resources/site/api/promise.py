"""What those who build on the published data may rely on: the one place where it is written."""

from __future__ import annotations

PROMISE = (
    "An address under `/api/v1/` that has once been published stays, and so does the shape of "
    "what it gives: no field goes away, changes its type, may be null where it never was, or loses "
    "a word of its vocabulary. What would break this gets `/api/v2/` beside it.",
    "Every field that a schema names is always there. What is not known is null; a list that is "
    "not known is null too, never empty. No field holds two types.",
    "Addresses, fields, tables and words of a vocabulary may be added at any time: ignore what "
    "you do not know, and hold a document to the schema published with it, not to an older copy. "
    "The order of fields means nothing; rows stand in a fixed order, in which new ones find their "
    "place.",
    "Ids are stable: `id` of a record, `report` of a report, the key of any other table. A record "
    "that is renamed, split or withdrawn keeps its address: there `record` is null, and `moved` "
    "names the ids that stand for it today, with the version and the reason.",
    "Figures may be mended. `dataset_version` names the release and `commit` the revision. "
    "`changes.json` lists the releases and what each changed; `changes/<version>.json` has every "
    "row, and what has changed since. `index.json` has the SHA-256 of every document and download, "
    "so that you need to fetch only what differs.",
    "A `status` of `untested` or `disputed` is part of the figure: show it with the figure.",
)
"""A rule is a sentence or a few; backticks enclose code."""
