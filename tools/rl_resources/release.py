"""`python -m rl_resources.release`: a clean checkout becomes a release without its tag.

The version is YYYY.M.N: year and month of the release, and how many went before in that month. One
that has no tag yet is released as it is, and until then may be recorded anew with `--record`.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from rl_resources.build import build
from rl_resources.check import check_root
from rl_resources.dataset import find_root, read_dataset
from rl_resources.errors import InvalidDataset, InvalidOutput, RlResourcesError, UnusableInput
from rl_resources.generate import stale
from rl_resources.history import Release
from rl_resources.moments import moments
from rl_resources.output import write_file
from rl_resources.package import DESCRIPTOR, read_package
from rl_resources.query.diff import diff
from rl_resources.released import broken_promises, record, recorded_tables
from rl_resources.repository import read_repository
from rl_resources.revision import read_folder, read_state
from rl_resources.site import changelog
from rl_resources.site.citation import CITATION, citation_file

CHANGELOG = "CHANGELOG.md"
BREAKING = "Bring it back, or publish the change under a new version of the API beside this one."
RECORD_ANEW = "Of a version that nobody has published yet, `make release RECORD=1` records it anew."


def next_version(current: str, released: Sequence[str], today: date) -> str:
    """The version of the next release: `current` itself while no tag says that it is out.

    Raises `UnusableInput` where `current` is no such version.
    """
    match = re.fullmatch(r"(\d{4})\.(\d{1,2})\.(\d+)", current)
    if match is None:
        raise UnusableInput(f"{DESCRIPTOR}: version {current!r} is not of the form 2026.11.0")
    if current not in released:
        return current
    year, month, count = map(int, match.groups())
    if (year, month) >= (today.year, today.month):
        return f"{year}.{month}.{count + 1}"
    return f"{today.year}.{today.month}.0"


def released_versions(root: Path) -> list[str]:
    """Versions that have a tag `v…`, newest first."""
    tags = _git(root, "tag", "--list", "v[0-9]*", "--sort=-version:refname").split()
    return [tag.removeprefix("v") for tag in tags]


def release_files(root: Path, today: date) -> tuple[str, dict[str, str]]:
    """The next version and the files that name it, as they should be. Nothing is written."""
    package = read_package(root)
    current = package.version
    released = released_versions(root)
    version = next_version(current, released, today)
    previous = released[0] if released else None
    old = read_state(root, f"v{previous}") if previous else {}
    diffs = diff(old, read_folder(root))
    place = root / CHANGELOG
    before = place.read_text(encoding="utf-8") if place.is_file() else ""
    by_hand = changelog.sections(before).get(changelog.UNRELEASED, "")
    text = changelog.entry(version, today, diffs, by_hand)
    descriptor = (root / DESCRIPTOR).read_text(encoding="utf-8")
    descriptor = descriptor.replace(f'"version": "{current}"', f'"version": "{version}"', 1)
    descriptor = re.sub(r'(?<="created": ")[0-9-]*', today.isoformat(), descriptor, count=1)
    times = moments(root, read_dataset(package), diffs)
    made = Release(version, today.isoformat(), previous, tuple(diffs), moments=times)
    return version, {
        DESCRIPTOR: descriptor,
        CITATION: citation_file(replace(package, version=version, created=today.isoformat())),
        CHANGELOG: changelog.with_entry(before, version, text),
        **record(root, made, descriptor),
    }


def record_anew(root: Path) -> list[str]:
    """Write what is recorded of a version that has no tag yet; gives the paths that it wrote.

    Raises `UnusableInput` where the version has a tag: what is recorded of it was promised.
    """
    package = read_package(root)
    if package.version in released_versions(root):
        raise UnusableInput(f"{package.version} has a tag: it is published", BREAKING)
    _, files = release_files(root, date.fromisoformat(package.created))
    gone = [path for path in recorded_tables(root) if path not in files]
    for path in gone:
        (root / path).unlink()
    written = [path for path, text in files.items() if _differs(root / path, text)]
    for path in written:
        write_file(root / path, files[path])
    return [*gone, *written]


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text(encoding="utf-8") != text


def refuse_unfit(root: Path) -> None:
    """Raise where the checkout has changes, findings or stale files: none of it may be released."""
    if changes := _git(root, "status", "--porcelain"):
        raise UnusableInput(f"the checkout has changes:\n{changes}", "Commit or remove them.")
    if findings := check_root(root):
        raise InvalidDataset(findings)
    if files := stale(root):
        raise UnusableInput(f"stale: {', '.join(files)}", "Run `make generate` and commit.")
    # What is recorded of a version without a tag was never published: it may be recorded anew.
    if read_package(root).version in released_versions(root) and (broken := broken_promises(root)):
        raise UnusableInput("\n".join(["the API would break its readers:", *broken]), BREAKING)


def write_artefacts(root: Path, version: str) -> list[Path]:
    """The site as an archive, wheel and source archive, in `dist`."""
    folder = root / "dist"
    folder.mkdir(exist_ok=True)
    site = build(root, root / "build")
    time = read_repository(root).commit_time or 0
    archive = folder / f"rl-resources-site-{version}.tar.gz"
    _pack(site, archive, f"rl-resources-site-{version}", time)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    done = subprocess.run(
        [*command, "-d", str(folder)], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InvalidOutput(f"hatchling: {done.stderr.strip() or done.stdout.strip()}")
    return sorted(path for path in folder.iterdir() if version in path.name)


def _pack(folder: Path, archive: Path, name: str, time: int) -> None:
    """The same files and time give the same bytes."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = time
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{name}/{path.relative_to(folder)}", recursive=False, filter=plain)


