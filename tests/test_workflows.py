"""Workflows and actions, replayed: their `run` steps on a scratch clone, without the runner."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
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
TUNING = "records/tuning.csv"
DERIVED = (f"{HISTORY}/verl.json", f"{DEFAULTS}/verl.json")
PATCHED = (
    PLACE,
    EXEMPTIONS,
    "records/compatibility.csv",
    "records/devices.csv",
    ".github/ci.yml",
    *DERIVED,
)
STATE = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
"""The files by which a step speaks to the runner."""
BRANCH = "record-issue-7"
GH = """#!/bin/sh
echo "$*" >> "$RUNNER_TEMP/gh"
case "$*" in *latestReviews*) cat "$RUNNER_TEMP/approved" 2> /dev/null; exit 0 ;; esac
case "$*" in *--body-file*) for file; do :; done; cp "$file" "$RUNNER_TEMP/said-$1" ;; esac
"""


def put(path: Path, text: str = "", mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class Runner:
    """A clone of a dataset whose remote is a directory, and what stands in for GitHub's runner."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "r"
        self.remote = folder / "o.git"
        self.temporary = folder / "t"
        self.temporary.mkdir()
        plant_repository(self.root, new=False)
        git(self.root, "branch", "--move", "main")
        git(folder, "clone", "--quiet", "--bare", str(self.root), str(self.remote))
        git(self.root, "remote", "add", "origin", str(self.remote))
        program = f'#!/bin/sh\nexec {sys.executable} -m rl_resources "$@"\n'
        put(self.root / ".venv/bin/rl-resources", program, 0o755)
        put(folder / "bin/gh", GH, 0o755)
        programs = folder / "bin"
        self.environment = {
            **os.environ,
            **{name: str(self.temporary / name) for name in STATE},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "tools"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "RUNNER_TEMP": str(self.temporary),
        }

    def run(self, job: dict[str, Any], status: int = 0, **given: str) -> str:
        """Run the steps of a job that install nothing; what they print. The last has `status`."""
        *first, last = job["steps"]
        printed = ""
        for step in first:
            printed += self._run_step(step, 0, given)
        return printed + self._run_step(last, status, given)

    def _run_step(
        self, step: dict[str, Any], status: int, given: Mapping[str, str]
    ) -> str:
        command = step.get("run", "")
        if command == "" or ".venv/.ready" in command:
            return ""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.root,
            env={**self.environment, **given},
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def changed(self, branch: str = BRANCH) -> list[str]:
        """The files that a branch at the remote changes."""
        names = git(self.remote, "diff", "--name-only", "main", branch)
        return names.split()

    def branches(self) -> list[str]:
        """The branches of the remote."""
        names = git(self.remote, "branch", "--list", "--format", "%(refname:short)")
        return names.split()

    def said(self, name: str) -> str:
        """A file that the steps left."""
        path = self.temporary / name
        if not path.is_file():
            return ""
        return path.read_text()

    def asked(self) -> list[str]:
        """The commands for `gh`, without their options."""
        commands = self.said("gh").splitlines()
        return [command.split(" --")[0] for command in commands]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    program("jq")
    yield Runner(tmp_path)
    assert not [*tmp_path.rglob("pwned*")]


def _loaded(path: str) -> dict[str, Any]:
    text = (ROOT / path).read_text()
    return dict(yaml.safe_load(text))


def _jobs(workflow: str) -> dict[str, Any]:
    loaded = _loaded(f".github/workflows/{workflow}.yml")
    return dict(loaded["jobs"])


def _issue(name: str) -> dict[str, Any]:
    """The event of an issue with a filled form."""
    text = (ROOT / f"tests/issues/{name}.json").read_text()
    return dict(json.loads(text))


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
    for name in STATE:
        assert runner.said(name) == ""


def test_an_issue_becomes_a_pull_request_with_its_script_as_it_is(runner):
    _replayed(runner, _issue("accepted"))
    assert runner.changed() == [PLACE, TUNING]
    script = git(runner.remote, "show", f"{BRANCH}:{PLACE}")
    assert "# $(touch pwned) `touch pwned`\n# ::set-output" in script
    git(runner.root, "switch", "--quiet", BRANCH)
    tuning = read_rows(runner.root / TUNING)
    (row,) = [row for row in tuning if row["script"] in PLACE]
    assert row["contributor"] == "some-body"
    assert row["device"] == "a100-80g"
    assert row["step_seconds"] == "90"
    assert runner.asked() == [
        "pr list",
        "auth setup-git",
        "pr list",
        "pr create",
        "workflow run check.yml",
        "issue comment 7",
    ]
    proposed = runner.said("said-pr")
    comment = runner.said("said-issue")
    assert "    draft: No findings: ready to commit." in proposed
    assert proposed == f"Closes #7.\n\n{comment}"


def test_an_edit_after_an_approval_changes_no_pull_request(runner):
    event = _issue("accepted")
    _replayed(runner, event)
    proposed = git(runner.remote, "rev-parse", BRANCH)
    git(runner.root, "switch", "--quiet", "main")
    git(runner.root, "branch", "--quiet", "--delete", "--force", BRANCH)
    put(runner.temporary / "approved", "a-maintainer\n")
    issue = event["issue"]
    issue["body"] = issue["body"].replace("touch pwned", "touch other")
    _replayed(runner, event)
    assert git(runner.remote, "rev-parse", BRANCH) == proposed
    assert runner.said("said-issue") == (
        "The pull request is approved, so this edit does not change it. "
        "A maintainer can dismiss the approval; the next edit then changes it.\n"
    )


