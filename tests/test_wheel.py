"""The package as people install it: what the wheel holds, and what works without a checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from botched_tree import SCRIPT, git, plant_repository
from cases import read_cases
from conftest import SharedFolder
from rl_resources import load
from rl_resources.__main__ import status_of
from rl_resources.cli import COMMANDS as OFFERED
from rl_resources.cli.answers import KINDS
from rl_resources.package import DESCRIPTOR
from sample_tree import succeeded
from website import ROOT

PACKAGE = "tools/rl_resources/"
DATA = ("records/", "schema/", "examples/tuning/", DESCRIPTOR)
ABOUT = (
    "METADATA",
    "RECORD",
    "WHEEL",
    "entry_points.txt",
    "licenses/LICENSE",
    "licenses/LICENSE-DATA",
)


def _build(folder: Path) -> None:
    command = ["-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    succeeded(sys.executable, *command, cwd=ROOT)


def _install(wheel: Path, folder: Path) -> None:
    """Make an environment with the wheel and what it requires, without extras.

    pip installs the wheel. What it requires is linked from the environment of the tests, one
    distribution at a time, so that nothing else can be imported.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    _pip(python, "install", "--no-index", "--no-deps", "--no-compile", str(wheel))
    (library,) = (folder / "lib").glob("python*/site-packages")
    (own,) = Distribution.discover(name="rl-resources", path=[str(library)])
    for needed in _required(own, set()):
        _link(needed, library)
    _pip(python, "check")


def _pip(python: Path, *arguments: str) -> None:
    options = ["--python", python, "--quiet", "--disable-pip-version-check"]
    succeeded(sys.executable, "-m", "pip", *options, *arguments)


def _required(of: Distribution, seen: set[str]) -> Iterator[Distribution]:
    for requirement in map(Requirement, of.requires or ()):
        name = requirement.name
        if name not in seen and _is_wanted(requirement):
            seen.add(name)
            found = distribution(name)
            yield found
            yield from _required(found, seen)


def _is_wanted(requirement: Requirement) -> bool:
    """Whether it is required here without any extra."""
    if requirement.marker is None:
        return True
    return requirement.marker.evaluate({"extra": ""})


def _link(installed: Distribution, library: Path) -> None:
    names = {path.parts[0] for path in installed.files or ()}
    for name in names - {"..", "__pycache__"}:
        link = library / name
        if not link.exists():
            link.symlink_to(str(installed.locate_file(name)))


@pytest.fixture(scope="module")
def wheel(shared_folder: SharedFolder) -> Path:
    (found,) = shared_folder("wheel", _build).glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, shared_folder: SharedFolder) -> Path:
    """The Python of an environment with the wheel, without any extra and far from a checkout."""
    folder = shared_folder(
        "installed", lambda folder: _install(wheel, folder / "environment")
    )
    return folder / "environment/bin/python"


