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
    RejectedSetting,
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
    scripts = _scripts(root, dataset)
    rows: list[Record] = []
    composed: list[Release] = []
    for version in _asked(versions):
        progress(f"{FRAMEWORK} {version}: {len(scripts)} scripts")
        release = configuration(FRAMEWORK, version)
        composed.append(release)
        rows.extend(row_of(script, release) for script in scripts)
    files: dict[str, str] = {}
    if versions is None:
        files = _derived(root, composed)
    else:
        names = {script.path for script in scripts}
        old = (row for row in dataset.records[RESOURCE] if row["script"] in names)
        rows.extend(row for row in old if row["framework_version"] not in versions)
    rows.sort(key=_key)
    path = dataset.package.resources[RESOURCE].path
    return {**files, path: csv_text(dataset, RESOURCE, rows)}


def _asked(versions: Sequence[str] | None) -> list[str]:
    if versions is None:
        return releases(FRAMEWORK)
    return sorted(set(versions))


def _key(row: Record) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in _KEY)


def _scripts(root: Path, dataset: Dataset) -> list[ScriptText]:
    """The scripts that start the framework, each under its file name."""
    scripts: list[ScriptText] = []
    for record in dataset.records["tuning"]:
        if record["framework"] != FRAMEWORK:
            continue
        path = root / script_path(dataset, record)
        script = ScriptText(str(record["script"]), path.read_text(encoding="utf-8"))
        if script.launches:
            scripts.append(script)
    return scripts


def row_of(script: ScriptText, release: Source) -> Record:
    """The row of one script and one release."""
    accepted: bool | None = True
    rejected: list[RejectedSetting] = []
    for launch in script.launches:
        composed = compose_launch(release, launch)
        if composed.problem or launch.unresolved:
            accepted = None  # nobody knows
        # Hydra stops at arguments that are no overrides.
        for it in launch.stray:
            text = it.value.shown
            rejected.append(RejectedSetting(it.place.line, text, "syntax"))
        for item in composed.rejected:
            place = launch.command.place
            if item.index >= 0:
                place = launch.overrides[item.index].place
            rejected.append(RejectedSetting(place.line, item.key, item.kind))
    if rejected:
        accepted = False
    return {
        "script": script.path,
        "framework": release.framework,
        "framework_version": release.version,
        "accepted": accepted,
        "rejected": tuple(map(str, rejected)) or None,
    }


def _derived(root: Path, composed: Sequence[Release]) -> dict[str, str]:
    """The history of all releases and the defaults of the newest, in a checkout."""
    if not (root / DEFAULTS).is_dir():
        return {}
    newest = composed[-1]
    name = f"{newest.framework}.json"
    return {
        f"{HISTORY}/{name}": write_history(composed),
        f"{DEFAULTS}/{name}": describe(newest),
    }
