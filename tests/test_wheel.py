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
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from botched_tree import SCRIPT, git, plant_repository
from cases import read_cases
from conftest import SharedFolder
from rl_resources import load
from rl_resources.cli import main
from rl_resources.cli.answers import KINDS
from rl_resources.cli.command import COMMANDS as OFFERED
from rl_resources.package import DESCRIPTOR
from sample_tree import ran
from website import ROOT

PACKAGE = "tools/rl_resources/"
DATA = ("records/", "schema/", "examples/tuning/", DESCRIPTOR)


def _build(folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


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
    command = [sys.executable, "-m", "pip", "--python", str(python), "--quiet"]
    command += ["--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def _required(of: Distribution, seen: set[str]) -> Iterator[Distribution]:
    for requirement in map(Requirement, of.requires or ()):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in seen:
            seen.add(requirement.name)
            yield (found := distribution(requirement.name))
            yield from _required(found, seen)


def _link(installed: Distribution, library: Path) -> None:
    for name in {path.parts[0] for path in installed.files or ()} - {"..", "__pycache__"}:
        if not (library / name).exists():
            (library / name).symlink_to(str(installed.locate_file(name)))


@pytest.fixture(scope="module")
def wheel(shared_folder: SharedFolder) -> Path:
    (found,) = shared_folder("wheel", _build).glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, shared_folder: SharedFolder) -> Path:
    """The Python of an environment with the wheel, without any extra and far from a checkout."""
    folder = shared_folder("installed", lambda folder: _install(wheel, folder / "environment"))
    return folder / "environment/bin/python"


def test_the_wheel_holds_package_data_scripts_and_licences_and_nothing_else(wheel):
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    files = [path for path in listed if (ROOT / path).is_file()]
    package = [path.removeprefix("tools/") for path in files if path.startswith(PACKAGE)]
    data = [f"rl_resources/_data/{path}" for path in files if path.startswith(DATA)]
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"
    names = ("METADATA", "RECORD", "WHEEL", "entry_points.txt")
    names += ("licenses/LICENSE", "licenses/LICENSE-DATA")
    expected = [*package, *data, *(f"{about}{name}" for name in names)]
    assert sorted(zipfile.ZipFile(wheel).namelist()) == sorted(expected)


def _run(python: Path, folder: Path, code: str, *arguments: str) -> str:
    """What code prints; the programs of an activated environment are not on its path."""
    unset = ("PYTHONPATH", "VIRTUAL_ENV")
    variables = {name: value for name, value in os.environ.items() if name not in unset}
    own = str(Path(sys.executable).parent)
    variables["PATH"] = os.pathsep.join(path for path in os.get_exec_path() if path != own)
    quiet = {"cwd": folder, "env": variables, "stdin": subprocess.DEVNULL}
    done = ran(python, "-c", code, *arguments, **quiet)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_promised_lines_answer_and_lead_to_a_script_that_is_there(python, tmp_path):
    code = (
        "import rl_resources; data = rl_resources.load()\n"
        "found = data.find(size='7B', gpus=1, device='h100')\n"
        "print(data.version, len(data.tuning), found.attrs['start'], *found['id'])\n"
    )
    version, tuning, _, script, *ids = _run(python, tmp_path, code).split()
    ours = load(ROOT)
    assert (version, int(tuning)) == (ours.version, len(ours.records["tuning"]))
    assert ids == list(ours.find(size="7B", gpus=1, device="h100")["id"])
    assert Path(script).is_relative_to(python.parents[1]) and Path(script).is_file()


def test_importing_the_package_imports_nothing_but_the_standard_library(python, tmp_path):
    code = "import sys; before = set(sys.modules); import rl_resources\n"
    code += "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    imported = set(_run(python, tmp_path, code).split())
    assert imported - sys.stdlib_module_names == {"rl_resources"}


# Runs command lines in one process; prints of each its status, output and messages.
MANY = """
import contextlib, io, json, sys
from rl_resources.cli import main

found = []
for line in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(line.split())
    found.append((status, out.getvalue(), err.getvalue()))
print(json.dumps([found, "pandas" in sys.modules]))
"""


def test_what_only_reads_takes_the_installed_data_where_there_is_no_checkout(python, tmp_path):
    commands = ("find --size 7B --gpus 2 --device h800", "coverage", "export rst --size 7B")
    commands += tuple(f"export {kind}" for kind in KINDS if kind != "rst")
    answers, pandas = json.loads(_run(python, tmp_path, MANY, *commands))
    assert not pandas
    assert [(status, err) for status, _, err in answers] == [(0, "")] * len(commands)
    assert [out for _, out, _ in answers if "7B" not in out] == []
    started, *_ = re.findall(r"bash (\S+\.sh)", answers[0][1])
    assert Path(started).is_file()


EXTRAS = read_cases("wheel")["extra"]
COMMANDS = [(line.replace("SCRIPT", SCRIPT), extra) for line, extra in EXTRAS.items()]


def test_every_command_is_tried_and_every_extra_is_one_that_the_project_has():
    assert {command.partition(" ")[0] for command, _ in COMMANDS} == {*OFFERED.choices}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {extra for _, extra in COMMANDS if extra} <= set(project["optional-dependencies"])


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant_repository(tmp_path_factory.mktemp("checkout") / "root", new=False)
    # With all that its script states in the row, `draft` has nothing to validate.
    assert main(["draft", str(root / SCRIPT), "--root", str(root), "--write"]) == 0
    shutil.copy(ROOT / "tests" / "audit" / "page.rst", root)
    script = (root / SCRIPT).read_text(encoding="utf-8")
    (root / "run.sh").write_text(script.replace("Qwen2-7B", "Qwen2.5-7B"), encoding="utf-8")
    return root


def test_a_command_works_without_extras_or_says_in_two_lines_which_it_needs(python, checkout):
    printed = _run(python, checkout, MANY, *(command for command, _ in COMMANDS))
    for (command, extra), (status, _, err) in zip(COMMANDS, json.loads(printed)[0], strict=True):
        assert status == (2 if extra else 0), (command, err)
        if extra:
            assert "not installed" in err.partition("\n")[0], err
            assert err.endswith(f"pip install 'rl-resources[{extra}]'\n"), err
    assert not (checkout / "build").exists()
