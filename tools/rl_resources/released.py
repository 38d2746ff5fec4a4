"""What a release leaves behind for those that follow: its changes, its tables, its promises.

`make release` alone writes these files. `history` reads the first two; the third is what the shape
of the API is held to.
"""

from __future__ import annotations

import json
from pathlib import Path

from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import UnreadableDataset
from rl_resources.history import Release, read_history, release_values
from rl_resources.package import DESCRIPTOR, NEWEST, RELEASES, read_package
from rl_resources.site.api import Publication, as_json, documents
from rl_resources.site.api.shape import breaks, lost_ids, shape
from rl_resources.site.api.text import indented

SHAPE = f"{RELEASES}/api.json"


def record(root: Path, made: Release, descriptor: str) -> dict[str, str]:
    """The files that record a release of the tables at `root`, by path. Nothing is written."""
    earlier = [release for release in read_history(root) if release.version != made.version]
    values = release_values(made)
    del values["since_release"]
    values["moments"] = dict(sorted(made.moments.items()))
    return {
        f"{RELEASES}/{made.version}.json": as_json(values),
        f"{NEWEST}/{DESCRIPTOR}": descriptor,
        **{
            f"{NEWEST}/{path}": (root / path).read_bytes().decode("utf-8")
            for resource in json.loads(descriptor)["resources"]
            for path in (resource["path"], resource["schema"])
        },
        SHAPE: indented(_shape(read_dataset(read_package(root)), [made, *earlier])),
    }


def recorded_tables(root: Path) -> list[str]:
    """The files of the copy that there is now."""
    files = (path for path in (root / NEWEST).rglob("*") if path.is_file())
    return sorted(path.relative_to(root).as_posix() for path in files)


def broken_promises(root: Path) -> list[str]:
    """What readers of the newest release would stumble over, a sentence each.

    None where no release is recorded. Raises `UnreadableDataset` where its record is no JSON.
    """
    history = read_history(root)
    if not (root / SHAPE).is_file():
        return []
    try:
        old = json.loads((root / SHAPE).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnreadableDataset(f"{SHAPE}: is not JSON", "Take it from git again.") from error
    dataset = read_dataset(read_package(root))
    since = history[0].since if history else None
    lost = lost_ids(dataset, since or ())
    gone = {f"records/{name}.json" for name in lost.get("tuning", ())}
    still = {path: kind for path, kind in old["paths"].items() if path not in gone}
    return breaks({**old, "paths": still}, _shape(dataset, history)) + [
        f"{table}: the id {name} is gone, and no row of records/moved.csv says where to"
        for table, names in lost.items()
        for name in names
    ]


def _shape(dataset: Dataset, releases: list[Release]) -> dict[str, object]:
    return shape(dataset, documents(dataset, Publication(releases=releases)))
