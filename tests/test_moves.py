"""An id that was published once still leads somewhere: its page and its document say where."""

from __future__ import annotations

import dataclasses
import json
import re
from urllib.parse import urljoin

from jsonschema import Draft202012Validator

from rl_resources import load
from rl_resources.dataset import Dataset, moves
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.site import api, api_schema, record_page
from rl_resources.site.environment import Site

TODAY = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"


def _moved(*rows: tuple[str, tuple[str, ...] | None]) -> Dataset:
    dataset = load()
    moved: tuple[Record, ...] = tuple(
        {"resource": "tuning", "id": name, "moved_to": to, "version": "2026.12.0", "reason": "Why."}
        for name, to in rows
    )
    return dataclasses.replace(dataset, records={**dataset.records, "moved": moved})


def test_moves_are_followed_to_what_stands_there_today() -> None:
    dataset = _moved(("a", ("b", "c")), ("b", (TODAY,)), ("c", None))
    assert [move.moved_to for move in moves(dataset, "tuning")] == [(TODAY,), (TODAY,), ()]


def test_the_old_document_says_where_the_record_went_and_holds_its_schema() -> None:
    dataset = _moved(("old", (TODAY,)))
    by_path = {item.path: item for item in api.documents(dataset, api.Publication())}
    document = json.loads(by_path["records/old.json"].text)
    moved = {"moved_to": [TODAY], "version": "2026.12.0", "reason": "Why."}
    assert document["record"] is None
    assert document["moved"] == moved
    Draft202012Validator(api_schema.schemas(dataset)["schema/record.json"]).validate(document)


def test_the_old_page_links_to_the_new_one_which_names_the_old_id() -> None:
    pages = _pages(_moved(("old", (TODAY,))))
    (link,) = re.findall(r'href="([^"]+)"', pages["records/old.md"])
    assert urljoin("/records/old/", link) == f"/records/{TODAY}/"
    assert "Formerly <code>old</code>" in pages[f"records/{TODAY}.md"]


def test_a_withdrawn_record_says_so() -> None:
    page = _pages(_moved(("old", None)))["records/old.md"]
    assert "withdrawn" in page


def _pages(dataset: Dataset) -> dict[str, str]:
    no_scripts = {str(row["script"]): "" for row in dataset.records["tuning"]}
    return record_page.pages(
        Site(dataset), no_scripts, lambda _: None, Repository(None, None, None)
    )