def test_the_wheel_holds_package_data_scripts_and_licences_and_nothing_else(wheel):
    listed = git(
        ROOT, "ls-files", "--cached", "--others", "--exclude-standard"
    ).splitlines()
    name, version, *_ = wheel.name.split("-")
    expected = [f"{name}-{version}.dist-info/{about}" for about in ABOUT]
    for path in listed:
        if not (ROOT / path).is_file():
            continue
        if path.startswith(PACKAGE):
            expected.append(path.removeprefix("tools/"))
        if path.startswith(DATA):
            expected.append(f"rl_resources/_data/{path}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert sorted(names) == sorted(expected)


def _run(python: Path, folder: Path, code: str, *arguments: str) -> str:
    """What code prints; the programs of an activated environment are not on its path."""
    variables = dict(os.environ)
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        variables.pop(name, None)
    own = str(Path(sys.executable).parent)
    folders = [path for path in os.get_exec_path() if path != own]
    variables["PATH"] = os.pathsep.join(folders)
    quiet = {"cwd": folder, "env": variables, "stdin": subprocess.DEVNULL}
    return succeeded(python, "-c", code, *arguments, **quiet)


PROMISED = """
import rl_resources

data = rl_resources.load()
found = data.find(size="7B", gpus=1, device="h100")
print(data.version, len(data.tuning), found.attrs["start"], *found["id"])
"""


def test_the_promised_lines_answer_and_lead_to_a_script_that_is_there(python, tmp_path):
    printed = _run(python, tmp_path, PROMISED)
    version, tuning, _, start, *ids = printed.split()
    ours = load(ROOT)
    assert version == ours.version
    assert int(tuning) == len(ours.records["tuning"])
    found = ours.find(size="7B", gpus=1, device="h100")
    assert ids == list(found["id"])
    script = Path(start)
    assert script.is_relative_to(python.parents[1])
    assert script.is_file()


IMPORTED = """
import sys

before = set(sys.modules)
import rl_resources

print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""


def test_importing_the_package_imports_nothing_but_the_standard_library(
    python, tmp_path
):
    printed = _run(python, tmp_path, IMPORTED)
    imported = set(printed.split())
    assert imported - sys.stdlib_module_names == {"rl_resources"}


# Runs command lines in one process; prints of each its status, output and messages.
MANY = """
import contextlib, io, json, sys
from rl_resources.__main__ import status_of

found = []
for line in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = status_of(line.split())
    found.append((status, out.getvalue(), err.getvalue()))
print(json.dumps([found, "pandas" in sys.modules]))
"""


class Answer(NamedTuple):
    """What one command line gives."""

    status: int
    printed: str
    said: str


def _answers(
    python: Path, folder: Path, commands: Iterable[str]
) -> tuple[list[Answer], bool]:
    """What command lines give one after the other, and whether pandas was imported."""
    printed = _run(python, folder, MANY, *commands)
    found, pandas = json.loads(printed)
    return [Answer(*item) for item in found], pandas


EXPORTS = [f"export {kind}" for kind in KINDS if kind != "rst"]
READING = [
    "find --size 7B --gpus 2 --device h800",
    "coverage",
    "export rst --size 7B",
    *EXPORTS,
]


def test_what_only_reads_takes_the_installed_data_where_there_is_no_checkout(
    python, tmp_path
):
    answers, pandas = _answers(python, tmp_path, READING)
    assert not pandas
    for command, answer in zip(READING, answers, strict=True):
        assert answer.status == 0, command
        assert answer.said == "", command
        assert "7B" in answer.printed, command
    started, *_ = re.findall(r"bash (\S+\.sh)", answers[0].printed)
    script = Path(started)
    assert script.is_file()


EXTRAS: Mapping[str, str] = read_cases("wheel")["extra"]


def test_every_command_is_tried_and_every_extra_is_one_that_the_project_has():
    tried = {line.partition(" ")[0] for line in EXTRAS}
    assert tried == set(OFFERED.choices)
    text = (ROOT / "pyproject.toml").read_text()
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) - {""} <= extras.keys()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant_repository(tmp_path_factory.mktemp("checkout") / "root", new=False)
    script = root / SCRIPT
    # With all that its script states in the row, `draft` has nothing to validate.
    assert status_of(["draft", str(script), "--root", str(root), "--write"]) == 0
    shutil.copy(ROOT / "tests/audit/page.rst", root)
    text = script.read_text()
    another = text.replace("Qwen2-7B", "Qwen2.5-7B")
    (root / "run.sh").write_text(another)
    return root


def test_a_command_works_without_extras_or_says_in_two_lines_which_it_needs(
    python, checkout
):
    commands = [line.replace("SCRIPT", SCRIPT) for line in EXTRAS]
    answers, _ = _answers(python, checkout, commands)
    for (line, extra), (status, _, said) in zip(EXTRAS.items(), answers, strict=True):
        if extra:
            first, _, _ = said.partition("\n")
            assert status == 2, line
            assert "not installed" in first, line
            assert said.endswith(f"pip install 'rl-resources[{extra}]'\n"), line
        else:
            assert status == 0, (line, said)
    assert not (checkout / "build").exists()
