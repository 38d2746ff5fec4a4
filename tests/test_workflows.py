"""Workflows and actions, replayed: their `run` steps on a scratch clone, without the runner."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from botched_tree import commit, git, plant_repository
from cases import cases
from conftest import program
from rl_resources.script.framework.shipped import DEFAULTS, HISTORY
from website import ROOT, read_rows

PLACE = "examples/tuning/7b/qwen2.5-7b-instruct_grpo_2_a100-80g_fsdp_vllm.sh"
WHY = "The parameters fit; only the optimizer had to go to host memory."
EXEMPTIONS = "records/exemptions.csv"
DERIVED = (f"{HISTORY}/verl.json", f"{DEFAULTS}/verl.json")
BRANCH = "record-issue-7"
GH = """#!/bin/sh
echo "$*" >> "$RUNNER_TEMP/gh"
case "$*" in *--body-file*) for file; do :; done; cp "$file" "$RUNNER_TEMP/said-$1" ;; esac
"""


def put(path: Path, text: str = "", mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


class Runner:
    """A clone of a dataset whose remote is a directory, and what stands in for GitHub's runner."""

    def __init__(self, folder: Path) -> None:
        self.root, self.remote, self.temporary = (folder / name for name in ("r", "o.git", "t"))
        self.temporary.mkdir()
        plant_repository(self.root, new=False)
        git(self.root, "branch", "--move", "main")
        git(folder, "clone", "--quiet", "--bare", str(self.root), str(self.remote))
        git(self.root, "remote", "add", "origin", str(self.remote))
        program = f'#!/bin/sh\nexec {sys.executable} -m rl_resources "$@"\n'
        put(self.root / ".venv/bin/rl-resources", program, 0o755)
        put(folder / "bin/gh", GH, 0o755)
        files = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
        self.state = {name: str(self.temporary / name) for name in files}
        self.environment = {
            **os.environ,
            **self.state,
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "tools"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "RUNNER_TEMP": str(self.temporary),
        }

    def run(self, job: dict[str, Any], status: int = 0, **given: str) -> str:
        """Run the steps of a job that install nothing; what they print. The last has `status`."""
        printed, last = "", job["steps"][-1]
        for step in job["steps"]:
            if "run" not in step or ".venv/.ready" in step["run"]:
                continue
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=self.root, env={**self.environment, **given}, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert done.returncode == (status if step is last else 0), done.stdout
            printed += done.stdout
        return printed

    def changed(self, branch: str = BRANCH) -> list[str]:
        """The files that a branch at the remote changes."""
        return git(self.remote, "diff", "--name-only", "main", branch).split()

    def said(self, name: str) -> str:
        """A file that the steps left."""
        path = self.temporary / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def asked(self) -> list[str]:
        """The commands for `gh`, without their options."""
        return [line.split(" --")[0] for line in self.said("gh").splitlines()]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    program("jq")
    yield Runner(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("pwned")]


