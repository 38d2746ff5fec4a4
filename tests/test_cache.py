"""A value that is remembered is the value that was made, and a broken memory is none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rl_resources import cache
from rl_resources.cache import cache_folder, keep, kept_bytes, kept_json, recalled

VALUE = {"a": (1, None), "b": ("ü",)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))
    cache._tidy.cache_clear()


def answer(number: int, *, days: float = 0, kind: str = "kind") -> Path:
    """A file of the cache, written some days ago."""
    path = cache_folder(kind) / f"{number:064x}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    written = time.time() - days * 86_400
    os.utime(path, (written, written))
    return path


def write_one() -> None:
    """What another process would write."""
    cache._tidy.cache_clear()
    keep(cache_folder("kind") / f"{0:064x}", "")


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
    (file,) = (path for path in (tmp_path / "kind").iterdir() if path.name != "tidied")
    file.write_bytes(file.read_bytes()[:kept])
    assert asked("a")
    assert not asked("a")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: path.write_bytes(b"\xff{}"),
        lambda path: path.symlink_to("/dev/zero"),
        os.mkfifo,
        Path.mkdir,
    ],
)
def test_what_cannot_be_read_is_not_known(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    odd = tmp_path / "odd"
    damage(odd)
    assert kept_json(odd) is None
    assert kept_bytes(odd) is None


def test_answers_go_that_were_written_long_ago() -> None:
    old, young = answer(1, days=31), answer(2, days=29)
    folder = answer(3, kind=f"kind/{4:064x}", days=31).parent
    os.utime(folder, (1, 1))
    write_one()
    assert not old.exists()
    assert not folder.exists()
    assert young.exists()


def test_the_oldest_answers_go_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_ANSWERS", 3)
    files = [answer(number, days=number) for number in range(1, 6)]
    write_one()
    assert [path.exists() for path in files] == [True, True, False, False, False]


def test_files_that_are_no_answers_are_left_alone(tmp_path: Path) -> None:
    theirs = [tmp_path / "kind" / name for name in ("notes.txt", "last.json", "cafe", "a" * 39)]
    outside = [answer(5, days=99, kind="other"), tmp_path / "old.txt"]
    folder = tmp_path / "kind" / f"{6:064x}"
    folder.mkdir(parents=True)
    inside = folder / "mine.txt"
    for path in (*theirs, outside[1], inside):
        path.write_text("mine", encoding="utf-8")
    for path in (*theirs, outside[1], inside, folder):
        os.utime(path, (1, 1))
    link = tmp_path / "kind" / f"{7:064x}"
    link.symlink_to(tmp_path / "other")
    os.utime(link, (1, 1), follow_symlinks=False)
    write_one()
    assert all(path.exists() for path in (*theirs, *outside, inside))
    assert not link.is_symlink()


def test_old_answers_are_looked_for_once_a_day() -> None:
    write_one()
    old = answer(1, days=31)
    write_one()
    assert old.exists()
    day = cache_folder("kind") / "tidied"
    os.utime(day, (1, 1))
    write_one()
    assert not old.exists()


def test_two_may_tidy_at_once() -> None:
    files = [answer(number, days=31) for number in range(1, 200)]

    def tidy(_: int) -> None:
        with suppress(OSError):
            cache._tidy.__wrapped__(cache_folder("kind"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tidy, range(4)))
    assert not any(path.exists() for path in files)
