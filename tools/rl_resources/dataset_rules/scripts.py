"""Script name and place.

Each row has one script, named after its six facts, in the directory of its model's size.

A mistake in a name has two sides, file and row. It is reported once: at the file, unless
only the row is wrong.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rl_resources.dataset_rules.broken import Record, broken_columns, broken_keys, with_cells
from rl_resources.dataset_rules.records import OTHER_ROLE, misplaced, role_of, size_of, slug_of
from rl_resources.package import SCRIPTS
from rl_resources.rule import Edit, Mistake, rule
from rl_resources.script.name import FORM, PARTS, ScriptName, parse, parsed, predicate
from rl_resources.snapshot import ScriptFile, Snapshot
from rl_resources.text import nearest, shown

LIKENESS = 0.7

TABLES = {"model": "models", "task": "tasks", "device": "devices"}
TABLES |= {"train": "backends", "infer": "backends"}
"""The tables whose keys are the parts of a name."""


@dataclass(frozen=True)
class Pairing:
    """`rows` maps the script cell of a record to its row, `files` a script's name to the file.

    `alike` maps a row whose script is not there to the file that it most likely means, one that no
    record names.
    """

    rows: Mapping[str, int]
    files: Mapping[str, ScriptFile]
    alike: Mapping[int, ScriptFile]

    def row(self, script: ScriptFile) -> int | None:
        """The row of a script, by its name or by likeness."""
        alike = (row for row, file in self.alike.items() if file.path == script.path)
        return self.rows.get(script.name, next(alike, None))


def scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The files that should be scripts: not READMEs, hidden files and what is no file."""
    files = (script for script in snapshot.scripts if script.data is not None)
    return (it for it in files if it.name != "README.md" and not it.name.startswith("."))


@lru_cache(maxsize=1)
def pairing(snapshot: Snapshot) -> Pairing:
    """Pair files and rows by the script cell, and what is left by similar names."""
    rows = snapshot.tables["tuning"].keys
    files = {script.name: script for script in scripts(snapshot)}
    lost = {name.lower(): row for name, row in rows.items() if name not in files}
    alike = {}
    for name in sorted(files.keys() - rows.keys()):
        for close in difflib.get_close_matches(name.lower(), lost, 1, LIKENESS):
            alike[lost.pop(close)] = files[name]
    return Pairing(rows, files, alike)


def expected_name(snapshot: Snapshot, row: int | None) -> ScriptName | None:
    """The name that follows from a record's other cells, where they are all known."""
    words = [] if row is None else [word_in_name(snapshot, row, part) for part in PARTS]
    return parsed("_".join(filter(None, words)) + ".sh") if words and all(words) else None


def word_in_name(snapshot: Snapshot, row: int, part: str) -> str | None:
    """How a cell of a record appears in a name; `None` for a cell that another rule reports."""
    cell = snapshot.tables["tuning"].cell(row, part)
    if not cell or _is_reported(snapshot, row, part):
        return None
    if part == "model":
        return slug_of(cell)
    return str(int(cell)) if part == "gpus" else cell.lower()


def _is_reported(snapshot: Snapshot, row: int, part: str) -> bool:
    """Whether another rule reports this cell of a record."""
    table = snapshot.tables["tuning"]
    broken = (table.path, row, part) in broken_keys(snapshot)
    return broken or (part in OTHER_ROLE and misplaced(snapshot, Record(table, row), part))


@lru_cache(maxsize=len(TABLES))
def words_of_part(snapshot: Snapshot, part: str) -> Mapping[str, str]:
    """The words that a part of a name may be, each with the key that it means; none if unknown."""
    resource = TABLES[part]
    words = () if snapshot.tables[resource].lost else snapshot.tables[resource].keys
    if part == "model":
        return {slug_of(model): model for model in words}
    other = OTHER_ROLE.get(part)
    return {word.lower(): word for word in words if not other or role_of(snapshot, word) != other}


def word_of_name(snapshot: Snapshot, file_name: str, part: str) -> str:
    """What a script's name says of a column; empty where it says nothing that is known."""
    name = parsed(file_name)
    if name is None or part not in PARTS:
        return ""
    word = str(getattr(name, part))
    return word if part == "gpus" else words_of_part(snapshot, part).get(word, "")


