"""Proposals: rows in their place, and files that are written all or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rl_resources.check import check_root
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.contribute.proposal import Change, Proposal, add_rows
from rl_resources.contribute.writing import write_proposal
from rl_resources.errors import UnusableInput
from rl_resources.package import read_package
from sample_tree import plant

DEVICE = {"device": "h900", "name": "H900", "vendor": "NVIDIA", "memory_gb": "80"}
RECORD = {"script": "new.sh", "tag": "MIN", "task": "GRPO", "gpus": "8", "device": "h100"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path / "dataset")


def _snapshot(root: Path) -> Snapshot:
    return take_snapshot(read_package(root))


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_row_is_put_where_the_canonical_order_wants_it_and_no_other_byte_changes(
    root: Path,
) -> None:
    before = (root / "records/tuning.csv").read_bytes()
    row = RECORD | {"model": "Qwen/Qwen2.5-7B-Instruct", "gpus": "2"}
    (change,) = add_rows(_snapshot(root), {"tuning": [row]})
    assert change.was == before
    lines = (change.becomes or b"").split(b"\n")
    (at,) = [index for index, line in enumerate(lines) if line.startswith(b"new.sh,")]
    assert lines[at - 1].startswith(b"qwen2.5-7b-instruct_grpo-lora_1") or lines[at + 1].startswith(
        b"qwen2.5-7b-instruct_grpo-lora_1"
    )
    assert b"\n".join([*lines[:at], *lines[at + 1 :]]) == before


def test_a_row_goes_by_the_size_of_a_model_that_is_added_with_it(root: Path) -> None:
    model = {"model": "Some/Tiny", "slug": "tiny", "size": "7B"}
    large = model | {"model": "Some/Large", "slug": "large", "size": "14B"}
    rows = [RECORD | {"model": "Some/Large"}, RECORD | {"script": "a.sh", "model": "Some/Tiny"}]
    changes = add_rows(_snapshot(root), {"models": [model, large], "tuning": rows})
    write_proposal(root, Proposal(changes))
    order = [item for item in check_root(root) if item.rule == "row-order"]
    assert order == []


def test_every_place_of_a_row_in_every_table_is_canonical(root: Path) -> None:
    for device in ("a1", "h100-x", "zzz"):
        change = add_rows(_snapshot(root), {"devices": [DEVICE | {"device": device}]})
        write_proposal(root, Proposal(change))
    assert [item for item in check_root(root) if item.rule == "row-order"] == []


def test_many_rows_that_go_to_the_same_place_stand_in_order(root: Path) -> None:
    rows = [DEVICE | {"device": f"zz{number}"} for number in (3, 1, 2)]
    (change,) = add_rows(_snapshot(root), {"devices": rows})
    last = (change.becomes or b"").decode().splitlines()[-3:]
    assert [line[:3] for line in last] == ["zz1", "zz2", "zz3"]


def test_a_last_line_without_its_end_gets_one(root: Path) -> None:
    path = root / "records/devices.csv"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    (change,) = add_rows(_snapshot(root), {"devices": [DEVICE]})
    lines = (change.becomes or b"").split(b"\n")
    assert lines[-1] == b"" and all(lines[:-1])


def test_a_key_that_is_there_already_is_refused_with_its_line(root: Path) -> None:
    with pytest.raises(UnusableInput, match=r"records/devices.csv:2: there is a row for h100 al"):
        add_rows(_snapshot(root), {"devices": [DEVICE | {"device": "h100"}]})


def test_a_table_that_cannot_be_read_whole_gets_no_row(root: Path) -> None:
    path = root / "records/devices.csv"
    path.write_bytes(path.read_bytes() + b'"open\n')
    with pytest.raises(UnusableInput, match="cannot be read whole"):
        add_rows(_snapshot(root), {"devices": [DEVICE]})


def test_a_column_that_the_schema_lacks_is_a_mistake_of_the_caller(root: Path) -> None:
    with pytest.raises(KeyError):
        add_rows(_snapshot(root), {"devices": [DEVICE | {"colour": "red"}]})


def _proposal(root: Path) -> Proposal:
    (row,) = add_rows(_snapshot(root), {"devices": [DEVICE]})
    new = Change("examples/tuning/new/deep/new.sh", None, b"#!/bin/sh\n", executable=True)
    gone = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    return Proposal((new, row, Change(gone, (root / gone).read_bytes(), None)))


def test_a_proposal_creates_replaces_and_removes(root: Path) -> None:
    proposal = _proposal(root)
    write_proposal(root, proposal)
    for change in proposal.changes:
        path = root / change.path
        assert (path.read_bytes() if path.exists() else None) == change.becomes
    mask = os.umask(0)
    os.umask(mask)
    assert (root / proposal.changes[0].path).stat().st_mode & 0o777 == 0o777 & ~mask
    assert not [name for name in _files(root) if "/." in name]


def test_an_interrupted_proposal_is_undone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal, before = _proposal(root), _files(root)
    real, calls = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        calls.append(target)
        if target.name == "devices.csv":
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write_proposal(root, proposal)
    assert _files(root) == before
    assert not (root / "examples/tuning/new").exists()


def test_nothing_is_overwritten(root: Path) -> None:
    proposal = _proposal(root)
    target = root / proposal.changes[0].path
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    before = _files(root)
    with pytest.raises(UnusableInput, match="exists already"):
        write_proposal(root, proposal)
    assert _files(root) == before


def test_a_table_that_changed_meanwhile_is_not_written(root: Path) -> None:
    proposal = _proposal(root)
    path = root / "records/devices.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    before = _files(root)
    with pytest.raises(UnusableInput, match="has changed since it was read"):
        write_proposal(root, proposal)
    assert _files(root) == before


def test_a_path_outside_the_dataset_is_refused(root: Path) -> None:
    with pytest.raises(UnusableInput, match="outside"):
        write_proposal(root, Proposal((Change("../out.sh", None, b""),)))
    assert not (root.parent / "out.sh").exists()


def test_the_diff_shows_new_changed_and_removed_files(root: Path) -> None:
    diff = _proposal(root).diff()
    assert "--- /dev/null\n+++ b/examples/tuning/new/deep/new.sh\n" in diff
    assert "+h900,H900,NVIDIA,80" in diff
    assert "+++ /dev/null" in diff
