"""Releases: the version, the changelog, the artefacts, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from datetime import date
from pathlib import Path

import pytest

from rl_resources import UnusableInput, release
from rl_resources.generate import stale
from rl_resources.history import read_history
from rl_resources.package import read_package
from rl_resources.query.diff import Table, diff
from rl_resources.release import next_version
from rl_resources.released import broken_promises
from rl_resources.site import changelog

ROOT = Path(__file__).parents[1]
DAY = date(2027, 1, 9)


@pytest.mark.parametrize(
    ("current", "released", "today", "version"),
    [
        ("2026.11.0", [], DAY, "2026.11.0"),
        ("2026.11.0", ["2026.11.0"], date(2026, 11, 30), "2026.11.1"),
        ("2026.11.9", ["2026.11.9"], date(2026, 11, 30), "2026.11.10"),
        ("2026.11.9", ["2026.11.9"], DAY, "2027.1.0"),
        ("2027.2.0", ["2027.2.0"], DAY, "2027.2.1"),
    ],
)
def test_a_version_says_its_month_and_its_place_in_it(
    current: str, released: list[str], today: date, version: str
) -> None:
    assert next_version(current, released, today) == version


@pytest.mark.parametrize("version", ["1.0", "2026.11", "2026.11.0rc1", ""])
def test_any_other_version_is_refused(version: str) -> None:
    with pytest.raises(UnusableInput, match="is not of the form"):
        next_version(version, [], DAY)


def test_an_entry_counts_all_tables_and_names_the_records() -> None:
    old = {"tuning": Table(("script",), ("script", "gpus"), ({"script": "a", "gpus": "1"},))}
    rows = ({"script": "b_c", "gpus": "2"}, {"script": "`*", "gpus": "3"})
    new = {"tuning": Table(("script",), ("script", "gpus"), rows)}
    assert changelog.entry("2027.1.0", DAY, diff(old, new)) == (
        "## 2027.1.0 (2027-01-09)\n\n### Data\n\n- tuning: 1 removed, 2 added\n"
        "    - **deleted `a`**\n    - added `b_c`\n    - added &#96;&#42;\n"
    )


def test_an_entry_stands_on_top_and_takes_what_was_not_released() -> None:
    old = "# Changelog\n\nWords.\n\n## Unreleased\n\nBy hand.\n\n## 2026.11.0 (x)\n\nOld.\n"
    by_hand = changelog.sections(old)["Unreleased"]
    text = changelog.entry("2027.1.0", DAY, [], by_hand)
    assert changelog.with_entry(old, "2027.1.0", text) == (
        "# Changelog\n\nWords.\n\n## 2027.1.0 (2027-01-09)\n\n### Data\n\nNo record differs.\n\n"
        "By hand.\n\n## 2026.11.0 (x)\n\nOld.\n"
    )


def test_an_entry_of_the_same_version_is_replaced() -> None:
    old = "# Changelog\n\n## 2027.1.0 (x)\n\nOld.\n\n## 2026.11.0 (y)\n\nOlder.\n"
    text = changelog.entry("2027.1.0", DAY, [])
    new = changelog.with_entry(old, "2027.1.0", text)
    assert changelog.with_entry(new, "2027.1.0", text) == new
    assert "Old.\n" not in new
    assert list(changelog.sections(new)) == ["2027.1.0", "2026.11.0"]


def test_a_changelog_that_is_not_there_is_begun() -> None:
    assert changelog.with_entry("", "1", "## 1\n") == "# Changelog\n\n## 1\n"


def test_the_version_of_the_data_has_an_entry_that_lists_its_records() -> None:
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    data = changelog.sections(page)[read_package(ROOT).version]
    assert "### Data" in data
    assert "- tuning: " in data


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of this checkout in a repository of their own, with one commit."""
    root = tmp_path_factory.mktemp("release") / "checkout"
    names = _git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "x")
    _git(root, "config", "user.email", "x")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "All")
    return root


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(committed: Path, tmp_path: Path) -> Path:
    """A clone that a test may change."""
    return Path(shutil.copytree(committed, tmp_path / "checkout", symlinks=True))


