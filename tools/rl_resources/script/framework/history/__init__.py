"""Which releases of a framework knew a key of its configuration.

`rl-resources compat` writes `FRAMEWORK.json` beside this module from all releases, as it writes the
defaults of the newest one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rl_resources.script.framework.compose import Configuration
from rl_resources.script.framework.describe import STARTS
from rl_resources.script.framework.shipped import DEFAULTS

HISTORY = f"{DEFAULTS}/history"
"""Where a checkout keeps the histories, one a framework: `FRAMEWORK.json`."""


@dataclass(frozen=True, slots=True)
class History:
    """What changed between the first and the last of `releases`, oldest first.

    `since` maps keys of the last release that the first one lacks to the first that has them.
    `gone` maps the name of a configuration to the keys that it had and the last release that had
    them, `modules` the modules to start that are gone alike.
    """

    framework: str
    releases: tuple[str, ...]
    since: Mapping[str, str]
    gone: Mapping[str, Mapping[str, str]]
    modules: Mapping[str, str]

    def last_with(self, name: str, key: str) -> str | None:
        """The last release whose configuration `name` had a key or section that is gone."""
        gone = self.gone.get(name, {})
        found = {last for known, last in gone.items() if f"{known}.".startswith(f"{key}.")}
        return max(found, key=self.releases.index, default=None)


@lru_cache(maxsize=4)
def history(framework: str) -> History:
    """The history of a framework whose defaults are shipped."""
    path = Path(__file__).parent / f"{framework}.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    return History(**raw | {"releases": tuple(raw["releases"])})


def write_history(configurations: Sequence[Configuration]) -> str:
    """The file's text from all releases of one framework, oldest first."""
    start = STARTS[configurations[0].framework]
    had = {
        name: {known.version: set(_keys(known, start.module, name)) for known in configurations}
        for name in start.names
    }
    modules = {known.version: set(known.modules) for known in configurations}
    every = {release: set().union(*(keys[release] for keys in had.values())) for release in modules}
    document = {
        "framework": configurations[0].framework,
        "releases": list(modules),
        "modules": _gone(modules),
        "gone": {name: _gone(keys) for name, keys in had.items()},
        "since": _since(every),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _keys(known: Configuration, module: str, name: str) -> Iterator[str]:
    yield from known.compose(module, name, None, ()).values


def _gone(had: Mapping[str, set[str]]) -> dict[str, str]:
    """What the last release lacks, with the last one that had it."""
    found = {item: release for release, items in had.items() for item in items}
    newest = list(had)[-1]
    return {item: found[item] for item in sorted(found) if found[item] != newest}


def _since(had: Mapping[str, set[str]]) -> dict[str, str]:
    """What the last release has and the first lacks, with the first one that had it."""
    found = {item: release for release in reversed(list(had)) for item in had[release]}
    oldest, newest = next(iter(had)), list(had)[-1]
    return {item: found[item] for item in sorted(had[newest]) if found[item] != oldest}
