"""The page of the rules, and what contributors are told before they begin, from the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rl_resources.dataset import Dataset
from rl_resources.site.findings import RuleText
from rl_resources.site.site import Site


class RuleExamples(RuleText, Protocol):
    """What the page says of a rule; `check.Rule` is one."""

    @property
    def family(self) -> str:
        """The name of its family."""

    @property
    def bad(self) -> str:
        """What it refuses."""

    @property
    def good(self) -> str:
        """What it wants instead."""

    @property
    def fixable(self) -> bool:
        """Whether `check --fix` fixes what it finds."""


class FamilyText(Protocol):
    """What is said of a family of rules; `check.registry.Family` is one."""

    @property
    def title(self) -> str:
        """Its heading."""

    @property
    def summary(self) -> str:
        """What it holds a contribution to."""

    @property
    def scope(self) -> str:
        """What its rules look at; `page` is no part of a contribution."""


Families = Mapping[str, FamilyText]
Rules = Mapping[str, Sequence[RuleExamples]]


def pages(
    dataset: Dataset, repository_url: str | None, families: Families, rules: Rules
) -> dict[str, str]:
    """`/rules/` by its path. `rules` are those of each family by the family's name."""
    site = Site(dataset, repository_url)
    return {
        "rules/index.md": site.page("rules/index.md", "rules.md", families=families, rules=rules)
    }


def checklist(families: Families, base: str = "") -> str:
    """One line a family, as Markdown. With `base` each links to its rules below that address."""
    return "".join(
        f"- {f'[{family.title}]({base}#family-{name})' if base else f'**{family.title}**'}: "
        f"{family.summary}\n"
        for name, family in families.items()
        if family.scope != "page"
    )


def pull_request_template(families: Families) -> str:
    """What GitHub puts into the description of a new pull request: nothing to tick."""
    return f"""\
<!-- What does this add, and where can it be seen (log, results page, run page)? -->


<!--
There is nothing to tick: CI checks the list below and shows each finding at its line. Before you
push, `make check` says the same, and `rl-resources rules NAME` says why a rule exists.

{checklist(families)}-->
"""
