"""Changes: rows in their place, files written as they were proposed or not at all."""

from pathlib import Path

import pytest

from conftest import refused
from rl_resources.contribute import Change, changes_between, with_rows, write_changes
from rl_resources.package import read_package
from rl_resources.snapshot import Snapshot, take_snapshot
from sample_tree import files

DEVICES = "records/devices.csv"
DEVICE = {"device": "h900", "name": "H900", "vendor": "NVIDIA", "memory_gb": "80"}
NEW = "examples/tuning/new/deep/new.sh"


def snapshot(root: Path) -> Snapshot:
    return take_snapshot(read_package(root))


def changes(root: Path) -> tuple[Change, ...]:
    """A new file in new folders and a table with a new row."""
    before = snapshot(root)
    (row,) = changes_between(before, with_rows(before, {"devices": [DEVICE]}))
    new = Change(NEW, None, b"#!/bin/sh\n", executable=True)
    return new, row


def test_changes_create_and_replace(root):
    proposed = changes(root)
    write_changes(root, proposed)
    new, row = proposed
    assert (root / new.path).read_bytes() == new.becomes
    assert (root / row.path).read_bytes() == row.becomes
    assert (root / new.path).stat().st_mode & 0o111
    hidden = [name for name in files(root) if "/." in name]
    assert hidden == []


def test_a_file_of_somebody_else_is_reported_and_nothing_changes(root):
    target = root / NEW
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    proposed = changes(root)
    before = files(root)
    message = f"{NEW}: exists already, and nothing is overwritten"
    fix = "Move that file away first, or choose another configuration."
    with refused(message, fix):
        write_changes(root, proposed)
    assert files(root) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../out.sh", "../out.sh: lies outside the dataset at ROOT"),
        (f"{DEVICES}/x", f"ROOT/{DEVICES}/x: cannot be written: File exists"),
    ],
)
def test_a_path_that_cannot_be_written_is_reported(root, path, said):
    before = files(root)
    with refused(said.replace("ROOT", str(root))):
        write_changes(root, [Change(path, None, b"")])
    assert files(root) == before
    assert not (root.parent / "out.sh").exists()


def test_a_file_that_has_changed_since_is_left_and_nothing_is_written(root):
    proposed = changes(root)
    write_changes(root, proposed[1:2])
    before = files(root)
    message = f"{DEVICES}: has changed since it was read, and nothing was written"
    with refused(message, "Run the command again."):
        write_changes(root, proposed)
    assert files(root) == before


def test_what_a_kill_left_is_swept(root):
    before = files(root)
    for left in ("records/.tuning.csv.a1_b2c3d", "examples/tuning/7b/.new.sh.a1_b2c3d"):
        (root / left).mkdir()
        (root / left / "new.sh").write_text("half of it")
    write_changes(root, [])
    assert files(root) == before