def test_a_run_that_no_tag_describes_becomes_a_record_by_an_answer_of_the_form(runner):
    event = _issue("accepted")
    issue = event["issue"]
    body = issue["body"].replace("param_offload=True", "param_offload=False")
    issue["body"] = body
    _replayed(runner, event)
    assert runner.branches() == ["main"]
    said = runner.said("said-issue")
    assert "--set" not in said
    assert "--write" not in said
    assert (
        "or to a form a line `### Exemption` and below it `min-saves-memory: REASON`"
        in said
    )
    issue["body"] = f"{body}\r\n\r\n### Exemption\r\n\r\nmin-saves-memory: {WHY}"
    _replayed(runner, event)
    assert runner.changed() == [PLACE, EXEMPTIONS, TUNING]
    exemptions = git(runner.remote, "show", f"{BRANCH}:{EXEMPTIONS}")
    assert f"min-saves-memory,{WHY}\n" in exemptions


def test_hostile_answers_become_no_pull_request_and_stay_text_in_the_comment(runner):
    _replayed(runner, _issue("refused"))
    assert runner.branches() == ["main"]
    assert runner.said("gh").startswith("issue comment 7 ")
    comment = runner.said("said-issue")
    _, empty, *block = comment.splitlines()
    assert empty == ""
    for line in block:
        assert line.startswith("    ")
    assert "`Evidence`: `javascript:alert(1)" in "\n".join(block)
    assert "Nothing was written" in block[-1]


@cases("workflows", "patch")
def test_a_patch_reaches_its_own_files_alone(runner, workflow, patch, wanted):
    """Also one that the first job was tricked into, and whose lines the runner would obey."""
    root = runner.root
    for path in DERIVED:
        put(root / path)
    commit(root)
    git(root, "push", "--quiet", "origin", "main")
    for path in PATCHED:
        put(root / path, "::add-mask::changed \n")
    git(root, "mv", "datapackage.json", "examples/tuning/moved.sh")
    git(root, "add", "examples", "records", "tools", ".github")
    text = git(root, "diff", "--cached", "--binary", "--find-renames")
    git(root, "reset", "--hard", "--quiet")
    put(runner.temporary / "record/findings.txt")
    put(runner.temporary / "compat/summary.md")
    put(runner.temporary / patch, text)
    jobs = _jobs(workflow)
    printed = runner.run(jobs["propose"], NUMBER="7", BRANCH=BRANCH)
    assert "::" not in printed
    assert runner.changed() == wanted


def test_only_a_label_starts_the_draft_and_only_the_second_job_may_write():
    jobs = _jobs("record")
    draft = jobs["draft"]
    assert draft["if"] == "contains(github.event.issue.labels.*.name, 'draft')"
    assert draft["permissions"] == {"contents": "read"}
    propose = jobs["propose"]
    assert propose["needs"] == "draft"
    assert "EVENT_PATH" not in str(propose)


def _annotated(runner: Runner, page: str, status: int, report: str = "") -> str:
    """What the action prints of a page, in which one row says another number of GPUs."""
    action = _loaded("action.yml")
    text = (ROOT / "tests/audit/page.rst").read_text()
    wrong = text.replace("2*H800", "4*H800")
    (runner.root / "page.rst").write_text(wrong)
    return runner.run(
        action["runs"],
        status,
        PAGE=page,
        SCRIPTS="examples/tuning",
        REPORT=report,
        FORMAT="github",
        GITHUB_ACTION_PATH=str(runner.root),
    )


@cases("workflows", "audit")
def test_the_action_annotates_a_page_and_writes_its_report(
    runner, page, status, report, said, names
):
    assert said in _annotated(runner, page, status, report)
    written = list(runner.root.glob("*.sarif"))
    assert [path.name for path in written] == names
    for path in written:
        assert "gpus-agree" in path.read_text()


def test_the_exported_page_comes_as_a_pull_request(runner):
    action = _loaded(".github/actions/sync-page/action.yml")["runs"]
    place = runner.root / ".github/actions/sync-page"
    place.mkdir(parents=True)
    (runner.root / "docs").mkdir()
    path = "docs/perf/device_tuning.rst"
    given = {
        "PAGE": path,
        "GITHUB_ACTION_PATH": str(place),
        "SOURCE": "https://example.org/o/n/blob/v1",
    }
    runner.run(action, **given)
    assert runner.changed("rl-resources-page") == [path]
    page = git(runner.remote, "show", f"rl-resources-page:{path}")
    assert "Last updated: 20" in page
    assert "<https://example.org/o/n/blob/v1/examples/tuning/7b/qwen2-7b" in page
    assert runner.asked() == ["auth setup-git", "pr list", "pr create"]
    git(runner.root, "switch", "--quiet", "rl-resources-page")
    printed = runner.run(action, **given)
    assert f"{path} is up to date." in printed
