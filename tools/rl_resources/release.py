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
from rl_resources.query.diff import TableDiff, diff, read_directory, read_state
from rl_resources.site.changes import SAME, counts

CHANGELOG = "CHANGELOG.md"
CITATION = "CITATION.cff"
UNRELEASED = "## Unreleased\n"


def next_version(current: str, released: Sequence[str], today: date) -> str:
    """The version of the next release: `current` itself while it has no tag."""
    if current not in released:
        return current
    year, month, count = map(int, current.split("."))
    if (year, month) >= (today.year, today.month):
        return f"{year}.{month}.{count + 1}"
    return f"{today.year}.{today.month}.0"


def release_files(root: Path, today: date) -> tuple[str, dict[str, str]]:
    """The next version and the files that name it, as they should be. Nothing is written.

    In the changelog the section `Unreleased` becomes that of the version.
    """
    package, released = read_package(root), released_versions(root)
    version = next_version(package.version, released, today)
    old = read_state(root, f"v{released[0]}") if released else {}
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    # A version without a tag is released again: its list of data is written again.
    before = rf"^## {re.escape(version)} .*\n\n### Data\n\n(?: *- .*\n)+\n?"
    text = re.sub(before, "" if UNRELEASED in text else f"{UNRELEASED}\n", text, flags=re.MULTILINE)
    if UNRELEASED not in text:
        text = text.replace("\n", f"\n\n{UNRELEASED}", 1)
    section = (
        f"## {version} ({today.isoformat()})\n\n{data_section(diff(old, read_directory(root)))}"
    )
    descriptor = (root / DESCRIPTOR).read_text(encoding="utf-8")
    descriptor = re.sub(r'(?<="version": ")[^"]*', version, descriptor, count=1)
    descriptor = re.sub(r'(?<="created": ")[0-9-]*', today.isoformat(), descriptor, count=1)
    citation = (root / CITATION).read_text(encoding="utf-8")
    citation = re.sub(r"(?m)^version: .*", f"version: {version}", citation)
    citation = re.sub(r"(?m)^date-released: .*", f"date-released: '{today}'", citation)
    return version, {
        DESCRIPTOR: descriptor,
        CITATION: citation,
        CHANGELOG: text.replace(UNRELEASED, section, 1),
    }


def data_section(diffs: Sequence[TableDiff]) -> str:
    """What a release changes in the data: a line for each table; `diff` names the records."""
    lines = [f"- {item.name}: {counts(item)}" for item in diffs]
    return "\n".join(["### Data", "", *(lines or [SAME]), ""])


def refuse_unfit(root: Path) -> None:
    """Raise where the checkout has changes, findings or stale files."""
    if changes := git_text(root, "status", "--porcelain"):
        raise UnusableInput(f"the checkout has changes:\n{changes}", "Commit or remove them.")
    if findings := check_root(root):
        raise InvalidDataset(findings)
    if files := stale(root):
        raise UnusableInput(f"stale: {', '.join(files)}", "Run `make generate` and commit.")


def write_artifacts(root: Path, version: str) -> list[Path]:
    """The site, the data as CSV, Parquet and SQLite, wheel and source archive, in `dist`.

    Their checksums are in `SHA256SUMS`, the section of the changelog in `NOTES.md`.
    """
    folder = root / "dist"
    site, name = build(root, root / "build"), str(folder / "rl-resources-{}-") + version
    shutil.make_archive(name.format("site"), "gztar", site.parent, site.name)
    shutil.make_archive(name.format("data"), "zip", site, "downloads")
    hatchling = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    subprocess.run([*hatchling, "-d", str(folder)], cwd=root, check=True)
    found = sorted(path for path in folder.iterdir() if version in path.name)
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in found]
    write_file(folder / "SHA256SUMS", "".join(sums))
    write_file(folder / "NOTES.md", notes((root / CHANGELOG).read_text(encoding="utf-8"), version))
    return found


def notes(changelog: str, version: str) -> str:
    """The section of a version in the changelog, without its title.

    Raises `UnusableInput` where it has none.
    """
    pattern = rf"(?ms)^## {re.escape(version)} .*?\n(.*?)(?=^## |\Z)"
    if match := re.search(pattern, changelog):
        return match[1].strip() + "\n"
    raise UnusableInput(f"{CHANGELOG}: has no section {version}", "Run `make release` first.")


def release(root: Path, today: date) -> str:
    """Commit the next version with its changelog, write its artifacts, say what is left to do."""
    refuse_unfit(root)
    version, files = release_files(root, today)
    for path, text in files.items():
        write_file(root / path, text)
    commit = ["commit", "--quiet", "--all", "--message", f"Release {version}"]
    subprocess.run(["git", "-C", str(root), *commit], check=True)
    artifacts = write_artifacts(root, version)
    listed = "".join(f"  {path.relative_to(root)}\n" for path in artifacts)
    return (
        f"Release {version} is committed. Artifacts:\n{listed}Left to do:\n"
        f"  git tag --annotate v{version} --message 'Release {version}'\n"
        f"  git push origin HEAD v{version}\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Release, or only write the artifacts of a release."""
    parser = argparse.ArgumentParser(prog="python -m rl_resources.release", description=__doc__)
    only = "write the artifacts of the version as it is, with checksums and notes, to dist"
    parser.add_argument("--artifacts", action="store_true", help=only)
    parsed = parser.parse_args(arguments)
    root, today = find_root(Path.cwd()), datetime.now(UTC).date()
    try:
        if parsed.artifacts:
            written = write_artifacts(root, read_package(root).version)
            text = "".join(f"{path.relative_to(root)}\n" for path in written)
        else:
            text = release(root, today)
    except RlResourcesError as error:
        sys.exit(f"error: {error}\n  help: {error.help or '`make check` shows the findings.'}")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
