"""What git knows of a checkout, and its public address."""

import subprocess
from pathlib import Path

import pytest

from rl_resources.repository import Repository, public_address, read_repository


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://example.org/owner/name.git", "https://example.org/owner/name"),
        ("https://token@example.org/owner/name", "https://example.org/owner/name"),
        ("https://user:secret@example.org/owner/name", "https://example.org/owner/name"),
        ("git@example.org:owner/name.git", "https://example.org/owner/name"),
        ("ssh://git@example.org/owner/name", "https://example.org/owner/name"),
    ],
)
def test_a_remote_on_the_web_has_a_public_address_without_credentials(
    remote: str, address: str
) -> None:
    assert public_address(remote) == address


@pytest.mark.parametrize("remote", ["", "/srv/name", "../name", "file:///srv/name", "javascript:x"])
def test_any_other_remote_has_none(remote: str) -> None:
    assert public_address(remote) is None


def test_an_archive_unpacked_inside_of_another_checkout_has_nothing_of_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "datapackage.json").write_text("{}")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x"]
    for arguments in (
        ["init", "-q"],
        ["remote", "add", "origin", "https://example.org/not/ours"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run([*git, *arguments], check=True)
    assert read_repository(tmp_path / "inner") == Repository(None, None, None)
    subprocess.run([*git, "add", "."], check=True)
    assert read_repository(tmp_path / "inner").url == "https://example.org/not/ours"
