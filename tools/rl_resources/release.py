"""`python -m rl_resources.release`: a clean checkout becomes a release without its tag.

The version is YYYY.M.N: year and month of the release, and how many went before in that month. A
version that has no tag yet is released as it is.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

from rl_resources.build import build
from rl_resources.check import check_root
from rl_resources.dataset import find_root
from rl_resources.errors import InvalidDataset, RlResourcesError, UnusableInput
from rl_resources.files import write_file
from rl_resources.generate import stale
from rl_resources.git import git_text, released_versions
from rl_resources.package import DESCRIPTOR, read_package
from rl_resources.site.diff import (
    SAME,
    TableDiff,
    counts,
    diff,
    read_directory,
    read_state,
)

CHANGELOG = "CHANGELOG.md"
CITATION = "CITATION.cff"
UNRELEASED = "## Unreleased\n"
LEFT_TO_DO = """Left to do:
  git tag --annotate v{version} --message 'Release {version}'
  git push origin HEAD v{version}
"""
HATCHLING = ("-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d")


def next_version(current: str, released: Sequence[str], today: date) -> str:
    """The version of the next release: `current` itself while it has no tag."""
    if current not in released:
        return current
    year, month, count = map(int, current.split("."))
    is_past = (year, month) < (today.year, today.month)
    if is_past:
        return f"{today.year}.{today.month}.0"
    return f"{year}.{month}.{count + 1}"


def release_files(root: Path, today: date) -> tuple[str, dict[str, str]]:
    """The next version and the files that name it, as they should be. Nothing is written.

    In the changelog the section `Unreleased` becomes that of the version.
    """
    released = released_versions(root)
    version = next_version(read_package(root).version, released, today)
    day = today.isoformat()
    changes = data_section(_changes_since(root, released))
    section = f"## {version} ({day})\n\n{changes}"
    changelog = _with_unreleased(_read(root, CHANGELOG), version)
    descriptor = _read(root, DESCRIPTOR)
    descriptor = re.sub(r'(?<="version": ")[^"]*', version, descriptor, count=1)
    descriptor = re.sub(r'(?<="created": ")[0-9-]*', day, descriptor, count=1)
    citation = _read(root, CITATION)
    citation = re.sub(r"(?m)^version: .*", f"version: {version}", citation)
    citation = re.sub(r"(?m)^date-released: .*", f"date-released: '{day}'", citation)
    return version, {
        DESCRIPTOR: descriptor,
        CITATION: citation,
        CHANGELOG: changelog.replace(UNRELEASED, section, 1),
    }


def _changes_since(root: Path, released: Sequence[str]) -> list[TableDiff]:
    """What changed in the data since the newest of the releases."""
    new = read_directory(root)
    if not released:
        return diff({}, new)
    return diff(read_state(root, f"v{released[0]}"), new)


def _read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def _with_unreleased(changelog: str, version: str) -> str:
    """The changelog with a section `Unreleased`, and none with the data of this version.

    A version without a tag is released again: its list of data is written again, at its place.
    """
    new = f"{UNRELEASED}\n"
    if UNRELEASED in changelog:
        new = ""
    escaped = re.escape(version)
    before = rf"^## {escaped} .*\n\n### Data\n\n(?: *- .*\n)+\n?"
    changelog = re.sub(before, new, changelog, flags=re.MULTILINE)
    if UNRELEASED in changelog:
        return changelog
    return changelog.replace("\n", f"\n\n{UNRELEASED}", 1)


def data_section(diffs: Sequence[TableDiff]) -> str:
    """What a release changes in the data: a line for each table; `diff` names the records."""
    lines = [f"- {item.name}: {counts(item)}" for item in diffs]
    listed = "\n".join(lines or [SAME])
    return f"### Data\n\n{listed}\n"


def refuse_unfit(root: Path) -> None:
    """Raise where the checkout has changes, findings or stale files."""
    changes = git_text(root, "status", "--porcelain")
    if changes:
        raise UnusableInput(
            f"the checkout has changes:\n{changes}", "Commit or remove them."
        )
    findings = check_root(root)
    if findings:
        raise InvalidDataset(findings)
    files = ", ".join(stale(root))
    if files:
        raise UnusableInput(f"stale: {files}", "Run `make generate` and commit.")


def write_artifacts(root: Path, version: str) -> list[Path]:
    """The site, the data as CSV, Parquet and SQLite, wheel and source archive, in `dist`.

    Their checksums are in `SHA256SUMS`, the section of the changelog in `NOTES.md`.
    """
    folder = root / "dist"
    site = build(root, root / "build")
    pages = f"{folder}/rl-resources-site-{version}"
    shutil.make_archive(pages, "gztar", site.parent, site.name)
    data = f"{folder}/rl-resources-data-{version}"
    shutil.make_archive(data, "zip", site, "downloads")
    command = [sys.executable, *HATCHLING, str(folder)]
    subprocess.run(command, cwd=root, check=True)
    found = sorted(folder.glob(f"*{version}*"))
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in found]
    write_file(folder / "SHA256SUMS", "".join(sums))
    write_file(folder / "NOTES.md", notes(_read(root, CHANGELOG), version))
    return found


def notes(changelog: str, version: str) -> str:
    """The section of a version in the changelog, without its title.

    Raises `UnusableInput` where it has none.
    """
    escaped = re.escape(version)
    pattern = rf"(?ms)^## {escaped} .*?\n(.*?)(?=^## |\Z)"
    match = re.search(pattern, changelog)
    if match is None:
        raise UnusableInput(
            f"{CHANGELOG}: has no section {version}", "Run `make release` first."
        )
    return f"{match[1].strip()}\n"


def release(root: Path, today: date) -> str:
    """Commit the next version with its changelog, write its artifacts, say what is left to do.

    Where the last commit is that of the version, nothing is done again.
    """
    version = read_package(root).version
    subject = git_text(root, "log", "-1", "--format=%s").strip()
    if subject == f"Release {version}" and not git_text(root, "status", "--porcelain"):
        done = f"Release {version} is committed already: nothing to do.\n"
        return done + LEFT_TO_DO.format(version=version)
    refuse_unfit(root)
    version, files = release_files(root, today)
    for path, text in files.items():
        write_file(root / path, text)
    commit = ["git", "commit", "--quiet", "--all", "--message", f"Release {version}"]
    subprocess.run(commit, cwd=root, check=True)
    artifacts = write_artifacts(root, version)
    done = (
        f"Release {version} is committed. Artifacts:\n{_listed(root, artifacts, '  ')}"
    )
    return done + LEFT_TO_DO.format(version=version)


def _listed(root: Path, files: Sequence[Path], indent: str = "") -> str:
    """Files one a line, as paths below the root."""
    return "".join(f"{indent}{path.relative_to(root)}\n" for path in files)


def main(arguments: Sequence[str] | None = None) -> None:
    """Release, or only write the artifacts of a release."""
    parser = argparse.ArgumentParser(
        prog="python -m rl_resources.release", description=__doc__
    )
    only = (
        "write the artifacts of the version as it is, with checksums and notes, to dist"
    )
    parser.add_argument("--artifacts", action="store_true", help=only)
    asked = parser.parse_args(arguments)
    root = find_root(Path.cwd())
    try:
        if asked.artifacts:
            written = write_artifacts(root, read_package(root).version)
            text = _listed(root, written)
        else:
            text = release(root, datetime.now(UTC).date())
    except RlResourcesError as error:
        fix = error.help or "`make check` shows the findings."
        sys.exit(f"error: {error}\n  help: {fix}")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
