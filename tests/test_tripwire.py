"""Nothing contributed is ever run: any trap that runs leaves a trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cases import read_cases
from sample_tree import plant, plant_site, ran

SHELL = '#!/bin/sh\ntouch "$TRIPWIRE/$(basename "$0")"\n'
PYTHON = "import os, pathlib\npathlib.Path(os.environ['TRIPWIRE'], __name__).touch()\n"
CASES = read_cases("tripwire")
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A dataset in which every name that something might run or import is a trap."""
    root = plant_site(tmp_path / "dataset")
    for folder in (root, root / "records", root / "schema", root / "examples"):
        for name in CASES["imported"]:
            (folder / f"{name}.py").write_text(PYTHON)
        (folder / "x.pth").write_text(
            "import os; open(os.environ['TRIPWIRE'] + '/pth', 'w')\n"
        )
        (folder / "Makefile").write_text("all:\n\ttouch $(TRIPWIRE)/make\n")
        (folder / ".envrc").write_text('touch "$TRIPWIRE/envrc"\n')
    for script in (root / "examples").rglob("*.sh"):
        text = script.read_text()
        trap = (
            'mkdir "${TRIPWIRE:-}/script"\n: "$(mkdir "${TRIPWIRE:-}/substitution")"\n'
        )
        script.write_text(text.replace("\n", f"\n{trap}", 1))
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in CASES["programs"]:
        program = programs / name
        program.write_text(SHELL)
        program.chmod(0o755)
    page = root / "page.rst"
    page.write_text("Page\n====\n\n.. include:: records/tuning.csv\n")
    (tmp_path / "tripwire").mkdir()
    return tmp_path


@pytest.mark.nightly
def test_no_command_runs_or_imports_anything_of_a_dataset(trapped):
    wire = trapped / "tripwire"
    programs = trapped / "programs"
    variables = dict(os.environ, TRIPWIRE=str(wire), NO_MKDOCS_2_WARNING="1")
    variables["PATH"] = f"{programs}{os.pathsep}{variables['PATH']}"
    ours = Path(sys.executable).parent / "rl-resources"
    for command, status in CASES["commands"].items():
        name, *arguments = command.split()
        done = ran(
            sys.executable,
            ours,
            name,
            *arguments,
            cwd=trapped / "dataset",
            env=variables,
        )
        assert done.returncode == status, (command, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert [*wire.iterdir()] == [], command
    subprocess.run([programs / "bash"], env=variables, check=True)
    assert [*wire.iterdir()] == [wire / "bash"]


def test_a_huge_script_is_reported_and_not_read(tmp_path, command):
    root = plant(tmp_path / "dataset")
    os.truncate(root / f"examples/tuning/7b/{SCRIPT}", 1 << 40)
    printed = command("check", "--root", root, status=1)
    assert f"examples/tuning/7b/{SCRIPT}:" in printed
