"""All rules: those of `check` on a contribution, and those of `import-page` on a hand-kept page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from rl_resources.check.registry import FAMILIES as OF_CONTRIBUTIONS
from rl_resources.check.registry import Family, rules_of
from rl_resources.check.rule import Rule
from rl_resources.errors import UnusableInput
from rl_resources.page import rules as of_pages
from rl_resources.text import nearest

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


def chosen_rules(select: Collection[str] = (), ignore: Collection[str] = ()) -> list[Rule]:
    """The rules named by `select`, all if empty, without those named by `ignore`.

    Raises `UnusableInput` for a name that no rule has.
    """
    known = all_rules()
    for name in (*select, *ignore):
        if name not in known:
            close = nearest(name, known).sentence()
            raise UnusableInput(
                f"no rule is called {name!r}", close or "`rl-resources rules` lists all."
            )
    wanted = [name for name in known if not select or name in select]
    return [known[name] for name in wanted if name not in ignore]
