"""The files that GitHub and pre-commit read, and the suggestions on a pull request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_resources import suggest
from rl_resources.suggest import Replacement, comments, replacements, shown_lines

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = [path.name for path in WORKFLOWS]
BIN = Path(sys.executable).parent


def _loaded(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def _steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in _loaded(path)["jobs"].values() for step in job["steps"]]


def _linted(*paths: Path) -> list[tuple[str, str]]:
    """File and rule of everything that the linter of workflows has to say."""
    command = [str(BIN / "jactionlint"), "--format", "jsonl", *map(str, paths)]
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert done.returncode in {0, 1}, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(Path(item["filepath"]).name, item["kind"]) for item in found]


def test_the_linter_finds_nothing_but_the_trigger_that_suggestions_cannot_do_without() -> None:
    assert _linted(*WORKFLOWS) == [("suggest.yml", "dangerous-triggers")]


def test_the_linter_would_find_text_of_a_contributor_in_a_shell(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    text = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    bad.write_text(text.replace("make .venv/.ready", "echo ${{ github.event.pull_request.title }}"))
    assert [path for path, _ in _linted(bad)] == ["bad.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_workflow_holds_its_schema(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    command += ["vendor.github-workflows", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert uses
    form = r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert [line for line in uses if not re.fullmatch(form, line)] == []


@pytest.mark.parametrize("path", ["requirements.txt", "tools/audit/requirements.txt"])
def test_every_requirement_is_pinned_with_hashes(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line[:1].isalnum()]
    assert lines
    assert [
        line for line in lines if not re.match(r"[\w.\[\]-]+==\S+ .*--hash=sha256:", line)
    ] == []


def test_a_workflow_installs_nothing_without_hashes() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    installs = re.findall(r"pip install .*", text)
    assert installs
    assert [line for line in installs if "--require-hashes" not in line] == []


def test_one_action_has_one_pin() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+)@(\S+)", text))
    assert len(pins) == len({name for name, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_no_expression_stands_in_a_shell(path: Path) -> None:
    assert [step["run"] for step in _steps(path) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_token_can_do_nothing_that_is_not_said(path: Path) -> None:
    workflow = _loaded(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert "secrets." not in path.read_text(encoding="utf-8")
    checkouts = [step for step in _steps(path) if "actions/checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_no_workflow_runs_code_of_a_pull_request_with_more_than_reading() -> None:
    for path in WORKFLOWS:
        workflow = _loaded(path)
        events = workflow[True]  # YAML 1.1 reads `on` as true
        assert "pull_request_target" not in events
        if "pull_request" in events:
            assert workflow["permissions"] == {"contents": "read"}
            assert not any("permissions" in job for job in workflow["jobs"].values())
    (checkout,) = [
        step
        for step in _steps(ROOT / ".github/workflows/suggest.yml")
        if "actions/checkout@" in step.get("uses", "")
    ]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"


def test_the_names_that_workflows_share_agree() -> None:
    check = _loaded(ROOT / ".github/workflows/check.yml")
    follow = _loaded(ROOT / ".github/workflows/suggest.yml")
    assert follow[True]["workflow_run"]["workflows"] == [check["name"]]
    uploads = [step["with"] for step in _steps(ROOT / ".github/workflows/check.yml")
               if "upload-artifact@" in step.get("uses", "")]  # fmt: skip
    assert {"name": "fix", "path": "fix.diff"}.items() <= uploads[-1].items()


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("validate-config", ".pre-commit-config.yaml"),
        ("validate-manifest", ".pre-commit-hooks.yaml"),
    ],
)
def test_pre_commit_takes_its_files(command: str, path: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", command, path],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_hooks_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in hooks} == {"rl-resources-check", "rl-resources-fmt"}
    for hook in hooks:
        name, *rest = hook["entry"].split()
        done = subprocess.run([BIN / name, *rest, "--help"], capture_output=True, check=False)
        assert done.returncode == 0


def test_the_suggesting_program_needs_nothing_but_the_standard_library() -> None:
    code = "import rl_resources.suggest, sys; print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT / "tools")},
    )  # fmt: skip
    assert "rl_resources.suggest" in done.stdout
    assert "pandas" not in done.stdout


PATH = "records/tuning.csv"


def _diff(old: str, new: str, folder: Path, path: str = PATH) -> str:
    """What git says of a file that changes from `old` to `new`, with a line of context."""
    root = folder / "git"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / path).write_bytes(old.encode())
    subprocess.run(["git", "-C", str(root), "add", "."], check=True)
    (root / path).write_bytes(new.encode())
    command = ["git", "-C", str(root), "diff", "--unified=1", "--no-color", "--no-ext-diff"]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


def _applied(text: str, wanted: list[Replacement]) -> str:
    lines = text.split("\n")
    for item in sorted(wanted, key=lambda item: -item.first):
        lines[item.first - 1 : item.last] = item.lines
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nb\nc\n", "a\nb\nx\ny\nc\n"),
        ("a\nb\n", "x\na\nb\n"),
        ("a\nb\nc\nd\ne\nf\n", "b\nc\nd\ne\na\nf\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\ufeffa\nb\n", "a\nb\n"),
        ("-- x\n++ y\nc\n", "-- z\n++ y\nc\n"),
        ("diff --git a\n@@ -1 +1 @@\nc\n", "diff --git b\n@@ -1 +1 @@\nc\n"),
    ],
)
def test_suggestions_that_are_all_accepted_give_the_mended_file(
    tmp_path: Path, old: str, new: str
) -> None:
    wanted = replacements(_diff(old, new, tmp_path))
    assert wanted
    assert _applied(old, wanted) == new


@settings(deadline=None, max_examples=40)  # each example starts git three times
@given(
    old=st.lists(st.sampled_from("abcd"), min_size=1, max_size=12),
    new=st.lists(st.sampled_from("abcd"), min_size=1, max_size=12),
)
def test_any_two_texts_differ_by_their_suggestions(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    assert _applied(before, replacements(_diff(before, after, folder))) == after


@pytest.mark.parametrize(
    "path",
    ["tools/rl_resources/cli/check.py", ".github/workflows/ci.yml", "records/../x.csv", "Makefile"],
)
def test_nothing_but_records_and_scripts_is_proposed(path: str) -> None:
    diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    assert replacements(diff) == []
    assert replacements(diff.replace(path, PATH)) == [Replacement(PATH, 1, 1, ("b",))]


@pytest.mark.parametrize("line", ["b\u202ec", "b\x1b[0m", "b\u200b", "\ufeffb"])
def test_nothing_is_proposed_that_its_reader_would_not_see(line: str) -> None:
    head = f"diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n"
    other = "@@ -9 +9 @@\n-x\n+y\n"
    assert replacements(f"{head}@@ -1 +1 @@\n-a\n+{line}\n{other}") == []


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for item in replacements(text) + replacements(f"diff --git {text}\n@@ -1 +1 @@\n{text}"):
        assert suggest.PATHS.fullmatch(item.path)


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    wanted = [Replacement(PATH, 1, 1, ("a ```` b", "```"))]
    (comment,) = comments(wanted, {PATH: {1}})
    assert comment["body"] == "`````suggestion\na ```` b\n```\n`````"


def test_half_of_a_move_is_never_proposed() -> None:
    gone, come = Replacement(PATH, 2, 2, ()), Replacement(PATH, 9, 9, ("i", "b"))
    assert comments([gone, come], {PATH: {1, 2, 3}}) == []
    assert len(comments([gone, come], {PATH: {2, 9}})) == 2


def test_too_many_suggestions_of_a_file_are_none() -> None:
    lines = range(1, suggest.MOST_SUGGESTIONS + 2)
    wanted = [Replacement(PATH, line, line, ("x",)) for line in lines]
    assert comments(wanted, {PATH: set(lines)}) == []


def test_only_lines_that_the_pull_request_shows_take_comments() -> None:
    assert shown_lines("@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9 +10 @@ x\n-y\n+z\n") == {1, 2, 3, 10}


RUN = suggest.Run("owner/name", "somebody", "a branch&state=closed", "c0ffee")


class _Api:
    """A stand-in for GitHub's API: one open pull request of `somebody`."""

    def __init__(self, commit: str = RUN.commit) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.commit = commit
        self.said: list[dict[str, Any]] = []

    def __call__(self, method: str, path: str, body: object) -> Any:
        if method == "POST":
            self.posted.append((path, body))
            return {}
        if "?state=open" in path:
            assert path.endswith("head=somebody%3Aa+branch%26state%3Dclosed")
            return [{"number": 7, "head": {"sha": self.commit}}]
        if "/files" in path:
            return [{"filename": PATH, "patch": "@@ -1 +1 @@\n-x\n+a\n"}, {"filename": "big.bin"}]
        return self.said


