"""The defaults of one release of a framework and the history of all, shipped with this package.

`rl-resources compat` writes both. The defaults are keys and values of the configurations that
training scripts start from, in the newest release: the first one whole, the others as differences
from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rl_resources.script.framework.composition import (
    CannotComposeError,
    Composition,
    Entry,
    Source,
    compose_module,
)
from rl_resources.script.framework.syntax import Override

if TYPE_CHECKING:
    from rl_resources.script.framework.releases import Release

DEFAULTS = "tools/rl_resources/script/framework"
"""Where a checkout keeps the defaults files, one a framework: `FRAMEWORK.json`."""
HISTORY = f"{DEFAULTS}/history"
"""Where a checkout keeps the histories, one a framework: `FRAMEWORK.json`."""
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

    names: Mapping[str, str]
    group = GROUP
    all_groups: Sequence[str]
    choices: Mapping[str, Composition] = field(repr=False)

    def groups(self, entry: Entry) -> Sequence[str]:
        """All config groups of the release."""
        return self.all_groups

    def start(self, entry: Entry, choices: Sequence[Override]) -> Composition:
        """One of the shipped configurations; raises as `Source.start` says."""
        if entry.folder != self.modules[MODULE].folder or entry.config_name not in self.names:
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
    return Shipped(**raw | {"modules": modules, "choices": choices})


def describe(release: Release) -> str:
    """The defaults file of one release: the same text for the same release.

    Raises `CannotComposeError`.
    """
    entry = release.modules[MODULE]
    names = {
        name: str(release.start(entry._replace(config_name=name), ()).values[GROUP])
        for name in NAMES
    }
    own = names[entry.config_name]
    every = sorted(path.stem for path in (release.folder / entry.folder / GROUP).glob("*.yaml"))
    values = {
        choice: release.start(entry, [Override("", GROUP, choice)]).values
        for choice in sorted(every, key=lambda choice: choice != own)
    }
    document = {
        "framework": release.framework,
        "version": release.version,
        "names": names,
        "all_groups": sorted(release.groups(entry)),
        "modules": {name: entry._asdict() for name, entry in release.modules.items()},
        "choices": {
            choice: _difference(values[own] if choice != own else {}, config)
            for choice, config in values.items()
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _difference(first: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, object]:
    """What a choice changes in the first one."""
    known = {key: json.dumps(value) for key, value in first.items()}
    changed = {key: value for key, value in values.items() if known.get(key) != json.dumps(value)}
    return {"unset": sorted(set(first) - set(values)), "set": changed}


# Which releases of a framework knew a key of its configuration


class History(NamedTuple):
    """What changed between the first and the last of `releases`, oldest first.

    `gone` maps the name of a configuration to the keys that it had and the last release that had
    them, `modules` the modules to start that are gone alike.
    """

    releases: Sequence[str]
    gone: Mapping[str, Mapping[str, str]]
    modules: Mapping[str, str]

    def last_with(self, key: str) -> str | None:
        """The last release of which a configuration had a key or section that is gone."""
        gone = chain.from_iterable(keys.items() for keys in self.gone.values())
        found = {last for known, last in gone if f"{known}.".startswith(f"{key}.")}
        return max(found, key=self.releases.index, default=None)


@lru_cache(maxsize=4)
def history(framework: str) -> History:
    """The history of a framework whose defaults are shipped."""
    path = _FOLDER / "history" / f"{framework}.json"
    return History(**json.loads(path.read_text(encoding="utf-8")))


def write_history(releases: Sequence[Source]) -> str:
    """The file's text from all releases of one framework, oldest first."""
    had = {
        name: {
            release.version: set(compose_module(release, MODULE, name, None, ()).values)
            for release in releases
        }
        for name in NAMES
    }
    document = {
        "releases": [release.version for release in releases],
        "modules": _gone({release.version: set(release.modules) for release in releases}),
        "gone": {name: _gone(keys) for name, keys in had.items()},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _gone(had: Mapping[str, set[str]]) -> dict[str, str]:
    """What the last release lacks, with the last one that had it."""
    newest = [*had][-1]
    found = {item: release for release, items in had.items() for item in items}
    return {item: found[item] for item in sorted(found) if found[item] != newest}


MOST_CHARACTERS = 200


class Rejected(NamedTuple):
    """One rejected setting, and its line in the script."""

    line: int
    key: str
    kind: str

    def __str__(self) -> str:
        return f"{self.line} {as_word(self.key)} {self.kind}"


def as_word(key: str) -> str:
    """A key as the table has it: what a list of words cannot have becomes `_`."""
    return re.sub(r"[\s;]", "_", key)[:MOST_CHARACTERS] or "_"


def read_rejected(cell: str) -> list[Rejected]:
    """The settings in a cell of the column `rejected`, in their order.

    Raises `ValueError` for a cell of another form.
    """
    items = (item.split(" ") for item in cell.split("; ") if item)
    return [Rejected(int(line), key, kind) for line, key, kind in items]
