"""The README's examples, run as they are printed against the built site."""

import re
import subprocess
import sys
from pathlib import Path

from botched_tree import plant_frozen
from conftest import program
from rl_resources.__main__ import status_of
from rl_resources.dataset import script_path
from rl_resources.site.tuning_table import records_of_size
from sample_tree import ran
from shipped import DATASET
from website import ROOT, read_rows

README = (ROOT / "README.md").read_text()
SERVED = "http://localhost:8000"
INTERPRETERS = {"sh": "bash", "python": sys.executable}
TUNING = "records/tuning.csv"


def _block(language: str, word: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (found,) = [block for block in blocks if word in block]
    own = f"{sys.executable} -m rl_resources"
    return found.replace(".venv/bin/rl-resources", own)


def _printed(
    language: str, word: str, *, address: str = SERVED, folder: Path = ROOT
) -> list[str]:
    """The lines that an example prints."""
    code = _block(language, word).replace(SERVED, address)
    interpreter = INTERPRETERS[language]
    done = ran(interpreter, "-c", code, cwd=folder, stdin=subprocess.DEVNULL)
    return done.stdout.splitlines()


def test_the_curl_example_prints_the_7b_records_of_at_most_two_gpus(address):
    program("curl")
    program("jq")
    printed = _printed("sh", "curl", address=address)
    wanted = []
    for row in records_of_size(DATASET, "7B"):
        gpus = int(str(row["gpus"]))
        if gpus <= 2:
            hardware = f"{gpus}x{row['device']}"
            path = script_path(DATASET, row)
            wanted += [f"{row['tag']} {row['task']} {hardware} {path}"]
    assert wanted
    assert printed == wanted


def test_the_pandas_example_prints_a_row_for_each_record(address):
    _, *rows = _printed("python", "read_json", address=address)
    records = DATASET.records["tuning"]
    assert len(rows) == len(records)


def test_find_as_printed_answers_with_the_command_of_a_script():
    printed = _printed("sh", "rl-resources find")
    (command,) = [line for line in printed if line.startswith("   bash ")]
    script = command.removeprefix("   bash ")
    assert script.endswith(".sh")
    assert (ROOT / script).is_file()


def test_find_in_python_as_printed_prints_fit_certainty_and_reason():
    printed = "\n".join(_printed("python", ".find("))
    assert "ran-on-no-more  measured" in printed
    assert "no more memory each than yours" in printed


def _new(root: Path) -> Path:
    """The script that `new` as printed writes with its row to the frozen dataset at `root`."""
    plant_frozen(root)
    script, table = _printed("sh", "rl-resources new", folder=root)
    assert table == TUNING
    return root / script


def _lines(table: Path) -> list[str]:
    text = table.read_text()
    return text.splitlines()


def _line_of(root: Path, script: str) -> str:
    lines = _lines(root / TUNING)
    (found,) = [line for line in lines if line.startswith(f"{script},")]
    return found


def test_the_finding_as_printed_is_that_of_a_wrong_row(tmp_path):
    made = tmp_path / "made"
    name = _new(made).name
    right = _line_of(made, name)
    wrong = right.replace(",h100,", ",h1000,")
    plant_frozen(tmp_path)
    tuning = tmp_path / TUNING
    lines = _lines(tuning)
    lines.insert(5, wrong)
    tuning.write_text("\n".join([*lines, ""]))
    done = ran(sys.executable, "-m", "rl_resources", "check", cwd=tmp_path)
    said = done.stdout.replace(name, "…")
    found = [line.strip() for line in said.splitlines()]
    printed = _block("text", "vocabulary")
    finding, advice, *_ = [line.strip() for line in printed.splitlines()]
    assert finding in found
    begin = advice.removesuffix(" …")
    assert any(line.startswith(begin) for line in found)


LOG = """\
step:1 - timing_s/step:90.000
step:2 - timing_s/step:90.000
step:3 - timing_s/step:90.000
step:4 - timing_s/step:90.000
step:5 - timing_s/step:90.000
"""


def test_new_as_printed_makes_a_row_that_draft_as_printed_turns_into_a_measured_run(
    tmp_path,
):
    # Not the shipped records: somebody may have contributed just what is printed.
    script = _new(tmp_path)
    assert script.is_file()
    assert ",untested," in _line_of(tmp_path, script.name)
    log = tmp_path / "run.log"
    log.write_text(LOG)
    (command,) = re.findall(r"`\.venv/bin/rl-resources (draft [^`]*)`", README)
    words = {"SCRIPT": str(script), "LOG": str(log), "HANDLE": "jane-doe"}
    arguments = [words.get(word, word) for word in command.split()]
    assert status_of([*arguments, "--root", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / TUNING)
    (row,) = [row for row in rows if row["script"] == script.name]
    assert row["status"] == "reported"
    assert row["statement"] == "measured-run"
    assert row["contributor"] == "jane-doe"
    assert row["step_seconds"] == "90"


def test_every_target_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    named = set(re.findall(r"(?:^|`|&& )make ([a-z]+)\b", README, re.MULTILINE))
    assert named >= {"serve", "test"}
    assert named <= set(targets)


def test_every_file_that_the_readme_links_to_exists():
    targets = re.findall(r"\]\((?!https?:)([^)]+)\)", README)
    assert targets
    for target in targets:
        path = ROOT / target
        assert path.exists(), target
