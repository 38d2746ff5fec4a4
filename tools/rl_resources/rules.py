"""All rules: those of `check` on a contribution, and those of `import-page` on a hand-kept page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from rl_resources.check.registry import FAMILIES as OF_CONTRIBUTIONS
from rl_resources.check.registry import Family, family
from rl_resources.check.rule import Rule
from rl_resources.errors import UnusableInput
from rl_resources.page import rules as of_pages
from rl_resources.text import nearest

FAMILIES: Mapping[str, Family] = {**OF_CONTRIBUTIONS, "page": family("page", "page", of_pages)}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    return {rule.name: rule for family in FAMILIES.values() for rule in family.rules}


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