def _loaded(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")))


def _jobs(workflow: str) -> dict[str, Any]:
    return dict(_loaded(f".github/workflows/{workflow}.yml")["jobs"])


def _issue(name: str) -> dict[str, Any]:
    """The event of an issue with a filled form."""
    return dict(json.loads((ROOT / f"tests/issues/{name}.json").read_text(encoding="utf-8")))


def _replayed(runner: Runner, issue: dict[str, Any]) -> None:
    """Both jobs of `record.yml` on the event of an issue; nothing of it reaches the runner."""
    jobs = _jobs("record")
    given = {"NUMBER": "7", "BRANCH": BRANCH, "AUTHOR": "some-body"}
    event = runner.temporary / "event.json"
    put(event, json.dumps(issue))
    shutil.rmtree(runner.temporary / "record", ignore_errors=True)
    printed = runner.run(jobs["draft"], GITHUB_EVENT_PATH=str(event), **given)
    git(runner.root, "reset", "--hard", "--quiet")
    printed += runner.run(jobs["propose"], **given)
    assert "::" not in printed
    assert [name for name in runner.state if runner.said(name)] == []


def test_an_issue_becomes_a_pull_request_with_its_script_as_it_is(runner):
    _replayed(runner, _issue("accepted"))
    assert runner.changed() == [PLACE, "records/tuning.csv"]
    script = git(runner.remote, "show", f"{BRANCH}:{PLACE}")
    assert "# $(touch pwned) `touch pwned`\n# ::set-output" in script
    git(runner.root, "switch", "--quiet", BRANCH)
    tuning = read_rows(runner.root / "records/tuning.csv")
    (row,) = (row for row in tuning if row["script"] in PLACE)
    read = (row["contributor"], row["device"], row["step_seconds"])
    assert read == ("some-body", "a100-80g", "90")
    asked = "auth setup-git; pr list; pr create; workflow run check.yml; issue comment 7"
    assert runner.asked() == asked.split("; ")
    assert "    draft: No findings: ready to commit." in runner.said("said-pr")
    assert "Closes #7.\n\n" + runner.said("said-issue") == runner.said("said-pr")


def test_a_run_that_no_tag_describes_becomes_a_record_by_an_answer_of_the_form(runner):
    event = _issue("accepted")
    body = event["issue"]["body"].replace("param_offload=True", "param_offload=False")
    event["issue"]["body"] = body
    _replayed(runner, event)
    assert git(runner.remote, "branch", "--list").split() == ["*", "main"]
    said = runner.said("said-issue")
    assert "--set" not in said
    assert "--write" not in said
    assert "or to a form a line `### Exemption` and below it `min-saves-memory: REASON`" in said
    event["issue"]["body"] = f"{body}\r\n\r\n### Exemption\r\n\r\nmin-saves-memory: {WHY}"
    _replayed(runner, event)
    assert runner.changed() == [PLACE, EXEMPTIONS, "records/tuning.csv"]
    assert f"min-saves-memory,{WHY}\n" in git(runner.remote, "show", f"{BRANCH}:{EXEMPTIONS}")


def test_hostile_answers_become_no_pull_request_and_stay_text_in_the_comment(runner):
    _replayed(runner, _issue("refused"))
    assert git(runner.remote, "branch", "--list").split() == ["*", "main"]
    assert runner.said("gh").startswith("issue comment 7 ")
    _, empty, *block = runner.said("said-issue").splitlines()
    assert empty == ""
    assert all(line.startswith("    ") for line in block)
    assert any("`Evidence`: `javascript:alert(1)" in line for line in block)
    assert "Nothing was written" in block[-1]


@cases("workflows", "patch")
def test_a_patch_reaches_its_own_files_alone(runner, workflow, patch, wanted):
    """Also one that the first job was tricked into, and whose lines the runner would obey."""
    for path in DERIVED:
        put(runner.root / path)
    commit(runner.root)
    git(runner.root, "push", "--quiet", "origin", "main")
    other = ("records/compatibility.csv", "records/devices.csv", ".github/ci.yml", *DERIVED)
    for path in (PLACE, EXEMPTIONS, *other):
        put(runner.root / path, "::add-mask::changed \n")
    git(runner.root, "mv", "datapackage.json", "examples/tuning/moved.sh")
    git(runner.root, "add", "examples", "records", "tools", ".github")
    text = git(runner.root, "diff", "--cached", "--binary", "--find-renames")
    git(runner.root, "reset", "--hard", "--quiet")
    for name in ("record/findings.txt", "compat/summary.md"):
        put(runner.temporary / name)
    put(runner.temporary / patch, text)
    assert "::" not in runner.run(_jobs(workflow)["propose"], NUMBER="7", BRANCH=BRANCH)
    assert runner.changed() == wanted


def test_only_a_label_starts_the_draft_and_only_the_second_job_may_write():
    jobs = _jobs("record")
    assert jobs["draft"]["if"] == "contains(github.event.issue.labels.*.name, 'draft')"
    assert jobs["draft"]["permissions"] == {"contents": "read"}
    assert jobs["propose"]["needs"] == "draft"
    assert "EVENT_PATH" not in str(jobs["propose"])


def test_the_action_annotates_the_page_of_another_repository(runner):
    action = _loaded("action.yml")["runs"]
    page = (ROOT / "tests/audit/page.rst").read_text(encoding="utf-8")
    (runner.root / "page.rst").write_text(page.replace("2*H800", "4*H800"), encoding="utf-8")
    given = {"PAGE": "page.rst", "SCRIPTS": "examples/tuning", "REPORT": ""}
    given |= {"GITHUB_ACTION_PATH": str(runner.root), "FORMAT": "github"}
    printed = runner.run(action, 1, **given)
    assert "::error file=page.rst,line=28,col=9,title=gpus-agree::" in printed
    assert runner.run(action, 1, **given | {"REPORT": "found.sarif"}) != ""
    assert "gpus-agree" in (runner.root / "found.sarif").read_text(encoding="utf-8")
    gone = given | {"PAGE": "gone.rst", "REPORT": "nothing.sarif"}
    assert "gone.rst: cannot be read" in runner.run(action, 2, **gone)
    assert not (runner.root / "nothing.sarif").exists()


def test_the_exported_page_comes_as_a_pull_request(runner):
    action = _loaded(".github/actions/sync-page/action.yml")["runs"]
    place = runner.root / ".github/actions/sync-page"
    place.mkdir(parents=True)
    (runner.root / "docs").mkdir()
    given = {"PAGE": "docs/perf/device_tuning.rst", "GITHUB_ACTION_PATH": str(place)}
    given |= {"SOURCE": "https://example.org/o/n/blob/v1"}
    runner.run(action, **given)
    assert runner.changed("rl-resources-page") == [given["PAGE"]]
    page = git(runner.remote, "show", f"rl-resources-page:{given['PAGE']}")
    assert "Last updated: 20" in page
    assert "<https://example.org/o/n/blob/v1/examples/tuning/7b/qwen2-7b" in page
    assert runner.asked() == ["auth setup-git", "pr list", "pr create"]
    git(runner.root, "switch", "--quiet", "rl-resources-page")
    assert f"{given['PAGE']} is up to date." in runner.run(action, **given)
