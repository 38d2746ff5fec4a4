"""All rules of `check`, by family.

A family is a heading of the page of rules and a line of the contribution checklist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import NamedTuple

from rl_resources.check import exemptions
from rl_resources.check.dataset import (
    cells,
    compatibility,
    files,
    form,
    memory,
    provenance,
    scripts,
    tables,
)
from rl_resources.check.fixers import FIXERS
from rl_resources.check.pair import agreement, max_batch, running
from rl_resources.check.pair import memory as pair_memory
from rl_resources.check.rule import Rule, Scope
from rl_resources.check.script import (
    arguments,
    content,
    paths,
    releases,
    safety,
    secrets,
    shellcheck,
    variables,
)


class Family(NamedTuple):
    """The rules of some modules, in the order of the source.

    `summary` is what they ask of a contribution, as the contribution checklist says it.
    """

    title: str
    scope: Scope
    summary: str
    modules: tuple[ModuleType, ...]


FAMILIES: Mapping[str, Family] = {
    "files": Family(
        "Files",
        "dataset",
        "Each table is UTF-8 with LF line ends, its quotes are closed, its header is the schema's.",
        (files,),
    ),
    "cells": Family(
        "Cells",
        "dataset",
        "Each cell has the form of its column and words that the tables know; nothing in it is "
        "invisible, active or private.",
        (cells,),
    ),
    "tables": Family(
        "Records",
        "dataset",
        "Each key is unique, each record has a contributor or a source, notes say what is "
        "disputed, and an id that was published leads somewhere.",
        (tables,),
    ),
    "provenance": Family(
        "Provenance of reports",
        "dataset",
        "Each published figure links to the line that states it, at a commit, and names what "
        "contradicts it.",
        (provenance,),
    ),
    "memory": Family(
        "Plausibility",
        "dataset",
        "The devices have room for what trains, no peak is above a device's memory, and no date "
        "is in the future.",
        (memory,),
    ),
    "scripts": Family(
        "Script name and place",
        "dataset",
        "Each row has one script, named after its six facts, in the folder of its model's size.",
        (scripts,),
    ),
    "form": Family(
        "Canonical form",
        "dataset",
        "Rows are sorted and cells are quoted only where needed: `rl-resources fmt` does both.",
        (form,),
    ),
    "compatibility": Family(
        "Compatibility with releases",
        "dataset",
        "The generated rows on releases belong to the scripts as they are.",
        (compatibility,),
    ),
    "content": Family(
        "Script content",
        "script",
        "bash accepts the script, ShellCheck finds nothing, every argument arrives, and a failure "
        "ends it.",
        (content, shellcheck),
    ),
    "variables": Family(
        "Variables of a script",
        "script",
        "Each variable is set, is read, and contains what its name says.",
        (variables,),
    ),
    "arguments": Family(
        "Arguments of a run",
        "script",
        "Each setting exists in the framework's configuration, has its type, and is given once.",
        (arguments,),
    ),
    "releases": Family(
        "Settings of other releases",
        "script",
        "Settings are written as the framework's newest release accepts them.",
        (releases,),
    ),
    "safety": Family(
        "Safety and privacy of a script",
        "script",
        "The script contains no secret, no private path and no unexpected command.",
        (paths, secrets, safety),
    ),
    "agreement": Family(
        "Agreement of row and script",
        "pair",
        "The row says what the script does, and the script does what its tag promises.",
        (agreement, pair_memory, max_batch),
    ),
    "running": Family(
        "What the framework refuses at its start",
        "pair",
        "Batches and parallel sizes divide as the framework asserts.",
        (running,),
    ),
    "exemptions": Family(
        "Exemptions",
        "outcome",
        "A record is exempt from a rule only if it violates it, and with a reason.",
        (exemptions,),
    ),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule of `check` by name, by family and within it in the order of the source."""
    return {rule.name: rule for rule in rules_of(FAMILIES)}


def rules_of(families: Mapping[str, Family]) -> Iterator[Rule]:
    """The rules of these families, each with its family and its fixer."""
    for name, family in families.items():
        for module in family.modules:
            for rule in vars(module).values():
                if isinstance(rule, Rule) and rule.mistakes.__module__ == module.__name__:
                    fixer = FIXERS.get(rule.name)
                    yield replace(rule, family=name, scope=family.scope, fixer=fixer)
