"""A value that is remembered is the value that was made, and a broken memory is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_resources import cache
from rl_resources.cache import recalled

VALUE = {"a": (1, None), "b": ("ü",)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))


def asked(*texts: str) -> bool:
    """Whether a value had to be made."""
    made: list[bool] = []

    def make() -> object:
        made.append(True)
        return VALUE

    assert recalled("kind", texts, make) == VALUE
    return bool(made)


def test_a_value_is_made_once_for_its_texts() -> None:
    assert asked("a", "b")
    assert not asked("a", "b")
    assert asked("ab", "")


def test_other_code_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked("a")
    monkeypatch.setattr(cache, "own_code", lambda: "edited")
    assert asked("a")


@pytest.mark.parametrize("kept", [0, 9, 32, 40, -1])
def test_a_broken_file_is_made_anew(tmp_path: Path, kept: int) -> None:
    asked("a")
    (file,) = (tmp_path / "kind").iterdir()
    file.write_bytes(file.read_bytes()[:kept])
    assert asked("a")
    assert not asked("a")
