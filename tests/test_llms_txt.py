"""`llms.txt` has the form of its proposal, and leads to the data and the pages."""

from __future__ import annotations

import re

from rl_resources import load
from rl_resources.site.environment import Site
from rl_resources.site.llms_txt import files
from rl_resources.site.pages import pages
from website import ROOT


def test_llms_txt_has_the_form_of_the_proposal() -> None:
    dataset = load(ROOT)
    text = files(dataset, "https://example.org/x/", pages(Site(dataset)))["llms.txt"]
    first, second, _, *rest = text.split("\n\n")
    assert re.fullmatch(r"# .+", first)
    assert re.fullmatch(r"> .+", second)
    headings, lists = rest[::2], rest[1::2]
    assert all(heading.startswith("## ") for heading in headings)
    for line in "\n".join(lists).splitlines():
        assert re.fullmatch(r"- \[.+\]\(https://example.org/x/[^)]*\): .+", line)
    for path in ("what-fits/", "reports/", "contributing/", "api/v1/index.json"):
        assert f"(https://example.org/x/{path})" in text
