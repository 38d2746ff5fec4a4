"""Contributions with a mistake: each is reported at its file and line, and its help fixes it.

`follow` does what the help says, literally: what a step writes or runs must stand in a help. A step
that deletes, or that writes what only the contributor can know, quotes the help that asks for it as
`asked`.
"""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from botched_tree import load, plant_repository
from rl_resources.__main__ import status_of
from rl_resources.check import all_rules, check_root
from rl_resources.errors import Finding
from sample_tree import apply

NIGHTLY = {"cells", "files", "names", "pasted", "rows", "scripts"}
"""Mistakes that `tests/bad` or `tests/script_rules.toml` has on a smaller dataset."""
CASES = []
for path in sorted((Path(__file__).parent / "botched").glob("*.toml")):
    marks = [pytest.mark.nightly] if path.stem in NIGHTLY else []
    for name, case in load(path).items():
        CASES.append(pytest.param(case, id=name, marks=marks))
FIX = "rl-resources check --fix"
"""`check` names it below its findings where it would fix one of them."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Mapping[bool, Path]:
    """The dataset without and with a good contribution, each a repository."""
    folder = tmp_path_factory.mktemp("sound")
    return {
        False: plant_repository(folder / "without", new=False),
        True: plant_repository(folder / "with", new=True),
    }


def follow(root: Path, step: Mapping[str, Any], found: Sequence[Finding]) -> None:
    """Do what a help says: an edit, or a command that it names."""
    asked = step.get("asked") or step.get("run")
    if asked is None:
        asked = step["with"].strip("\n")
    assert asked
    assert is_said(asked, found), asked
    if "run" not in step:
        apply(root, [step])
        return
    program, *arguments = shlex.split(step["run"])
    if program != "rl-resources":
        subprocess.run([program, *arguments], cwd=root, check=True, capture_output=True)
        return
    if arguments[0] == "draft":
        arguments = [str(root / part) if "/" in part else part for part in arguments]
    assert status_of([*arguments, "--root", str(root)]) == 0


def is_said(asked: str, found: Sequence[Finding]) -> bool:
    """Whether `check` asks for this with one of these findings or below them."""
    if any(asked in item.help for item in found):
        return True
    if asked != FIX:
        return False
    return any(all_rules()[item.rule].fixer for item in found)


@pytest.mark.parametrize("case", CASES)
def test_a_broken_contribution_is_reported_at_its_place_and_fixed_by_its_help(
    case, sound, tmp_path
):
    root = tmp_path / "dataset"
    shutil.copytree(sound[case.get("new", False)], root)
    apply(root, case["edit"])
    found = check_root(root)
    reported = []
    for path, line, _, rule, _ in sorted(item.position for item in found):
        reported.append(f"{path}:{line} {rule}")
    assert sorted(reported) == sorted(case["reported"])
    for step in case["follow"]:
        follow(root, step, found)
    assert check_root(root) == []
