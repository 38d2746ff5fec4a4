"""A dataset as a git repository to break, and what is done to it.

The dataset is the shipped one as it was once, with a few of its many reports, so that a record that
is added today moves no line of a case. Schemas and descriptor are those of today.

An edit is one of `sample_tree`. A case may write `SCRIPT`, `LORA`, `TUNING`, … for what `WORDS`
says. With `new` the case begins from a good contribution: one more script and its row. Besides the
edits of `sample_tree`, `{file, line, raw = {column = text}}` writes the text into the row without
quoting it; `set` and `raw` begin from the row as it was before the case.
"""

import csv
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from cases import read_cases, with_texts
from rl_resources.tabular import quote
from sample_tree import REPOSITORY, Edit, aligned, apply

DATASET = Path(__file__).parent / "botched/dataset"
TABLES = read_cases("botched")
SCRIPT = TABLES["words"]["SCRIPT"]
TUNING = TABLES["words"]["TUNING"]
NEW = f"examples/tuning/7b/{TABLES['new']['script']}"
NEW_LINE = 6
RIGHT_IN_NEW = {
    "Qwen/Qwen2-7B": "Qwen/Qwen2.5-7B",
    "NODE:-2}": "NODE:-8}",
}
"""What `NEW` says in the place of what `SCRIPT` says."""
NOTE = "Ran on one node, without NVLink, at night."


IDENTITY = ("-c", "user.name=nobody", "-c", "user.email=", "-c", "commit.gpgsign=false")
LARGE = re.compile(r"qwen\S+-(32b|72b|235b)")
"""Records of which no case speaks; without them a check takes half as long."""


def _lines(path: str) -> list[str]:
    lines = aligned(DATASET / path).splitlines()
    return [line for line in lines if not LARGE.match(line)]


HEADER, *_, LAST_ROW = _lines(TUNING)
NEW_CELLS = dict.fromkeys(HEADER.split(","), "") | TABLES["new"]


def new_row(**cells: str) -> str:
    """The row of the good contribution with these cells in the place of its own."""
    return ",".join((NEW_CELLS | cells).values())


NEW_ROW = new_row()
WORDS = {
    "NEWROW": NEW_ROW,
    "TABBEDROW": NEW_ROW.replace(",", "\t"),
    "SEMICOLONROW": NEW_ROW.replace(",", ";"),
    "RECOMMENDEDROW": new_row(tag="RECOMMENDED"),
    "OTHERROW": new_row(contributor="john-doe"),
    "SHORTROW": NEW_ROW.removesuffix(","),
    "NODELESSROW": new_row(nodes="NODES").replace(",NODES,", ","),
    "NEW": NEW,
    "LASTROW": LAST_ROW,
    "HEADER": HEADER,
    "QUOTEDROW": new_row(notes=f'"{NOTE}"'),
    "OPENROW": new_row(notes=f'"{NOTE}'),
    "CLOSEDROW": new_row(notes=f'{NOTE}"'),
    **TABLES["words"],
}


def load(path: Path) -> dict[str, Any]:
    """The cases of a file by the sentence that they stand under."""
    found = with_texts(tomllib.loads(path.read_text()), _with_meanings)
    for case in found.values():
        new = case.get("new", False)
        for steps in (case["edit"], case["follow"]):
            steps[:] = [_with_row(edit, new=new) for edit in steps]
    return found


def _with_meanings(text: str) -> str:
    for word, meaning in WORDS.items():
        text = text.replace(word, meaning)
    return text


def _with_row(edit: Edit, *, new: bool) -> Edit:
    """The edit with the whole line in the place of the cells that `set` or `raw` change."""
    if edit.keys().isdisjoint({"set", "raw"}):
        return edit
    lines = _lines(edit["file"])
    if new and edit["file"] == TUNING:
        lines.insert(NEW_LINE - 1, NEW_ROW)
    line = lines[edit["line"] - 1]
    header, row = csv.reader([lines[0], line])
    cells = dict(zip(header, row, strict=True))
    others = dict(edit)
    raw = others.pop("raw", {})
    changed = cells | others.pop("set", {})
    assert raw.keys() | changed.keys() == cells.keys(), f"a column that is none: {edit}"
    quoted = {name: quote(cell) for name, cell in changed.items()}
    written = quoted | raw
    return {**others, "with": ",".join(written.values())}


def plant_frozen(root: Path) -> Path:
    """Copy the dataset to the folder `root`."""
    shutil.copytree(DATASET, root, dirs_exist_ok=True)
    shutil.copytree(REPOSITORY / "schema", root / "schema")
    shutil.copy(REPOSITORY / "datapackage.json", root)
    records = root / "records"
    for table in (DATASET / "records").iterdir():
        text = aligned(table)
        (records / table.name).write_text(text)
    shutil.copy(REPOSITORY / "records/backends.csv", records)  # what `new` offers today
    return root


def plant_repository(root: Path, *, new: bool) -> Path:
    """Copy the dataset to `root` without large records, commit it, and add a good contribution
    where `new` says so."""
    plant_frozen(root)
    for path in (TUNING, "records/trials.csv", "records/compatibility.csv"):
        text = "\n".join([*_lines(path), ""])
        (root / path).write_text(text)
    for script in (root / "examples").rglob("*.sh"):
        if LARGE.match(script.name):
            script.unlink()
    git(root, "init", "--quiet")
    commit(root)
    if new:
        _contribute(root)
        commit(root)
    return root


def _contribute(root: Path) -> None:
    text = (root / SCRIPT).read_text()
    for old, right in RIGHT_IN_NEW.items():
        assert old in text
        text = text.replace(old, right)
    script = root / NEW
    script.write_text(text)
    script.chmod(0o755)
    apply(root, [{"file": TUNING, "before_line": NEW_LINE, "with": NEW_ROW}])


def commit(root: Path) -> None:
    """Everything as one commit."""
    git(root, "add", "--all")
    git(root, *IDENTITY, "commit", "--quiet", "--message", "All")


def git(root: Path, *arguments: str) -> str:
    """What git prints in `root`; raises where it fails."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout
