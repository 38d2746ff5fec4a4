"""The defaults of one release of a framework, shipped with this package.

`rl-resources compat` writes the file from the newest release. It has keys and default values of
the configurations that training scripts start from: the first one whole, the others as differences
from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_resources.errors import UnusableInput
from rl_resources.script.framework.composition import (
    UNKNOWN,
    CannotComposeError,
    Composition,
    Entry,
    Overrides,
    Source,
)
from rl_resources.script.framework.overrides import compose_module

if TYPE_CHECKING:
    from rl_resources.script.framework.releases import Release
    from rl_resources.script.framework.syntax import Override

DEFAULTS = "tools/rl_resources/script/framework"
"""Where a checkout keeps the defaults files, one a framework: `FRAMEWORK.json`."""
MODULE = "verl.trainer.main_ppo"
NAMES = ("ppo_trainer", "ppo_megatron_trainer")
GROUP = "model_engine"
"""What training scripts start: a module, its configurations, and the group for the backend."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Shipped(Source):
    """The configurations of one release that training scripts start from.

    `choices` maps each choice of the config group `group` to the configuration without any
    override, the usual choice first, `names` the name of each configuration to the choice that it
    makes. `all_groups` are all config groups.
    """

    folder: str
    names: Mapping[str, str]
    group: str
    all_groups: Sequence[str]
    choices: Mapping[str, Composition] = field(repr=False)

    def groups(self, entry: Entry) -> Sequence[str]:
        """All config groups of the release."""
        return self.all_groups

    def start(self, entry: Entry, choices: Sequence[Override]) -> Composition:
        """One of the shipped configurations; raises as `Source.start` says."""
        if entry.folder != self.folder or entry.config_name not in self.names:
            raise CannotComposeError(f"the defaults of `{entry.config_name}` are not shipped")
        choice = self.names[entry.config_name]
        for override in choices:
            key = f"{override.prefix}{override.key}"
            if key != self.group:
                raise CannotComposeError(f"the choices of `{key}` are not shipped")
            choice = str(override.value)
        if choice not in self.choices:
            reason = f"`{choice}` is not the name of a file in the group"
            raise CannotComposeError(reason, "group", self.group)
        return self.choices[choice]

    def default(self, key: str) -> Any:
        """The raw default of a dotted key, of the first choice that has it; else `UNKNOWN`."""
        every = (choice.values for choice in self.choices.values())
        return next((values[key] for values in every if key in values), UNKNOWN)

    def choice_with(self, key: str) -> str | None:
        """The first choice that has a setting or section of this dotted key."""
        every = self.choices.items()
        return next((name for name, it in every if key in it.values or key in it.sections), None)


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *above, last = key.split(".")
        node = tree
        for name in above:
            node = node.setdefault(name, {})
        node[last] = value
    return tree


@lru_cache(maxsize=4)
def shipped(framework: str) -> Shipped:
    """The shipped defaults of `framework`."""
    return read_shipped((_FOLDER / f"{framework}.json").read_text(encoding="utf-8"))


def read_shipped(text: str) -> Shipped:
    """The value of a defaults file's text."""
    raw = json.loads(text)
    whole: Mapping[str, Any] = {}
    choices = {}
    for choice, change in raw["choices"].items():
        gone = set(change["unset"])
        values = {key: whole[key] for key in whole if key not in gone} | change["set"]
        whole = whole or values
        choices[choice] = Composition(raw["framework"], raw["version"], _nested(values))
    modules = {name: Entry(**entry) for name, entry in raw["modules"].items()}
    groups = raw.pop("groups")
    return Shipped(**raw | {"modules": modules, "choices": choices, "all_groups": groups})


def describe(release: Release) -> str:
    """The defaults file of one release: the same text for the same release.

    Raises `UnusableInput` where the release has a form that the file cannot store.
    """
    entry = release.modules[MODULE]
    names = {name: _values(release, name, ()) for name in NAMES}
    own = str(names[entry.config_name][GROUP])
    every = sorted(path.stem for path in (release.folder / entry.folder / GROUP).glob("*.yaml"))
    values = {
        choice: _values(release, entry.config_name, [(GROUP, choice)])
        for choice in sorted(every, key=lambda choice: choice != own)
    }
    same = {json.dumps(config): choice for choice, config in values.items()}
    document = {
        "framework": release.framework,
        "version": release.version,
        "folder": entry.folder,
        "names": {name: same[json.dumps(names[name])] for name in NAMES},
        "group": GROUP,
        "groups": sorted(release.groups(entry)),
        "modules": {name: entry._asdict() for name, entry in release.modules.items()},
        "choices": {
            choice: _difference(values[own] if choice != own else {}, config)
            for choice, config in values.items()
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _values(release: Release, name: str, overrides: Overrides) -> Mapping[str, Any]:
    composed = compose_module(release, MODULE, name, None, overrides)
    if not composed.accepted:
        raise UnusableInput(f"{release.framework} {release.version}: `{name}` does not compose")
    return composed.values


def _difference(first: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, object]:
    """What a choice changes in the first one."""
    known = {key: json.dumps(value) for key, value in first.items()}
    changed = {key: value for key, value in values.items() if known.get(key) != json.dumps(value)}
    return {"unset": sorted(set(first) - set(values)), "set": changed}
