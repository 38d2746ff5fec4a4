"""The command line as others script against it; `fmt` on files."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from botched_tree import commit, git
from rl_resources import load
from rl_resources.__main__ import INTERRUPTED, status_of
from rl_resources.check import all_rules
from sample_tree import apply, ran
from website import ROOT

TRIALS = "records/trials.csv"
TUNING = "records/tuning.csv"


@pytest.fixture
def root(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample dataset, in whose folder the commands run."""
    monkeypatch.chdir(root)
    return root


def test_the_shipped_tables_are_in_canonical_form_also_from_a_folder_below(
    capsys, monkeypatch
):
    monkeypatch.chdir(ROOT / "examples/tuning")
    assert status_of(["fmt", "--check"]) == 0
    printed, complaint = capsys.readouterr()
    assert printed == ""
    assert complaint == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["find", "--limit", "-1"], "--limit: `-1` is no whole number from 0"),
        (["plan", "--steps", "-3"], "--steps: `-3` is no number from 0"),
        (["estimate", "--price", "nan"], "--price: `nan` is no number from 0"),
    ],
)
def test_no_number_is_less_than_0(capsys, words, said):
    with pytest.raises(SystemExit) as ended:
        status_of(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"{words[0]}: error: argument {said}\n")


def test_among_the_files_of_another_data_package_answers_come_from_our_own(
    tmp_path, command, monkeypatch
):
    descriptor = tmp_path / "datapackage.json"
    descriptor.write_text('{"name": "another", "resources": []}')
    question = ["find", "--size", "7B", "--gpus", "1", "--format", "json"]
    answer = command(*question, "--root", ROOT)
    monkeypatch.chdir(tmp_path)
    assert command(*question) == answer
    command(*question, "--root", ".", status=1)


def test_help_is_shown_without_a_command_and_the_version_is_that_of_the_dataset(
    command,
):
    complaint = command(status=2)
    assert "COMMAND" in complaint
    version = load(ROOT).version
    printed = command("--version")
    assert printed == f"rl-resources {version}\n"


def test_rules_are_listed_and_explained(command):
    listed = command("rules")
    names = [line.split(" (")[0] for line in listed.splitlines()]
    assert names == list(all_rules())
    explained = command("rules", "row-length")
    assert "why:" in explained
    assert "bad:" in explained
    assert "good:" in explained


def test_a_reader_that_goes_away_is_no_traceback():
    command = f"{sys.executable} -m rl_resources coverage --format json | head -c 1"
    done = ran("bash", "-c", command, cwd=ROOT)
    assert done.stdout == "{"
    assert done.stderr == ""


def test_sarif_names_every_rule_and_places_every_finding(root, command):
    unknown = {"device": "h8000"}
    apply(root, [{"file": TUNING, "line": 2, "set": unknown}])
    # A roundabout path is the file that it leads to.
    path = f"{root}/examples/../{TUNING}"
    text = command("check", path, "--format", "sarif", status=1)
    log = json.loads(text)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    described = run["tool"]["driver"]["rules"]
    names = [rule["id"] for rule in described]
    assert names == list(all_rules())
    (result,) = run["results"]
    assert result["ruleId"] == "vocabulary"
    assert result["level"] == "error"
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"] == TUNING
    assert place["region"]["startLine"] == 2


def _on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command shows on a terminal."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "rl_resources", *arguments]
    variables = dict(os.environ)
    variables.pop("NO_COLOR", None)
    variables.update(environment)
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=variables)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 4096):
            shown += part
    except OSError:  # Linux says so that the other end is closed
        pass
    process.wait()
    os.close(master)
    return shown.decode()


def test_a_drafted_row_has_no_control_characters(root, command):
    script = next(root.glob("examples/tuning/7b/*.sh"))
    printed = command("draft", script, "--set", "notes=\x1b[31mDerived")
    assert printed
    assert "\x1b" not in printed


BOLD = "\x1b[1m"
RED = "\x1b[31m"
CYAN = "\x1b[36m"
PLAIN = "\x1b[0m"


def _wrong_line_end(root: Path, **environment: str) -> str:
    """What `check` shows on a terminal of a wrong end of a line."""
    trials = root / TRIALS
    trials.write_bytes(b"script,order,batch,outcome\r\n")
    return _on_a_terminal("check", "--select", "line-ending", **environment)


