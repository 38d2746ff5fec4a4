"""What git knows of a checkout, and its public URL."""

from pathlib import Path

import pytest

from botched_tree import IDENTITY, commit, git
from cases import cases
from rl_resources import load
from rl_resources.check import chosen_rules, findings_in
from rl_resources.errors import Finding
from rl_resources.git import Repository, line_times, read_repository, repository_url
from rl_resources.package import read_package
from rl_resources.snapshot import take_snapshot
from sample_tree import apply, plant


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample with two releases, of the second of which a row is gone that is not committed."""
    root = plant(tmp_path / "dataset")
    git(root, "init", "--quiet")
    changes = [{"line": 2, "set": {"max_batch": "7"}}, {"delete_line": 3}]
    for day, change in enumerate(changes, 1):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-11-0{day}T12:00:00Z")
        commit(root)
        git(root, "tag", f"v2026.11.{day}")
        edit = {"file": "records/tuning.csv", **change}
        apply(root, [edit])
    return root


@cases("repository", "remote")
def test_a_remote_on_the_web_has_a_url_without_credentials(remote, url):
    assert repository_url(remote) == (url or None)


def test_an_archive_unpacked_inside_another_checkout_has_nothing_of_it(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "datapackage.json").write_text("{}")
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://example.org/not/ours")
    git(tmp_path, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "x")
    assert read_repository(inner) == Repository(None, None, None)
    git(tmp_path, "add", ".")
    assert read_repository(inner).url == "https://example.org/not/ours"


def test_an_id_of_the_newest_release_that_is_gone_needs_a_row_that_says_where_to(
    released,
):
    before = load(plant(released.parent / "before"))
    row = before.records["tuning"][1]
    (script,) = released.rglob(str(row["script"]))
    script.unlink()
    (finding,) = lost_ids(released)
    name = script.stem
    assert finding.message == f"id `{name}` is published, and tuning has no such row"
    row = f"tuning,{name},NEW-ID,VERSION,REASON"
    assert finding.help == (
        f"Restore it, or add `{row}`, with NEW-ID empty if nothing replaces it."
    )
    edit = {"file": "records/moved.csv", "append": f"tuning,{name},,2026.12.0,Why.\n"}
    apply(released, [edit])
    assert lost_ids(released) == []


def lost_ids(root: Path) -> list[Finding]:
    snapshot = take_snapshot(read_package(root))
    return findings_in(snapshot, chosen_rules(["lost-id"]))


def test_a_line_has_the_time_of_its_last_commit_and_none_in_a_shallow_clone(
    released, tmp_path
):
    times = line_times(released, "records/tuning.csv")
    assert times[2] - times[1] == 24 * 3600
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{released}", "shallow")
    assert line_times(tmp_path / "shallow", "records/tuning.csv") == {}
