"""Which releases of a framework take the settings of each record's script.

Everything here reads: records and scripts from the root, configurations from the cache or the
registry. What is to be written is handed back as text. A release that accepts a script takes its
settings by name and type; whether the run then works is another matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rl_resources import tabular
from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import UnusableInput
from rl_resources.order import in_order
from rl_resources.package import Record, read_package
from rl_resources.query.compatibility import accepted_by
from rl_resources.regular import read_regular
from rl_resources.script import bash
from rl_resources.script.framework import Source, compose_launch
from rl_resources.script.framework.history import HISTORY, write_history
from rl_resources.script.framework.releases import (
    DISTRIBUTIONS,
    configuration,
    releases,
)
from rl_resources.script.framework.shipped import DEFAULTS, describe, read_shipped
from rl_resources.script.launch import Launch, launches
from rl_resources.script.rejected import Rejected

if TYPE_CHECKING:
    from pathlib import Path

    from rl_resources.script.framework.composition import Composition
    from rl_resources.script.framework.releases import Release

RESOURCE = "compatibility"

_KEY = ("script", "framework", "framework_version")


@dataclass(frozen=True)
class Compatibility:
    """The result: typed rows, the files to write (path below the root to text), and what to tell.

    `problems` names scripts about which nothing could be found out.
    """

    rows: tuple[Record, ...]
    files: Mapping[str, str]
    summary: tuple[str, ...]
    problems: tuple[str, ...]


def compat(
    root: Path,
    versions: Sequence[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Compatibility:
    """Compose every script with every release, or with these `versions` and keep other rows.

    `progress` is told each release before its turn. Raises `UnusableInput` without network where a
    release is not in the cache.
    """
    dataset = read_dataset(read_package(root))
    scripts, problems = _launched(root, dataset)
    rows: list[Record] = []
    files: dict[str, str] = {}
    for framework in sorted({script.framework for script in scripts}):
        ours = [script for script in scripts if script.framework == framework]
        composed: list[Release] = []
        for version in releases(framework) if versions is None else in_order(set(versions)):
            progress(f"{framework} {version}: {len(ours)} scripts")
            composed.append(configuration(framework, version))
            rows += [row_of(script, framework, version, composed[-1]) for script in ours]
        if composed:
            files |= _defaults(root, composed[-1])
        if versions is None and (root / HISTORY).is_dir():
            files[f"{HISTORY}/{framework}.json"] = write_history(composed)
    if versions is not None:
        rows += _kept(dataset, {script.name for script in scripts}, versions)
    rows.sort(key=lambda row: tuple(str(row[name]) for name in _KEY))
    files[dataset.package.resources[RESOURCE].path] = _csv(dataset, rows)
    return Compatibility(tuple(rows), files, tuple(_summary(rows)), tuple(problems))


@dataclass(frozen=True)
class Script:
    """A record's script: its file name, its framework, and every start of it in the text."""

    name: str
    framework: str
    launches: tuple[Launch, ...]


def _launched(root: Path, dataset: Dataset) -> tuple[list[Script], list[str]]:
    """The scripts of records whose framework is known; and what stands against the others."""
    found: list[Script] = []
    problems: list[str] = []
    for record in dataset.records["tuning"]:
        framework, name = str(record["framework"]), str(record["script"])
        if framework not in DISTRIBUTIONS:
            problems.append(f"{name}: the configuration of {framework} cannot be composed")
            continue
        text = _text(root / script_path(dataset, record))
        script = Script(name, framework, launches(bash.read(text)))
        if script.launches:
            found.append(script)
        else:
            problems.append(f"{name}: nothing that {framework} starts was found in it")
    return found, problems


def _text(path: Path) -> str:
    try:
        return read_regular(path, LARGEST_SCRIPT_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}", "Run `check` first.") from error


def row_of(script: Script, framework: str, version: str, known: Source) -> Record:
    """The row of one script and one release, composed by `known`."""
    answers: list[bool | None] = []
    cells: list[str] = []
    for launch in script.launches:
        composed = compose_launch(known, launch)
        own = [*_stray(launch), *_rejected(launch, composed)]
        open_ = launch.unresolved and not own
        answers.append(None if open_ else composed.accepted and not own)
        cells += own
    accepted = False if cells else None if None in answers else True
    return {
        "script": script.name,
        "framework": framework,
        "framework_version": version,
        "accepted": accepted,
        "rejected": tuple(cells) or None,
    }


def _rejected(launch: Launch, composed: Composition) -> Iterator[str]:
    for item in composed.rejected:
        line = launch.overrides[item.index].line if item.index >= 0 else launch.line
        yield str(Rejected(line, item.key, item.kind))


def _stray(launch: Launch) -> Iterator[str]:
    """Arguments that are no overrides: Hydra stops at them."""
    for stray in launch.stray:
        yield str(Rejected(stray.place.line, stray.value.shown, "syntax"))


def _kept(dataset: Dataset, scripts: set[str], versions: Iterable[str]) -> Iterator[Record]:
    """Rows of other releases, as far as their script is still there."""
    redone = set(versions)
    for row in dataset.records[RESOURCE]:
        if row["script"] in scripts and row["framework_version"] not in redone:
            yield row


def _csv(dataset: Dataset, rows: Iterable[Record]) -> str:
    schema = dataset.package.resources[RESOURCE].schema
    cells = ([field.write(row[field.name]) for field in schema.fields] for row in rows)
    return tabular.write([schema.names, *cells])


def _defaults(root: Path, newest: Release) -> dict[str, str]:
    """The defaults file of a checkout, unless it is of a newer release."""
    path = f"{DEFAULTS}/{newest.framework}.json"
    if not (root / DEFAULTS).is_dir():
        return {}
    if (root / path).is_file():
        present = read_shipped(_text(root / path)).version
        if in_order([newest.version, present])[-1] != newest.version:
            return {}
    return {path: describe(newest)}


def _summary(rows: Iterable[Record]) -> Iterator[str]:
    by_script: dict[str, list[Record]] = {}
    for row in rows:
        by_script.setdefault(str(row["script"]), []).append(row)
    for script, own in by_script.items():
        taken = [str(row["framework_version"]) for row in own if row["accepted"]]
        yield f"{script}: configuration accepted by {len(taken)} of {len(own)} releases{_span(own)}"


def _span(rows: Sequence[Record]) -> str:
    words = accepted_by(rows)
    return f" ({words})" if words else ""