def release(root: Path, today: date) -> str:
    """Commit the next version with its changelog, write its artefacts, say what is left to do."""
    refuse_unfit(root)
    version, files = release_files(root, today)
    before = {path: (root / path).read_text("utf-8") for path in files if (root / path).exists()}
    gone = [path for path in recorded_tables(root) if path not in files]
    before |= {path: (root / path).read_text("utf-8") for path in gone}
    try:
        for path, text in files.items():
            write_file(root / path, text)
        for path in gone:
            (root / path).unlink()
        _git(root, "add", "--all", *files, *gone)
        if _git(root, "status", "--porcelain"):
            _git(root, "commit", "--quiet", "--message", f"Release {version}")
    except BaseException:
        for path in files.keys() - before.keys():
            (root / path).unlink(missing_ok=True)
        for path, text in before.items():
            write_file(root / path, text)
        raise
    artefacts = write_artefacts(root, version)
    listed = "".join(f"  {path.relative_to(root)}\n" for path in artefacts)
    return (
        f"Release {version} is committed. Artefacts:\n{listed}Left to do:\n"
        f"  git tag --annotate v{version} --message 'Release {version}'\n"
        f"  git push origin HEAD v{version}\n"
    )


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", None) or str(error)
        raise UnusableInput(f"git {arguments[0]}: {told.strip()}") from error
    return done.stdout.rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Release; with `--dry-run` say what a release would hold, with `--record` write that alone."""
    parser = argparse.ArgumentParser(prog="python -m rl_resources.release", description=__doc__)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--dry-run", action="store_true", help="write nothing")
    instead.add_argument(
        "--record",
        action="store_true",
        help="write anew what is recorded of an unpublished version",
    )
    parser.add_argument("--root", type=Path, help="the checkout")
    parsed = parser.parse_args(arguments)
    today = datetime.now(UTC).date()
    try:
        root = parsed.root or find_root(Path.cwd())
        if parsed.dry_run:
            version, files = release_files(root, today)
            told = f"Would release {version}.\n\n{changelog.sections(files[CHANGELOG])[version]}"
        elif parsed.record:
            told = "".join(f"Recorded anew: {path}\n" for path in record_anew(root))
        else:
            told = release(root, today)
    except InvalidDataset as error:
        print(f"error: {error}\n  help: `make check` tells them.", file=sys.stderr)  # noqa: T201
        return 1
    except RlResourcesError as error:
        print(f"error: {error}\n  help: {error.help}", file=sys.stderr)  # noqa: T201
        return 2
    sys.stdout.write(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
