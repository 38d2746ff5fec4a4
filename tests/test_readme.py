"""The README's examples, run as they are printed against the built site."""

import re
import subprocess
import sys
from pathlib import Path

from botched_tree import plant_frozen
from conftest import program
from rl_resources.cli import main
from rl_resources.dataset import script_path
from rl_resources.site.tuning_table import records_of_size
from sample_tree import ran
from shipped import DATASET
from website import ROOT, read_rows

README = (ROOT / "README.md").read_text(encoding="utf-8")
PRINTED = "http://localhost:8000"


def _block(language: str, word: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (found,) = [block for block in blocks if word in block]
    return found.replace(".venv/bin/rl-resources", f"{sys.executable} -m rl_resources")


def test_the_curl_example_prints_the_7b_records_of_at_most_two_gpus(address):
    program("curl")
    program("jq")
    command = _block("sh", "curl").replace(PRINTED, address)
    done = ran("bash", "-c", command)
    small = [row for row in records_of_size(DATASET, "7B") if int(str(row["gpus"])) <= 2]
    assert small
    assert done.stdout.splitlines() == [
        f"{row['tag']} {row['task']} {row['gpus']}x{row['device']} {script_path(DATASET, row)}"
        for row in small
    ]


def test_the_pandas_example_prints_a_row_for_each_record(address):
    code = _block("python", "read_json").replace(PRINTED, address)
    done = ran(sys.executable, "-c", code)
    assert len(done.stdout.splitlines()) == 1 + len(DATASET.records["tuning"])


def test_find_as_printed_answers_with_the_command_of_a_script():
    done = ran("bash", "-c", _block("sh", "rl-resources find"), cwd=ROOT)
    (started,) = re.findall(r"^   bash (\S+\.sh)$", done.stdout, re.MULTILINE)
    assert (ROOT / started).is_file()


def test_find_in_python_as_printed_prints_fit_certainty_and_reason():
    code = _block("python", ".find(")
    done = ran(sys.executable, "-c", code)
    assert "ran-on-less  measured" in done.stdout
    assert "no more memory each than yours" in done.stdout


def _made(root: Path) -> tuple[str, str]:
    """The script and the row that `new` as printed makes in the frozen dataset at `root`."""
    plant_frozen(root)
    done = ran("bash", "-c", _block("sh", "rl-resources new"), cwd=root, stdin=subprocess.DEVNULL)
    script, table = done.stdout.splitlines()
    lines = (root / table).read_text(encoding="utf-8").splitlines()
    return script, next(line for line in lines if line.startswith(Path(script).name))


def test_the_finding_as_printed_is_that_of_a_wrong_row(tmp_path):
    wrong = _made(tmp_path / "made")[1].replace(",h100,", ",h1000,")
    plant_frozen(tmp_path)
    tuning = tmp_path / "records" / "tuning.csv"
    lines = tuning.read_text(encoding="utf-8").splitlines()
    tuning.write_text("\n".join([*lines[:5], wrong, *lines[5:]]) + "\n", encoding="utf-8")
    done = ran(sys.executable, "-m", "rl_resources", "check", cwd=tmp_path)
    said = done.stdout.replace(wrong.partition(",")[0], "…")
    printed = [line.strip() for line in _block("text", "vocabulary").splitlines()]
    found = {line.strip() for line in said.splitlines()}
    assert printed[0] in found
    assert any(line.startswith(printed[1].removesuffix(" …")) for line in found)


def test_new_and_draft_as_printed_make_a_row_and_turn_it_into_a_measured_run(tmp_path):
    # Not the shipped records: somebody may have contributed just what is printed.
    script, made = _made(tmp_path)
    assert (tmp_path / script).is_file()
    assert ",untested," in made
    table = tmp_path / "records" / "tuning.csv"
    log = tmp_path / "run.log"
    log.write_text("".join(f"step:{at} - timing_s/step:90.000\n" for at in range(1, 6)))
    (command,) = re.findall(r"`\.venv/bin/rl-resources (draft [^`]*)`", README)
    words = {"SCRIPT": str(tmp_path / script), "LOG": str(log), "HANDLE": "jane-doe"}
    arguments = [words.get(word, word) for word in command.split()]
    assert main([*arguments, "--root", str(tmp_path)]) == 0
    (row,) = (row for row in read_rows(table) if row["script"] == Path(script).name)
    read = (row["status"], row["statement"], row["contributor"], row["step_seconds"])
    assert read == ("reported", "measured-run", "jane-doe", "90")


def test_every_target_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`|&& )make ([a-z]+)\b", README, re.MULTILINE))
    assert named >= {"serve", "test"}
    assert named <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_every_file_that_the_readme_links_to_exists():
    targets = re.findall(r"\]\((?!https?:)([^)]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
