"""`llms.txt` has the form of its proposal, and leads to the data."""

from __future__ import annotations

import re

import pytest

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.site.assistants import files


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


def test_llms_txt_has_the_form_of_the_proposal(dataset: Dataset) -> None:
    text = files(dataset, "")["llms.txt"]
    first, second, *rest = text.split("\n\n")
    assert re.fullmatch(r"# .+", first)
    assert re.fullmatch(r"> .+", second)
    sections = [part for part in rest if part.startswith("#")]
    assert all(part.startswith("## ") for part in sections)
    lists = rest[rest.index(sections[0]) + 1 :: 2]
    assert len(lists) == len(sections)
    for line in "\n".join(lists).splitlines():
        assert re.fullmatch(r"- \[.+\]\([^)]+\): .+", line)


def test_addresses_in_llms_txt_are_absolute_where_the_site_has_one(dataset: Dataset) -> None:
    text = files(dataset, "https://example.org/x/")["llms.txt"]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all(link.startswith("https://example.org/x/") for link in links)
