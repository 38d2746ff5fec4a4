"""Changes: rows in their place, files written as they were proposed or not at all."""

from pathlib import Path

import pytest

from rl_resources.contribute.changes import Change, changes_between, with_rows, write_changes
from rl_resources.errors import UnusableInput
from rl_resources.package import read_package
from rl_resources.snapshot import Snapshot, take_snapshot
from sample_tree import files

DEVICES = "records/devices.csv"
DEVICE = {"device": "h900", "name": "H900", "vendor": "NVIDIA", "memory_gb": "80"}
GONE = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"


def snapshot(root: Path) -> Snapshot:
    return take_snapshot(read_package(root))


def changes(root: Path) -> tuple[Change, ...]:
    """A new file in new folders, a table with a new row, a file that goes."""
    before = snapshot(root)
    (row,) = changes_between(before, with_rows(before, {"devices": [DEVICE]}))
    new = Change("examples/tuning/new/deep/new.sh", None, b"#!/bin/sh\n", executable=True)
    return new, row, Change(GONE, (root / GONE).read_bytes(), None)


def test_a_table_that_cannot_be_read_gets_no_row(root):
    (root / DEVICES).write_bytes((root / DEVICES).read_bytes() + b'"open\n')
    with pytest.raises(UnusableInput, match="cannot be read"):
        with_rows(snapshot(root), {"devices": [DEVICE]})


def test_changes_create_replace_and_remove(root):
    proposed = changes(root)
    write_changes(root, proposed)
    for change in proposed:
        path = root / change.path
        content = path.read_bytes() if path.exists() else None
        assert content == change.becomes
    assert (root / proposed[0].path).stat().st_mode & 0o111
    assert not [name for name in files(root) if "/." in name]


def test_a_new_file_that_exists_is_reported_and_nothing_changes(root):
    proposed = changes(root)
    target = root / proposed[0].path
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    before = files(root)
    with pytest.raises(UnusableInput, match="exists already"):
        write_changes(root, proposed)
    assert files(root) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../out.sh", "outside"),
        (f"{DEVICES}/x", "cannot be written: "),
    ],
)
def test_a_path_that_cannot_be_written_is_reported_and_nothing_changes(path, said, root):
    before = files(root)
    with pytest.raises(UnusableInput, match=said):
        write_changes(root, [Change(path, None, b"")])
    assert files(root) == before
    assert not (root.parent / "out.sh").exists()
