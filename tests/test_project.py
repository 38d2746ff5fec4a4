"""Files of the project that no command reads: workflows, hooks, pinned requirements, licenses."""

import json
import os
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from cases import cases
from rl_resources.__main__ import status_of
from rl_resources.check import all_rules
from sample_tree import succeeded
from website import ROOT

BIN = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = [
    ROOT / "action.yml",
    *sorted((ROOT / ".github" / "actions").glob("*/action.yml")),
]
PAGES = sorted((ROOT / "site" / "pages").glob("*.md"))
PINNED = r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def _read(path: str | Path) -> str:
    return (ROOT / path).read_text()


def _run(*command: str | Path) -> str:
    variables = dict(os.environ)
    variables["PATH"] = f"{BIN}{os.pathsep}{variables['PATH']}"
    return succeeded(*command, cwd=ROOT, env=variables)


def _sources() -> list[Path]:
    package = ROOT / "tools/rl_resources"
    return [*package.rglob("*.py")]


@pytest.mark.nightly
def test_the_linter_of_workflows_finds_nothing():
    assert not _run(BIN / "jactionlint", "--format", "jsonl", *WORKFLOWS, *ACTIONS)


@cases("project", "accepted")
@pytest.mark.nightly
def test_a_tool_accepts_files_of_the_project(tool, pattern):
    words = tool.split()
    paths = [*ROOT.glob(pattern)]
    _run(sys.executable, "-m", *words, *paths)


@pytest.fixture(params=WORKFLOWS)
def workflow(request: pytest.FixtureRequest) -> Path:
    """Each workflow."""
    return request.param


@pytest.fixture
def loaded(workflow: Path) -> dict[Any, Any]:
    """What a workflow says."""
    return dict(yaml.safe_load(_read(workflow)))


def _commands(steps: Iterable[Mapping[str, str]]) -> list[str]:
    return [step["run"] for step in steps if "run" in step]


def test_a_workflow_is_pinned(workflow):
    text = _read(workflow)
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    for line in uses:
        assert re.fullmatch(PINNED, line)
    for line in re.findall(r"pip install .*", text):
        assert "--require-hashes" in line


def test_a_step_of_a_workflow_gets_no_secret_and_no_text_of_others(workflow, loaded):
    assert "secrets." not in _read(workflow)
    for job in loaded["jobs"].values():
        steps = job["steps"]
        assert "${{" not in "\n".join(_commands(steps))
        for step in steps:
            if "actions/checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_a_workflow_has_the_rights_it_states(loaded):
    assert loaded["permissions"] in ({}, {"contents": "read"})
    events = loaded[True]  # YAML 1.1 reads `on` as true
    assert "pull_request_target" not in events
    assert "workflow_run" not in events
    if "pull_request" in events:  # whose code runs with read access
        assert loaded["permissions"] == {"contents": "read"}
        for job in loaded["jobs"].values():
            assert "permissions" not in job


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_is_pinned_and_gets_its_inputs_as_variables(path):
    text = _read(path)
    action = yaml.safe_load(text)
    for line in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(PINNED, line)
    commands = _commands(action["runs"]["steps"])
    assert commands
    assert "${{" not in "\n".join(commands)


REQUIREMENT = (
    r"[a-z0-9.\[\],_-]+==\S+( ; .+?)?( \\\n    --hash=sha256:[0-9a-f]{64})+(\n    #.*)*"
)


@pytest.mark.parametrize("path", LOCKS)
def test_every_requirement_has_one_version_and_hashes(path):
    entries = re.split(r"\n(?!\s)", _read(path))
    requirements = [entry.strip() for entry in entries if entry[:1].isalnum()]
    assert len(requirements) > 20
    for requirement in requirements:
        assert re.fullmatch(REQUIREMENT, requirement)


def _pins(name: str) -> set[str]:
    text = _read(f"requirements/{name}.txt")
    return set(re.findall(r"(?m)^[a-z]\S+==[^\\\n]*", text))


def test_the_sets_of_requirements_agree():
    serve = _pins("serve")
    assert serve
    assert serve <= _pins("test")


def test_locked_packages_of_npm_have_an_integrity_and_name_no_host():
    text = _read("tools/web/package-lock.json")
    packages = json.loads(text)["packages"]
    packages.pop("")  # our own
    for name, item in packages.items():
        assert "integrity" in item, name
    assert '"resolved"' not in text


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    """Our hooks of pre-commit by name, in their order."""
    settings = yaml.safe_load(_read(".pre-commit-config.yaml"))
    (local,) = settings["repos"]
    return {hook["id"]: hook for hook in local["hooks"]}


def test_pre_commit_needs_nothing_but_the_clone(hooks):
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    installed = {*extras["check"], *extras["test"], *project["dependencies"]}
    for hook in hooks.values():
        assert hook["language"] == "python"
        assert set(hook["additional_dependencies"]) <= installed
    first, *_ = hooks.values()
    assert set(first["additional_dependencies"]) >= set(extras["check"])