def test_findings_are_colored_on_a_terminal_that_wants_it(root):
    shown = _wrong_line_end(root, TERM="xterm-256color")
    place = f"{BOLD}{TRIALS}:1:27{PLAIN}"
    severity = f"{RED}error{PLAIN}"
    rule = f"{CYAN}line-ending{PLAIN}"
    assert shown.startswith(f"{place}: {severity}: {rule}: ")


def test_findings_are_not_colored_on_a_terminal_that_does_not_want_it(root):
    shown = _wrong_line_end(root, TERM="xterm", NO_COLOR="1")
    assert shown.startswith(f"{TRIALS}:1:27: error: line-ending: ")
    assert "\x1b" not in shown


def test_a_command_that_is_interrupted_says_so_in_one_line(monkeypatch, capsys):
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rl_resources.cli.find_root", interrupted)
    assert status_of(["check"]) == INTERRUPTED
    assert capsys.readouterr().err == "rl-resources: interrupted\n"


LONG = """
import time
from pathlib import Path
from rl_resources import __main__
from rl_resources.files import directory_beside

def run(arguments):
    with directory_beside(Path("site")):
        print("began", flush=True)
        time.sleep(60)

__main__._run = run
raise SystemExit(__main__.main())
"""


def test_a_command_that_is_ended_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", LONG]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        assert process.stdout.readline() == "began\n"
        process.terminate()
        _, complaint = process.communicate()
    assert complaint == "rl-resources: interrupted\n"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_command_whose_package_is_not_installed_names_it(root, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "rl_resources.build", None)
    said = command("build", status=2)
    assert said == (
        "rl-resources: error: build needs rl_resources.build, which is not installed: "
        "pip install 'rl-resources[site]'\n"
    )


FIND = """
import sys
from rl_resources.__main__ import status_of
status_of(["find", "--model", "7B", "--gpus", "8", "--device", "h100"])
print(*sys.modules, file=sys.stderr)
"""


def test_find_does_not_wait_for_what_it_does_not_use():
    command = [sys.executable, "-c", FIND]
    found = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = found.stderr.split()
    assert "rl_resources.query.find" in modules
    for heavy in ("estimate.formula", "script", "check", "contribute"):
        assert f"rl_resources.{heavy}" not in modules
    assert "polars" not in modules


CRLF = {"replace": "\n", "with": "\r\n", "all": True}


def lines_of(path: Path) -> list[str]:
    text = path.read_text()
    return text.splitlines()


def test_what_cannot_be_seen_is_shown_in_the_diff(root, command):
    apply(root, [{"file": TRIALS, "replace": "script,", "with": "\ufeffscript,"}])
    shown = command("fmt", "--check", status=1)
    assert "-\\ufeffscript,order" in shown


def test_only_the_files_that_are_named_are_written(root, answer):
    trials = root / TRIALS
    tuning = root / TUNING
    apply(root, [{"file": TRIALS, **CRLF}, {"file": TUNING, **CRLF}])
    assert answer("fmt", trials).err == f"{TRIALS}: rewritten\n"
    assert b"\r" not in trials.read_bytes()
    assert b"\r" in tuning.read_bytes()


def test_a_file_that_cannot_be_read_is_left_alone_and_the_others_are_written(
    root, answer
):
    tuning = root / TUNING
    unclosed = {"file": TUNING, "append": '"unclosed,\n'}
    apply(root, [unclosed, {"file": TRIALS, **CRLF}])
    before = tuning.read_bytes()
    shown = answer("fmt", status=1).err
    assert f"{TRIALS}: rewritten" in shown
    assert f"{TUNING}: left alone" in shown
    assert tuning.read_bytes() == before


def test_fix_adds_a_column_that_the_schema_has_and_the_file_lacks(root, command):
    git(root, "init", "--quiet")
    commit(root)
    path = root / "schema/trials.json"
    schema = json.loads(path.read_text())
    fields = schema["fields"]
    seed = {**fields[1], "name": "seed", "constraints": {}}
    fields.insert(1, seed)
    path.write_text(json.dumps(schema))
    _, *before = lines_of(root / TRIALS)
    command("check", "--fix", "--select", "header,row-length")
    header, *after = lines_of(root / TRIALS)
    assert header == "script,seed,order,batch,outcome"
    assert after == [line.replace(",", ",,", 1) for line in before]
