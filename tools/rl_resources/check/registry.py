"""All rules, by family: those of `check` on a contribution, those of `import-page` on a page.

A family is a heading of the page of rules and a line of the contribution checklist. Both are the
docstring of its first module: the first paragraph is the title, the second what the rules ask of a
contribution. What follows is for readers of the code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import NamedTuple

from rl_resources.check import exemptions
from rl_resources.dataset_rules import (
    cells,
    evidence,
    files,
    form,
    plausibility,
    records,
    scripts,
)
from rl_resources.dataset_rules import tags as of_tags
from rl_resources.errors import UnusableInput
from rl_resources.page import link_rules
from rl_resources.page import rules as of_pages
from rl_resources.rule import Rule, Scope, paragraphs
from rl_resources.script_rules import (
    agreement,
    arguments,
    compatibility,
    content,
    data,
    privacy,
    releases,
    running,
    safety,
    shellcheck,
    tags,
    variables,
)
from rl_resources.text import nearest


class Family(NamedTuple):
    """The rules of some modules, in the order of the source, with their family and fixer."""

    title: str
    summary: str
    scope: Scope
    rules: tuple[Rule, ...]


def family(name: str, scope: Scope, *modules: ModuleType) -> Family:
    """The family of these modules; the docstring of the first one documents it."""
    title, summary, *_ = paragraphs(modules[0].__doc__ or "")
    rules: list[Rule] = []
    for module in modules:
        for function, rule in vars(module).items():
            if isinstance(rule, Rule) and rule.mistakes.__module__ == module.__name__:
                fixer = vars(module).get(f"fix_{function}")
                rules.append(replace(rule, family=name, scope=scope, fixer=fixer))
    return Family(title.removesuffix("."), summary, scope, tuple(rules))


FAMILIES: Mapping[str, Family] = {
    "files": family("files", "dataset", files),
    "cells": family("cells", "dataset", cells),
    "records": family("records", "dataset", records, evidence),
    "plausibility": family("plausibility", "dataset", plausibility),
    "tags": family("tags", "dataset", of_tags),
    "scripts": family("scripts", "dataset", scripts),
    "form": family("form", "dataset", form),
    "compatibility": family("compatibility", "dataset", compatibility),
    "content": family("content", "script", content, shellcheck),
    "variables": family("variables", "script", variables),
    "arguments": family("arguments", "script", arguments),
    "releases": family("releases", "script", releases),
    "safety": family("safety", "script", safety, privacy),
    "agreement": family("agreement", "pair", agreement, tags),
    "running": family("running", "pair", running),
    "data": family("data", "pair", data),
    "exemptions": family("exemptions", "outcome", exemptions),
    "page": family("page", "page", of_pages, link_rules),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    found: dict[str, Rule] = {}
    for family in FAMILIES.values():
        for rule in family.rules:
            found[rule.name] = replace(rule, follows=_names(rule.follows))
    return found


def _names(followed: Sequence[str]) -> tuple[str, ...]:
    """The names of rules, with those of each family in the place of its name."""
    names: list[str] = []
    for name in followed:
        if name in FAMILIES:
            names.extend(rule.name for rule in FAMILIES[name].rules)
        else:
            names.append(name)
    return tuple(names)


def with_followed(rules: Iterable[Rule]) -> list[Rule]:
    """The rules and all rules that any of them follows."""
    found = {rule.name: rule for rule in rules}
    waiting = list(found.values())
    while waiting:
        for name in waiting.pop().follows:
            if name not in found:
                found[name] = all_rules()[name]
                waiting.append(found[name])
    return list(found.values())


def chosen_rules(select: Collection[str] = (), ignore: Collection[str] = ()) -> list[Rule]:
    """The rules named by `select`, all if empty, without those named by `ignore`.

    Raises `UnusableInput` for a name that no rule has.
    """
    known = all_rules()
    for name in (*select, *ignore):
        if name not in known:
            raise UnusableInput(
                f"no rule is called {name!r}",
                nearest(name, known).sentence() or "`rl-resources rules` lists all.",
            )
    wanted = select or known
    return [rule for name, rule in known.items() if name in wanted and name not in ignore]