def test_pre_commit_is_as_strict_as_ci(hooks):
    entry = hooks["check"]["entry"]
    assert entry.endswith("rl_resources check --strict")
    assert "rl-resources check --strict" in _read(".github/workflows/check.yml")
    assert re.search(
        r"(?m)^check: .*\n\t.*rl-resources check --strict$", _read("Makefile")
    )


def test_hooks_call_commands_that_exist(capsys):
    for hook in yaml.safe_load(_read(".pre-commit-hooks.yaml")):
        name, command, *_ = hook["entry"].split()
        with pytest.raises(SystemExit, match="0"):
            status_of([command, "--help"])
        shown = capsys.readouterr()
        assert shown.out.startswith(f"usage: {name} {command}")


def test_packages_import_each_other_in_one_direction():
    imported = defaultdict(set)
    for path in _sources():
        own = path.relative_to(ROOT / "tools/rl_resources").parts[0].removesuffix(".py")
        names = re.findall(r"from rl_resources(?:\.| import )(\w+)", _read(path))
        imported[own].update(names)
        imported[own] -= {own, "__init__"}
    assert imported["cli"] > {"check", "contribute"}
    TopologicalSorter(imported).prepare()  # raises `CycleError` with the circle


def _drawn() -> dict[str, set[str]]:
    """Which package may import which, by the arrows of ARCHITECTURE's diagram."""
    _, _, rest = _read("ARCHITECTURE.md").partition("flowchart LR")
    diagram, _, _ = rest.partition("```")
    without_labels = re.sub(r'\[".*?"\]', "", diagram)
    drawn = defaultdict(set)
    for line in without_labels.splitlines():
        steps = [re.findall(r"\w+", step) for step in line.split("-->")]
        for sources, targets in pairwise(steps):
            for target in targets:
                drawn[target].update(sources)
    return drawn


def _reachable(drawn: dict[str, set[str]], package: str) -> set[str]:
    """All packages from which arrows lead to one."""
    found = set()
    waiting = [package]
    while waiting:
        for source in drawn.get(waiting.pop(), set()) - found:
            found.add(source)
            waiting.append(source)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_by_hand_is_in_the_menu_with_a_title_and_a_description(page):
    before, head, *_ = _read(page).split("---\n")
    said = yaml.safe_load(head)
    assert before == ""
    assert said.keys() >= {"title", "description"}
    menu, _, _ = _read("mkdocs.yml").partition("not_in_nav:")
    assert f": {page.name}\n" in menu


def _named_in_the_table() -> Iterator[str]:
    """The paths and names that ARCHITECTURE says to change; placeholders are in capitals."""
    _, _, rest = _read("ARCHITECTURE.md").partition("## To change something")
    table, _, _ = rest.partition("## The data")
    for text in re.findall(r"`([^`\s]+)`", table):
        is_path = re.fullmatch(
            r"[\w./-]*(?:/|\.(?:py|js|toml|json|jinja|md|csv|yml))", text
        )
        is_placeholder = re.search(r"\b(?:NAME|TABLE)\b", text)
        if is_placeholder or text == "/rules/":
            continue
        if is_path or re.fullmatch(r"[A-Za-z_]\w+", text):
            yield text


def test_what_the_table_of_changes_names_is_there():
    paths = [f"/{path}" for path in _run("git", "ls-files").split()]
    words = set()
    for path in paths:
        file = ROOT / path[1:]
        if file.suffix in {".py", ".toml", ".js", ".jinja", ".json"} and file.is_file():
            words.update(re.findall(r"\w+", file.read_text()))
    for name in _named_in_the_table():
        is_path = any(f"/{name}" in path for path in paths)
        assert is_path or name in words, name


def test_the_diagram_of_packages_is_true_to_their_imports():
    packages = {path.parent.name for path in _sources() if path.name == "__init__.py"}
    packages -= {"rl_resources", "bash", "framework"}
    drawn = _drawn()
    assert packages <= drawn.keys() | {"base"}
    for path in _sources():
        own = path.relative_to(ROOT / "tools/rl_resources").parts[0]
        if own not in packages:
            continue
        imported = set(re.findall(r"from rl_resources\.(\w+)", _read(path))) & packages
        assert imported - {own} <= _reachable(drawn, own), path


def test_one_module_reads_the_tables():
    readers = set()
    for path in _sources():
        text = _read(path)
        assert not re.search(r"\bDictReader\b|^import csv", text, re.MULTILINE), path
        if re.search(r"read_file\(.*LARGEST_TABLE_BYTES\)", text):
            readers.add(path.name)
    # The others read the descriptor and the schemas.
    assert readers == {"snapshot.py", "descriptor.py", "package.py"}


def test_mistakes_never_hide_each_other_in_a_circle():
    follows = {name: set(rule.follows) for name, rule in all_rules().items()}
    assert follows["row-without-script"] > {"script-name", "vocabulary"}
    TopologicalSorter(follows).prepare()  # raises `CycleError` with the circle


def test_no_rule_runs_another():
    for path in (ROOT / "tools" / "rl_resources").glob("*_rules/*.py"):
        assert ".mistakes(" not in _read(path), path
