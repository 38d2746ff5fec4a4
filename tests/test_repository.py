"""The public address of a checkout."""

import pytest

from rl_resources.repository import public_address


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
