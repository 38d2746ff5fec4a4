"""Contributions as people botch them: each is told at its file and line, and its help mends it.

`follow` does what the help says, literally: what it writes or runs stands in the help or, where the
help asks to delete, keep or undo something, is what stood there.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from botched_tree import commit, load, plant_repository, prepared
from rl_resources.check import check_root
from rl_resources.cli import main
from sample_tree import apply

CASES = {
    name: case
    for path in sorted((Path(__file__).parent / "botched").glob("*.toml"))
    for name, case in load(path).items()
}


def follow(root: Path, step: Mapping[str, Any]) -> None:
    """An edit, or a command that the help names."""
    if "run" not in step:
        apply(root, [step])
        return
    program, *arguments = shlex.split(step["run"])
    if program == "rl-resources":
        assert main([*arguments, "--root", str(root)]) == 0
    else:
        subprocess.run([program, *arguments], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_botched_contribution_is_told_where_it_is_and_mended_by_its_help(
    case: Mapping[str, Any], tmp_path: Path
) -> None:
    root = plant_repository(tmp_path / "dataset", new=case.get("new", False))
    prepared(root, case["edit"])
    found = check_root(root)
    assert sorted(f"{item.path}:{item.line} {item.rule}" for item in found) == sorted(case["told"])
    for step in case["follow"]:
        follow(root, step)
    commit(root)
    assert check_root(root) == []