DIFF = f"diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n@@ -1 +1 @@\n-a\n+b\n"


def test_a_review_is_posted_to_the_pull_request_of_the_commit() -> None:
    api = _Api()
    assert suggest.propose(DIFF, RUN, api) == 1
    ((path, review),) = api.posted
    assert path == "/repos/owner/name/pulls/7/reviews"
    assert (review["commit_id"], review["event"]) == ("c0ffee", "COMMENT")
    assert review["comments"][0]["body"] == "```suggestion\nb\n```"


def test_nothing_is_posted_to_a_pull_request_that_has_moved_on() -> None:
    api = _Api("another")
    assert suggest.propose(DIFF, RUN, api) == 0
    assert api.posted == []


def test_what_was_said_is_not_said_again() -> None:
    api = _Api()
    api.said = [{"path": PATH, "line": 1, "body": "```suggestion\nb\n```"}]
    assert suggest.propose(DIFF, RUN, api) == 0
    assert api.posted == []


def test_a_diff_that_is_no_ordinary_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (suggest.MOST_BYTES + 1))
    (tmp_path / "link").symlink_to("/etc/hostname")
    for name in ("large", "link", "nothing", "."):
        assert suggest.read_diff(tmp_path / name) == ""


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        assert self.headers["Authorization"] == "Bearer token"
        reply = json.dumps(self.server.api(self.command, self.path, body)).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[tuple[str, _Api]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.api = _Api()  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server.api  # type: ignore[attr-defined]
        server.shutdown()


def test_the_program_asks_and_posts_as_the_workflow_calls_it(
    tmp_path: Path, api: tuple[str, _Api]
) -> None:
    (tmp_path / "fix.diff").write_text(DIFF)
    variables = {"PYTHONPATH": "tools", "GITHUB_API_URL": api[0], "GITHUB_TOKEN": "token"}
    variables |= {"GITHUB_REPOSITORY": RUN.repository}
    variables |= {"HEAD": RUN.head, "BRANCH": RUN.branch, "COMMIT": RUN.commit}
    done = subprocess.run(
        [sys.executable, "-S", "-m", "rl_resources.suggest", str(tmp_path / "fix.diff")],
        cwd=ROOT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "1 suggestions posted for c0ffee\n"), done.stderr
    assert len(api[1].posted) == 1
