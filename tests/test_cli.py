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
from rl_resources.check import all_rules
from rl_resources.cli import main
from rl_resources.cli.command import INTERRUPTED
from sample_tree import apply, ran

ROOT = Path(__file__).parents[1]


def test_the_shipped_tables_are_in_canonical_form_also_from_a_folder_below(capsys, monkeypatch):
    monkeypatch.chdir(ROOT / "examples" / "tuning")
    assert main(["fmt", "--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_among_the_files_of_another_data_package_answers_come_from_our_own(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "datapackage.json").write_text('{"name": "another", "resources": []}')
    question = ["find", "--size", "7B", "--gpus", "1", "--format", "json"]
    assert main([*question, "--root", str(ROOT)]) == 0
    answer = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert main(question) == 0
    assert capsys.readouterr().out == answer
    assert main([*question, "--root", "."]) == 2


def test_help_is_shown_without_a_command_and_the_version_is_that_of_the_dataset(capsys):
    assert main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "COMMAND" in shown.err
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rl-resources {load(ROOT).version}\n"


def test_rules_are_listed_and_explained(capsys):
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines] == list(all_rules())
    assert main(["rules", "row-length"]) == 0
    out = capsys.readouterr().out
    assert [word for word in ("why:", "bad:", "good:") if word not in out] == []
    assert main(["rules", "vocabulry"]) == 2
    assert "`vocabulary`" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_traceback():
    command = f"{sys.executable} -m rl_resources coverage --format json | head -c 1"
    done = ran("bash", "-c", command, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("{", "")


def test_sarif_names_every_rule_and_places_every_finding(root, capsys):
    apply(root, [{"file": "records/tuning.csv", "line": 2, "set": {"device": "h8000"}}])
    # A roundabout path is the file that it leads to.
    path = f"{root}/examples/../records/tuning.csv"
    assert main(["check", path, "--root", str(root), "--format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(all_rules())
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("vocabulary", "error")
    assert place["artifactLocation"]["uri"] == "records/tuning.csv"
    assert place["region"]["startLine"] == 2


def _on_a_terminal(root: Path, *arguments: str, **environment: str) -> str:
    """What a command shows on a terminal."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "rl_resources", *arguments, "--root", str(root)]
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=plain | environment)
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


def test_a_drafted_row_has_no_control_characters(root, capsys):
    script = next(root.glob("examples/tuning/7b/*.sh"))
    asked = ("draft", str(script), "--set", "notes=\x1b[31mDerived")
    assert main([*asked, "--root", str(root)]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
def test_findings_are_colored_on_a_terminal_that_wants_it(environment, colored, root):
    (root / "records" / "trials.csv").write_bytes(b"script,order,batch,outcome\r\n")
    shown = _on_a_terminal(root, "check", "--select", "line-ending", **environment)
    codes = ("\x1b[1m", "\x1b[31m", "\x1b[36m", "\x1b[0m") if colored else ("",) * 4
    bold, red, cyan, plain = codes
    place = f"{bold}records/trials.csv:1:27{plain}"
    assert shown.startswith(f"{place}: {red}error{plain}: {cyan}line-ending{plain}: ")
    assert ("\x1b" in shown) is colored


def test_a_command_that_is_interrupted_says_so_in_one_line(monkeypatch, capsys):
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rl_resources.cli.command.find_root", interrupted)
    assert main(["check"]) == INTERRUPTED
    assert capsys.readouterr().err == "rl-resources: interrupted\n"


TRIALS = "records/trials.csv"


def fmt(root: Path, *arguments: str) -> int:
    return main(["fmt", "--root", str(root), *arguments])


def test_check_shows_a_unified_diff_and_changes_nothing(root, capsys):
    lines = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    swapped = "\n".join([lines[0], lines[2], lines[1], *lines[3:], ""])
    apply(root, [{"file": TRIALS, "write": swapped}])
    assert fmt(root, "--check") == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:2] == [f"--- a/{TRIALS}", f"+++ b/{TRIALS}"]
    assert [line for line in shown.out.splitlines()[2:] if line[0] in "+-"] == [
        f"+{lines[1]}",
        f"-{lines[1]}",
    ]
    assert shown.err == f"{TRIALS}: would be rewritten\n"
    assert (root / TRIALS).read_text(encoding="utf-8") == swapped


def test_what_cannot_be_seen_is_shown_in_the_diff(root, capsys):
    apply(root, [{"file": TRIALS, "replace": "script,", "with": "\ufeffscript,"}])
    assert fmt(root, "--check") == 1
    assert "-\\ufeffscript,order" in capsys.readouterr().out


def test_only_the_files_that_are_named_are_written(root, capsys):
    for path in (TRIALS, "records/tuning.csv"):
        apply(root, [{"file": path, "replace": "\n", "with": "\r\n", "all": True}])
    assert fmt(root, str(root / TRIALS)) == 0
    assert capsys.readouterr().err == f"{TRIALS}: rewritten\n"
    assert b"\r" not in (root / TRIALS).read_bytes()
    assert b"\r" in (root / "records/tuning.csv").read_bytes()


def test_a_file_that_cannot_be_read_is_left_alone_and_the_others_are_written(root, capsys):
    apply(root, [{"file": "records/tuning.csv", "append": '"unclosed,\n'}])
    apply(root, [{"file": TRIALS, "replace": "\n", "with": "\r\n", "all": True}])
    before = (root / "records/tuning.csv").read_bytes()
    assert fmt(root) == 1
    shown = capsys.readouterr().err
    assert f"{TRIALS}: rewritten" in shown
    assert "records/tuning.csv: left alone" in shown
    assert (root / "records/tuning.csv").read_bytes() == before


def test_fix_adds_a_column_that_the_schema_has_and_the_file_lacks(root):
    git(root, "init", "--quiet")
    commit(root)
    path = root / "schema" / "trials.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["fields"].insert(1, {**schema["fields"][1], "name": "seed", "constraints": {}})
    path.write_text(json.dumps(schema), encoding="utf-8")
    before = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    assert main(["check", "--root", str(root), "--fix", "--select", "header,row-length"]) == 0
    after = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    assert after[0] == "script,seed,order,batch,outcome"
    assert after[1:] == [line.replace(",", ",,", 1) for line in before[1:]]
