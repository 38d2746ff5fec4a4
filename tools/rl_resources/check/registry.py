"""All rules of `check`, by family.

A family is a heading of the page of rules and a line of the contribution checklist. Both are the
docstring of its first module: the first paragraph is the title, the second what the rules ask of a
contribution. What follows is for readers of the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import NamedTuple

from rl_resources.check import exemptions, fixers
from rl_resources.check.dataset import (
    cells,
    compatibility,
    files,
    form,
    plausibility,
    records,
    reports,
    scripts,
)
from rl_resources.check.pair import agreement, max_batch, running
from rl_resources.check.rule import Rule, Scope, paragraphs
from rl_resources.check.script import (
    arguments,
    content,
    privacy,
    releases,
    safety,
    shellcheck,
    variables,
)


class Family(NamedTuple):
    """The rules of some modules, in the order of the source, with their family and fixer."""

    title: str
    summary: str
    scope: Scope
    rules: tuple[Rule, ...]


def family(name: str, scope: Scope, *modules: ModuleType) -> Family:
    """The family that these modules make; the first one's docstring documents it."""
    title, summary, *_ = paragraphs(modules[0].__doc__ or "")
    rules = (
        replace(rule, family=name, scope=scope, fixer=getattr(fixers, rule.mistakes.__name__, None))
        for module in modules
        for rule in vars(module).values()
        if isinstance(rule, Rule) and rule.mistakes.__module__ == module.__name__
    )
    return Family(title.removesuffix("."), summary, scope, tuple(rules))


FAMILIES: Mapping[str, Family] = {
    "files": family("files", "dataset", files),
    "cells": family("cells", "dataset", cells),
    "records": family("records", "dataset", records),
    "reports": family("reports", "dataset", reports),
    "plausibility": family("plausibility", "dataset", plausibility),
    "scripts": family("scripts", "dataset", scripts),
    "form": family("form", "dataset", form),
    "compatibility": family("compatibility", "dataset", compatibility),
    "content": family("content", "script", content, shellcheck),
    "variables": family("variables", "script", variables),
    "arguments": family("arguments", "script", arguments),
    "releases": family("releases", "script", releases),
    "safety": family("safety", "script", safety, privacy),
    "agreement": family("agreement", "pair", agreement, max_batch),
    "running": family("running", "pair", running),
    "exemptions": family("exemptions", "outcome", exemptions),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule of `check` by name, by family and within it in the order of the source."""
    return {rule.name: rule for family in FAMILIES.values() for rule in family.rules}
