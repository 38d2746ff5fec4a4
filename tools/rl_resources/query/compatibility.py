"""Which releases of a framework accept the settings of each record's script.

A release that accepts a script takes its settings by name and type, and knows the model's
architecture; nothing here says that the run works. `compat` composes every script; it returns as
text what is to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from rl_resources.dataset import Dataset, csv_text, read_dataset, script_path
from rl_resources.facts.script_names import parsed
from rl_resources.package import Record, items_of, read_package
from rl_resources.script.framework.composition import Source, compose_launch
from rl_resources.script.framework.shipped import (
    DEFAULTS,
    HISTORY,
    Architecture,
    RejectedSetting,
    describe,
    read_rejected,
    support,
    write_history,
)
from rl_resources.script.script_text import FRAMEWORK, ScriptText

if TYPE_CHECKING:
    from rl_resources.script.framework.release_files import Release

RESOURCE = "compatibility"
_KEY = ("script", "framework", "framework_version")
_ANY = Version("0")


def releases_of(dataset: Dataset, script: object) -> list[Record]:
    """The rows of one script, oldest release first."""
    return sorted(dataset.by_script["compatibility"].get(script, ()), key=_version)


def _version(row: Record) -> Version:
    return Version(str(row["framework_version"]))


def accepted_by(rows: Sequence[Record]) -> str:
    """The releases that accept one script, for example `verl ≥ 0.4.0`; empty for none.

    `rows` are those of the script, oldest first. A release that does not know the architecture of
    the model is none.
    """
    needed = architecture_of(rows)
    since = _ANY
    if needed:
        since = Version(needed.since)
    accepted = [
        at for at, row in enumerate(rows) if row["accepted"] and _version(row) >= since
    ]
    if not accepted:
        return ""
    oldest = rows[accepted[0]]
    since_then = list(range(accepted[0], len(rows)))
    if len(accepted) > 1 and accepted == since_then:
        return f"{oldest['framework']} ≥ {oldest['framework_version']}"
    return f"{oldest['framework']} {_spans(rows, accepted)}"


def architecture_of(rows: Sequence[Record]) -> Architecture | None:
    """What the training backend of a script needs of the framework for its model.

    `None` where nothing is known that it needs.
    """
    if not rows:
        return None
    row = rows[0]
    name = parsed(str(row.get("script")))
    if name is None:
        return None
    return support(str(row["framework"])).architecture(name.model, name.train)


def rejected_settings(rows: Sequence[Record]) -> list[tuple[int, str, str, str]]:
    """Line, key, kind of the mistake and releases of what is rejected of one script, by line.

    `rows` are those of the script, oldest first.
    """
    found: dict[RejectedSetting, list[int]] = {}
    for at, row in enumerate(rows):
        for setting in read_rejected(items_of(row, "rejected")):
            found.setdefault(setting, []).append(at)
    return [
        (*setting, _spans(rows, places)) for setting, places in sorted(found.items())
    ]


def _spans(rows: Sequence[Record], places: Sequence[int]) -> str:
    """Releases as text, consecutive ones as a span: `0.1 to 0.3.1, 0.9.1`."""
    spans: dict[int, list[str]] = {}
    for number, place in enumerate(places):
        # Of consecutive places this difference stays the same.
        span = spans.setdefault(place - number, [])
        span.append(str(rows[place]["framework_version"]))
    return ", ".join(map(_span, spans.values()))


def _span(releases: Sequence[str]) -> str:
    if len(releases) == 1:
        return releases[0]
    return f"{releases[0]} to {releases[-1]}"


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
    # Here, because it imports Hydra.
    from rl_resources.script.framework.release_files import configuration, releases

    dataset = read_dataset(read_package(root))
    scripts = _scripts(root, dataset)
    rows: list[Record] = []
    composed: list[Release] = []
    for version in dict.fromkeys(versions or releases(FRAMEWORK)):
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
    rows.sort(key=itemgetter(*_KEY))
    path = dataset.package.resources[RESOURCE].path
    return {**files, path: csv_text(dataset, RESOURCE, rows)}


def _scripts(root: Path, dataset: Dataset) -> list[ScriptText]:
    """The scripts that start the framework, each under its file name."""
    scripts: list[ScriptText] = []
    for record in dataset.records["tuning"]:
        if record["framework"] != FRAMEWORK:
            continue
        script = ScriptText(
            str(record["script"]),
            (root / script_path(dataset, record)).read_text(encoding="utf-8"),
        )
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
        rejected.extend(
            RejectedSetting(word.place.line, word.value.shown, "syntax")
            for word in launch.stray
        )
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
