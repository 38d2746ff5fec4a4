"""All rules: those of `check` on a contribution, and those of `import-page` on a hand-kept page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rl_resources.check.registry import FAMILIES as OF_CONTRIBUTIONS
from rl_resources.check.registry import Family, rules_of
from rl_resources.check.rule import Rule
from rl_resources.page import rules as of_pages

FAMILIES: Mapping[str, Family] = {
    **OF_CONTRIBUTIONS,
    "page": Family(
        "Hand-kept page",
        "page",
        "What `rl-resources import-page` checks on a page that is kept by hand.",
        (of_pages,),
    ),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    return {rule.name: rule for rule in rules_of(FAMILIES)}


def rules_by_family() -> dict[str, list[Rule]]:
    """The rules of every family, by the family's name."""
    found: dict[str, list[Rule]] = {name: [] for name in FAMILIES}
    for rule in all_rules().values():
        found[rule.family].append(rule)
    return found
