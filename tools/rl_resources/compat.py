"""Which releases of a framework accept the settings of each record's script.

A release that accepts a script takes its settings by name and type; whether the run then works is
another matter. Nothing is written here: what is to be written is returned as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rl_resources.dataset import Dataset, csv_text, read_dataset, script_path
from rl_resources.package import Record, read_package
from rl_resources.script.framework.composition import Source, compose_launch
from rl_resources.script.framework.releases import Release, configuration, releases
from rl_resources.script.framework.shipped import (
    DEFAULTS,
    HISTORY,
    Rejected,
    describe,
    write_history,
)
from rl_resources.script.script_text import FRAMEWORK, ScriptText

RESOURCE = "compatibility"
_KEY = ("script", "framework", "framework_version")


def compat(
    root: Path,
    versions: Sequence[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, str]:
    """Compose every script with every release, or with these `versions` and keep other rows.

    Returns the files to write, each text by its path below the root. `progress` gets a line for
    each release before its turn. Raises `UnusableInput` without network where a release is not in
    the cache.
    """
    dataset = read_dataset(read_package(root))
    of_framework = (it for it in dataset.records["tuning"] if it["framework"] == FRAMEWORK)
    every = (_script(root, dataset, record) for record in of_framework)
    scripts = [script for script in every if script.launches]
    rows: list[Record] = []
    composed: list[Release] = []
    for version in releases(FRAMEWORK) if versions is None else sorted({*versions}):
        progress(f"{FRAMEWORK} {version}: {len(scripts)} scripts")
        composed.append(configuration(FRAMEWORK, version))
        rows += [row_of(script, composed[-1]) for script in scripts]
    if versions is not None:
        names = {script.path for script in scripts}
        old = (row for row in dataset.records[RESOURCE] if row["script"] in names)
        rows += [row for row in old if row["framework_version"] not in versions]
    rows.sort(key=lambda row: tuple(str(row[name]) for name in _KEY))
    files = _derived(root, composed) if versions is None else {}
    return files | {dataset.package.resources[RESOURCE].path: csv_text(dataset, RESOURCE, rows)}


def _script(root: Path, dataset: Dataset, record: Record) -> ScriptText:
    """A record's script under its file name."""
    text = (root / script_path(dataset, record)).read_text(encoding="utf-8")
    return ScriptText(str(record["script"]), text)


def row_of(script: ScriptText, release: Source) -> Record:
    """The row of one script and one release."""
    rejected: list[Rejected] = []
    known = True
    for launch in script.launches:
        composed = compose_launch(release, launch)
        known &= not composed.problem and not launch.unresolved
        # Hydra stops at arguments that are no overrides.
        rejected += [Rejected(item.place.line, item.value.shown, "syntax") for item in launch.stray]
        for item in composed.rejected:
            own = launch.overrides[item.index] if item.index >= 0 else launch.command
            rejected.append(Rejected(own.place.line, item.key, item.kind))
    return {
        "script": script.path,
        "framework": release.framework,
        "framework_version": release.version,
        "accepted": False if rejected else True if known else None,
        "rejected": tuple(map(str, rejected)) or None,
    }


def _derived(root: Path, composed: Sequence[Release]) -> dict[str, str]:
    """The history of all releases and the defaults of the newest, in a checkout."""
    if not (root / DEFAULTS).is_dir():
        return {}
    name = f"{composed[-1].framework}.json"
    history, defaults = write_history(composed), describe(composed[-1])
    return {f"{HISTORY}/{name}": history, f"{DEFAULTS}/{name}": defaults}
