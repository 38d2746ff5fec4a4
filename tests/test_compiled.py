"""Templates are compiled once, and a broken file of the cache is as good as none."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from rl_resources.render import compiled
from rl_resources.render.compiled import Compiled


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))


class Noting(Environment):
    """Counts what it compiles."""

    def __init__(self, text: str) -> None:
        super().__init__(loader=DictLoader({"a": text}), bytecode_cache=Compiled(), autoescape=True)
        self.count = 0

    def compile(self, *asked: object, **options: object) -> object:  # type: ignore[override]
        self.count += 1
        return super().compile(*asked, **options)  # type: ignore[call-overload]


def written(text: str) -> tuple[str, int]:
    """What a template writes, and how many were compiled for it."""
    environment = Noting(text)
    return environment.get_template("a").render(word="b"), environment.count


def test_a_template_is_compiled_once() -> None:
    assert written("a{{ word }}") == ("ab", 1)
    assert written("a{{ word }}") == ("ab", 0)


def test_another_text_or_other_code_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    written("a{{ word }}")
    assert written("c{{ word }}") == ("cb", 1)
    monkeypatch.setattr(compiled, "own_code", lambda: "edited")
    assert written("c{{ word }}") == ("cb", 1)


@pytest.mark.parametrize("harm", [lambda d: b"", lambda d: d[:-9], lambda d: d[:40] + b"\xff" * 99])
def test_a_broken_file_is_made_anew(tmp_path: Path, harm: object) -> None:
    written("a{{ word }}")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "tidied")
    file.write_bytes(harm(file.read_bytes()))  # type: ignore[operator]
    assert written("a{{ word }}") == ("ab", 1)
    assert written("a{{ word }}") == ("ab", 0)


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "templates").write_text("no folder", encoding="utf-8")
    assert written("a{{ word }}") == ("ab", 1)