def test_a_dry_run_says_the_entry_and_writes_nothing(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["--dry-run", "--root", str(checkout)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Would release {read_package(checkout).version}.")
    assert "- tuning: " in told
    assert _git(checkout, "status", "--porcelain") == ""


def test_changes_that_are_not_committed_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "new-file").touch()
    assert release.main(["--root", str(checkout)]) == 2
    assert "new-file" in capsys.readouterr().err
    assert not (checkout / "dist").exists()


def test_data_with_a_finding_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning = checkout / "records" / "tuning.csv"
    tuning.write_text(tuning.read_text(encoding="utf-8").replace(",h800,", ",h8000,", 1))
    _git(checkout, "commit", "-qam", "Bad")
    assert release.main(["--root", str(checkout)]) == 1
    assert "make check" in capsys.readouterr().err
    assert _git(checkout, "status", "--porcelain") == ""


def test_a_release_commits_version_and_changelog_and_writes_its_artefacts(checkout: Path) -> None:
    first = read_package(checkout).version
    _git(checkout, "tag", f"v{first}")
    trials = checkout / "records" / "trials.csv"
    trials.write_text("\n".join(trials.read_text(encoding="utf-8").split("\n")[:-2]) + "\n")
    _git(checkout, "commit", "-qam", "One trial less")
    told = release.release(checkout, DAY)
    assert _git(checkout, "status", "--porcelain") == ""
    assert _git(checkout, "log", "-1", "--format=%s") == "Release 2027.1.0\n"
    assert json.loads((checkout / "datapackage.json").read_text())["version"] == "2027.1.0"
    assert read_package(checkout).created == DAY.isoformat()
    assert stale(checkout) == {}
    entry = changelog.sections((checkout / "CHANGELOG.md").read_text(encoding="utf-8"))["2027.1.0"]
    assert entry.strip() == "### Data\n\n- trials: 1 removed"
    assert "git tag --annotate v2027.1.0" in told
    (newest, *_) = read_history(checkout)
    assert (newest.version, newest.previous, newest.since) == ("2027.1.0", first, ())
    assert [(item.name, len(item.removed)) for item in newest.made] == [("trials", 1)]
    assert broken_promises(checkout) == []
    first_release = read_history(checkout)[-1]
    assert first_release.moments.keys() == {row["script"] for row in first_release.made[0].added}
    names = ["rl-resources-site-2027.1.0.tar.gz", "rl_resources-2027.1.0-py3-none-any.whl"]
    names += ["rl_resources-2027.1.0.tar.gz"]
    assert sorted(path.name for path in (checkout / "dist").iterdir()) == sorted(names)
    with tarfile.open(checkout / "dist" / names[0]) as archive:
        assert "rl-resources-site-2027.1.0/index.html" in archive.getnames()


def test_what_is_recorded_of_a_version_may_be_recorded_anew_until_it_has_a_tag(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (checkout / "schema", checkout / "releases" / "newest" / "schema"):
        schema = folder / "trials.json"
        schema.write_text(schema.read_text(encoding="utf-8").replace('"ran",', '"ran on",'))
    assert release.main(["--record", "--root", str(checkout)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "Recorded anew: releases/api.json" in told
    assert broken_promises(checkout) == []
    assert release.main(["--record", "--root", str(checkout)]) == 0
    assert capsys.readouterr().out == ""
    _git(checkout, "tag", f"v{read_package(checkout).version}")
    assert release.main(["--record", "--root", str(checkout)]) == 2
    assert "is published" in capsys.readouterr().err


def test_a_release_that_would_break_readers_of_the_last_is_refused(checkout: Path) -> None:
    _git(checkout, "tag", f"v{read_package(checkout).version}")
    place = checkout / "releases" / "api.json"
    shape = json.loads(place.read_text(encoding="utf-8"))
    shape["paths"]["gone.json"] = "RecordsDocument"
    place.write_text(json.dumps(shape), encoding="utf-8")
    _git(checkout, "commit", "-qam", "A promise")
    with pytest.raises(UnusableInput, match=r"gone\.json: the address is gone"):
        release.release(checkout, DAY)
    assert _git(checkout, "status", "--porcelain") == ""