def unknown_part(snapshot: Snapshot, name: ScriptName, row: int | None) -> str | None:
    """The first part of a name that no table knows, unless its row has it wrong, too."""
    for part in TABLES:
        words = words_of_part(snapshot, part)
        reported = row is not None and _is_reported(snapshot, row, part)
        if words and getattr(name, part) not in words and not reported:
            return part
    return None


def agreement_with_name(snapshot: Snapshot, file_name: str, row: int) -> Mapping[str, bool]:
    """For each part of a script's name whether the row's cell says the same.

    A cell that another rule reports is excluded, and all are where the name itself is in doubt.
    """
    name = parsed(file_name)
    if name is None or row in pairing(snapshot).alike or unknown_part(snapshot, name, row):
        return {}
    known = (part for part in PARTS if word_of_name(snapshot, file_name, part))
    words = {part: word_in_name(snapshot, row, part) for part in known}
    return {part: word == str(getattr(name, part)) for part, word in words.items() if word}


def directory_of(snapshot: Snapshot, name: ScriptName | None) -> str | None:
    """The directory of a script with this name, where the size of its model is known."""
    size = size_of(snapshot, name.model) if name else ""
    return f"{SCRIPTS}/{size.lower()}" if size else None


@rule()
def script_name(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is called [model]_[task]_[gpunums]_[device]_[train]_[infer].sh, each part a known
    word.

    The name is what a reader searches for; six parts say everything that must be known.

    Bad: `qwen2_14b_grpo_4_h800_fsdp_vllm.sh`
    Good: `qwen2.5-coder-14b-instruct_grpo_4_h800_fsdp_vllm.sh`
    """
    return filter(None, (_wrong_name(snapshot, script) for script in scripts(snapshot)))


def _wrong_name(snapshot: Snapshot, script: ScriptFile) -> Mistake | None:
    """The mistake in a script's name, if it is not one in its row, too."""
    row = pairing(snapshot).row(script)
    try:
        name = parse(script.name)
    except ValueError as error:
        wrong = str(error)
        fix = f"The form is {FORM}; [model] is its Hugging Face name in lower case, without owner."
    else:
        part = unknown_part(snapshot, name, row)
        if part is None:
            return None
        word, table = getattr(name, part), snapshot.tables[TABLES[part]]
        wrong = f"its {part} part `{word}` is not known"
        close = nearest(word, sorted(words_of_part(snapshot, part))).sentence()
        fix = f"{close} A new {part} needs its row in {table.path} first.".strip()
    expected = expected_name(snapshot, row)
    if expected and str(expected) != script.name:
        fix = _renaming(snapshot, script, expected)
    message = f"the name `{shown(script.name, 120)}` {predicate(wrong)}"
    return Mistake(script.path, 1, 1, message, fix)


def _renaming(snapshot: Snapshot, script: ScriptFile, name: ScriptName) -> str:
    """What to do so that a script has another name."""
    new = f"{directory_of(snapshot, name) or script.directory}/{name}"
    return f"Rename it: {_move(script, new)}, and write that name wherever records/ has another."


def _move(script: ScriptFile, new: str) -> str:
    """The command that moves a script, safe to paste."""
    return f"`mv {shown(shlex.quote(script.path), 300)} {shown(shlex.quote(new), 300)}`"


def fix_script_name(snapshot: Snapshot) -> Iterator[Edit]:
    """Rename a script whose name differs by case and separators alone from the one in its row."""
    taken = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        row = pairing(snapshot).row(script)
        expected = expected_name(snapshot, row)
        directory = directory_of(snapshot, expected)
        new = f"{directory}/{expected}"
        same = _plain(script.name) == _plain(str(expected))
        if row is not None and directory and new not in taken and same:
            yield _moved(script, new)
            yield from _renamed(snapshot, snapshot.tables["tuning"].cell(row, "script"), expected)


def _moved(script: ScriptFile, new: str) -> Edit:
    return Edit(script.path, {"path": new}, f"moved to {new}")


def _renamed(snapshot: Snapshot, old: str, new: ScriptName | None) -> Iterator[Edit]:
    """The tables with another name of a script."""
    return with_cells(
        (table, row, "script", str(new))
        for table in snapshot.tables.values()
        for row, cell in enumerate(table.columns.get("script", ()))
        if cell == old
    )


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


@rule()
def script_place(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script lies in examples/tuning/<size of its model, in lower case>/.

    Readers look in the directory of the size, and links are made from it.

    Bad: `examples/tuning/3b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    Good: `examples/tuning/7b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    """
    taken = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        new = moved_path(snapshot, script)
        if new != script.path:
            right, here = new.rpartition("/")[0], shown(script.directory, 120)
            message = f"the script lies in {here}/, its model belongs to {right}/"
            exists = f"Keep one of the two, {new} exists."
            fix = exists if new in taken else f"Move it: {_move(script, new)}."
            yield Mistake(script.path, 1, 1, message, fix)


def moved_path(snapshot: Snapshot, script: ScriptFile) -> str:
    """Where a script belongs; where it lies, if that is not known."""
    return f"{directory_of(snapshot, parsed(script.name)) or script.directory}/{script.name}"


def fix_script_place(snapshot: Snapshot) -> Iterator[Edit]:
    """Into the directory of its model's size, where no other script is in the way."""
    taken = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        if (new := moved_path(snapshot, script)) not in taken:
            yield _moved(script, new)


@rule()
def script_without_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every script has a row in records/tuning.csv.

    A script without a row is on no page and checked against nothing.

    Bad: a new script alone
    Good: a new script and its row
    """
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    broken = (tuning.path, "script") in broken_columns(snapshot)
    if broken or tuning.lost or not tuning.rows:
        return  # a row that cannot be read may name it, which is reported there
    for script in scripts(snapshot):
        if pairs.row(script) is None and not _wrong_name(snapshot, script):
            draft = f"rl-resources draft {shlex.quote(script.path)} --contributor HANDLE --write"
            fix = f"Have its row written: `{shown(draft, 400)}`, or put the row back that it had."
            message = f"no row of {tuning.path} names this script"
            yield Mistake(script.path, 1, 1, message, fix)


@rule()
def row_without_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row's script exists.

    A row without its script cannot be tried by anybody.

    Bad: a row whose script was renamed alone
    Good: a row whose script lies in its directory
    """
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    files = {script.name for script in snapshot.scripts}
    for name, row in pairs.rows.items():
        alike = pairs.alike.get(row)
        reported = name in files or (tuning.path, row, "script") in broken_keys(snapshot)
        if not reported and not (alike and _wrong_name(snapshot, alike)):
            place = alike.directory if alike else str(SCRIPTS)
            path = f"{directory_of(snapshot, parsed(name)) or place}/{name}"
            fix = f"Put {shown(path, 300)} back, "
            if alike:
                fix = f"Write `{alike.name}`, rename the script: {_move(alike, path)}, "
            fix += "or delete this line and all others in records/ that name it."
            yield tuning.mistake(row, "script", f"there is no script `{shown(name, 120)}`", fix)


@rule()
def name_against_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script's name and its row agree in all six parts.

    A reader picks by name and budgets by row; both must describe the same run.

    Bad: `4` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: `2` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    """
    tuning = snapshot.tables["tuning"]
    for name, row in pairing(snapshot).rows.items():
        agreement = agreement_with_name(snapshot, name, row)
        wrong = [part for part, same in agreement.items() if not same]
        for part in wrong[:1]:
            words = {part: word_of_name(snapshot, name, part) for part in wrong}
            fix = f"Write {', '.join(f'`{word}` as {part}' for part, word in words.items())}."
            script, expected = pairing(snapshot).files.get(name), expected_name(snapshot, row)
            if script and expected:
                other = _renaming(snapshot, script, expected)
                fix = f"{fix} Or is the name of the script wrong? {other}"
            yield Record(tuning, row).mistake(part, f", but the name says `{words[part]}`", fix)


@rule("warning")
def executable_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is executable.

    `./script.sh` ends with `Permission denied`, and so do schedulers that start files.

    Bad: a script of mode 644
    Good: a script of mode 755
    """
    for script in _not_executable(snapshot):
        path = shown(shlex.quote(script.path), 300)
        message = "the file is not executable: starting it ends with `Permission denied`"
        yield Mistake(script.path, 1, 1, message, f"Run `chmod +x {path}`.")


def _not_executable(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The scripts that lack the mode, where the system has modes."""
    files = (script for script in scripts(snapshot) if script.executable is False)
    return (script for script in files if script.name.lower().endswith(".sh"))


def fix_executable_script(snapshot: Snapshot) -> Iterator[Edit]:
    """Execute permission."""
    for script in _not_executable(snapshot):
        yield Edit(script.path, {"executable": True}, "made executable")
