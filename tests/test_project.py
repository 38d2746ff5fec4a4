"""Files of the project that no command reads: workflows, hooks, pinned requirements, licenses."""

import json
import os
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from cases import cases
from rl_resources.check import all_rules
from rl_resources.cli import main
from sample_tree import ran

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "actions").glob("*/action.yml"))]
PINNED = r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def _read(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return ran(*command, cwd=ROOT, env={**os.environ, "PATH": path})


@pytest.mark.nightly
def test_the_linter_of_workflows_finds_nothing():
    done = _run(BIN / "jactionlint", "--format", "jsonl", *WORKFLOWS, *ACTIONS)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@cases("project", "accepted")
@pytest.mark.nightly
def test_a_tool_accepts_files_of_the_project(tool, pattern):
    done = _run(sys.executable, "-m", *tool.split(), *ROOT.glob(pattern))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_pinned_and_has_the_rights_it_states(path):
    text = _read(path)
    loaded: dict[Any, Any] = yaml.safe_load(text)
    steps = [step for job in loaded["jobs"].values() for step in job["steps"]]
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    assert [line for line in uses if not re.fullmatch(PINNED, line)] == []
    assert loaded["permissions"] in ({}, {"contents": "read"})
    assert "secrets." not in text
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    checkouts = [step for step in steps if "actions/checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    installs = re.findall(r"pip install .*", text)
    assert all("--require-hashes" in line for line in installs)
    events = loaded[True]  # YAML 1.1 reads `on` as true
    assert not {"pull_request_target", "workflow_run"} & set(events)
    if "pull_request" in events:  # whose code runs with read access
        assert loaded["permissions"] == {"contents": "read"}
        assert not any("permissions" in job for job in loaded["jobs"].values())


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_is_pinned_and_gets_its_inputs_as_variables(path):
    text = _read(path)
    steps = yaml.safe_load(text)["runs"]["steps"]
    assert all(re.fullmatch(PINNED, line) for line in re.findall(r"uses: (.*)", text))
    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_requirement_has_one_version_and_hashes(path):
    entries = [entry for entry in re.split(r"\n(?!\s)", _read(path)) if entry[:1].isalnum()]
    form = r"[a-z0-9.\[\],_-]+==\S+( ; .+?)?( \\\n    --hash=sha256:[0-9a-f]{64})+(\n    #.*)*"
    assert len(entries) > 20
    assert [entry for entry in entries if not re.fullmatch(form, entry.strip())] == []


def test_the_sets_of_requirements_agree():
    pins = re.compile(r"^[a-z]\S+==[^\\\n]*", re.MULTILINE)
    serve, test = (pins.findall(_read(f"requirements/{name}.txt")) for name in ("serve", "test"))
    assert {*serve} - {*test} == set()


def test_locked_packages_of_npm_have_an_integrity_and_name_no_host():
    text = _read("tools/web/package-lock.json")
    packages = json.loads(text)["packages"]
    assert all("integrity" in item for key, item in packages.items() if key)
    assert '"resolved"' not in text


def test_pre_commit_needs_nothing_but_the_clone_and_is_as_strict_as_ci():
    (local,) = yaml.safe_load(_read(".pre-commit-config.yaml"))["repos"]
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    extras, base = project["optional-dependencies"], project["dependencies"]
    installed = {*extras["check"], *extras["test"], *base}
    entries = {hook["id"]: hook["entry"] for hook in local["hooks"]}
    for hook in local["hooks"]:
        assert hook["language"] == "python"
        assert set(hook["additional_dependencies"]) <= installed
    assert set(local["hooks"][0]["additional_dependencies"]) >= set(extras["check"])
    assert entries["check"].endswith("rl_resources check --strict")
    assert "rl-resources check --strict" in _read(".github/workflows/check.yml")
    assert re.search(r"(?m)^check: .*\n\t.*rl-resources check --strict$", _read("Makefile"))


def test_hooks_call_commands_that_exist(capsys):
    for hook in yaml.safe_load(_read(".pre-commit-hooks.yaml")):
        name, command, *_ = hook["entry"].split()
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: {name} {command}")


def test_packages_import_each_other_in_one_direction():
    imported: dict[str, set[str]] = {}
    for path in (ROOT / "tools" / "rl_resources").rglob("*.py"):
        own, text = path.parts[len(ROOT.parts) + 2].removesuffix(".py"), _read(path)
        names = re.findall(r"from rl_resources(?:\.| import )(\w+)", text)
        imported.setdefault(own, set()).update({*names} - {own, "__init__"})
    assert imported["cli"] > {"check", "contribute"}
    TopologicalSorter(imported).prepare()  # raises `CycleError` with the circle


def test_one_module_reads_the_tables():
    readers = set()
    for path in (ROOT / "tools" / "rl_resources").rglob("*.py"):
        text = _read(path)
        assert not re.search(r"\bDictReader\b|^import csv", text, re.MULTILINE), path
        if re.search(r"read_file\(.*LARGEST_TABLE_BYTES\)", text):
            readers.add(path.name)
    # The other one reads the descriptor and the schemas.
    assert readers == {"snapshot.py", "package.py"}


def test_mistakes_never_hide_each_other_in_a_circle():
    follows = {name: set(rule.follows) for name, rule in all_rules().items()}
    assert follows["row-without-script"] > {"script-name", "vocabulary"}
    TopologicalSorter(follows).prepare()  # raises `CycleError` with the circle


def test_no_rule_runs_another():
    for path in (ROOT / "tools" / "rl_resources").glob("*_rules/*.py"):
        assert ".mistakes(" not in _read(path), path
