"""Rules about where a script lies, what it is called, and whether its row agrees with its name.

A mistake in a name has two sides, file and row. It is reported once: at the file, unless
only the row is wrong.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from rl_resources.check.dataset.broken import broken_places
from rl_resources.check.dataset.pairing import (
    TABLES,
    agreement_with_name,
    expected_name,
    folder_of,
    lines_about,
    pairing,
    scripts,
    unknown_part,
    words_of_part,
)
from rl_resources.check.dataset.renaming import also_in, git_move, renaming
from rl_resources.check.dataset.tables import new_row
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import (
    LARGEST_SCRIPT_BYTES,
    ScriptFile,
    Snapshot,
    undecodable,
)
from rl_resources.package import SCRIPTS
from rl_resources.script.name import FORM, parse, parsed, predicate
from rl_resources.words import nearest, shown

MOST_PARTS_TOLD_APART = 2

_KINDS = {"train": "training backend", "infer": "rollout engine"}


def _name_mistake(snapshot: Snapshot, file_name: str, row: int | None) -> str | None:
    """What is wrong with a name, as words that follow it, but for what is wrong in its row too."""
    try:
        name = parse(file_name)
    except ValueError as error:
        return str(error)
    part = unknown_part(snapshot, name, row)
    if part is None:
        return None
    path = snapshot.tables[TABLES[part][0]].path
    return f"its {part} part `{getattr(name, part)}` is no {_KINDS.get(part, part)} of {path}"


def _name_help(snapshot: Snapshot, file_name: str, row: int | None) -> str:
    expected = expected_name(snapshot, row) if row is not None else None
    if expected is not None and str(expected) != file_name:
        return f"By the other cells of its row it is called `{expected}`."
    name = parsed(file_name)
    part = unknown_part(snapshot, name, row) if name else None
    if part is not None:
        close = nearest(getattr(name, part), sorted(words_of_part(snapshot, part))).sentence()
        table = snapshot.tables[TABLES[part][0]]
        what = f"A new {_KINDS.get(part, part)} needs its row in {table.path} first."
        return f"{close} {what if part == 'model' else new_row(table, getattr(name, part))}".strip()
    return (
        f"The form is {FORM}, in lower case; `_` separates, so no part holds one. "
        "The model part is the Hugging Face name without its owner."
    )


@rule()
def script_name(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is called [model]_[task]_[gpunums]_[device]_[train]_[infer].sh, each part a known
    word.

    The name is what a reader searches for; six parts say everything that must be known.

    Bad: `qwen2_14b_grpo_4_h800_fsdp_vllm.sh`
    Good: `qwen2.5-coder-14b-instruct_grpo_4_h800_fsdp_vllm.sh`
    """
    for script in scripts(snapshot):
        wrong = _file_name_mistake(snapshot, script)
        if wrong is not None:
            message = f"the name `{shown(script.name, 120)}` {predicate(wrong)}"
            yield Mistake(script.path, 1, 1, message, _rename(snapshot, script))
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    for file_name, row in pairs.rows.items():
        wrong = _name_mistake(snapshot, file_name, row)
        if wrong is None or file_name in pairs.files or _script_cell_is_reported(snapshot, row):
            continue
        fix = _name_help(snapshot, file_name, row)
        if path := pairs.path_of.get(row):
            fix = f"Write `{PurePosixPath(path).name}`, as the script is called."
        yield tuning.mistake(
            row,
            "script",
            f"the script name `{shown(file_name, 120)}` {predicate(wrong)}",
            fix,
        )


def _file_name_mistake(snapshot: Snapshot, script: ScriptFile) -> str | None:
    if script.target is not None:
        return None  # script-text reports links
    return _name_mistake(snapshot, script.name, pairing(snapshot).row(script))


def _script_cell_is_reported(snapshot: Snapshot, row: int) -> bool:
    """Whether a row's script cell is reported elsewhere: as a cell, or at the file it means."""
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    if (tuning.path, *tuning.place(row, "script")) in broken_places(snapshot):
        return True
    path = pairs.path_of.get(row)
    return path is not None and _file_name_mistake(snapshot, ScriptFile(path)) is not None


def _rename(snapshot: Snapshot, script: ScriptFile) -> str:
    pairs = pairing(snapshot)
    row = pairs.row(script)
    expected = expected_name(snapshot, row) if row is not None else None
    folder = folder_of(snapshot, expected)
    if row is None or not expected or not folder or str(expected) == script.name:
        return _name_help(snapshot, script.name, row)
    if snapshot.tables["tuning"].cell(row, "script") != str(expected):
        return f"Rename it: {renaming(snapshot, row, script.path, f'{folder}/{expected}')}"
    return f"Rename it: `{git_move(script.path, f'{folder}/{expected}')}`."


@rule()
def script_place(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script lies in examples/tuning/<size of its model, in lower case>/.

    Readers look in the folder of the size, and links are made from it.

    Bad: `examples/tuning/3b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    Good: `examples/tuning/7b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    """
    paths = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        folder, new = script.folder, moved_path(snapshot, script)
        if new != script.path:
            right = new.rpartition("/")[0]
            message = f"the script lies in {shown(folder, 120)}/, its model belongs to {right}/"
            move = f"Move it: `{git_move(script.path, new)}`."
            fix = f"Delete it, {new} exists." if new in paths else move
            yield Mistake(script.path, 1, 1, message, fix)


def moved_path(snapshot: Snapshot, script: ScriptFile) -> str:
    """Where a script belongs; where it lies, if that is not known."""
    return f"{folder_of(snapshot, parsed(script.name)) or script.folder}/{script.name}"


@rule()
def script_without_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every script has a row in records/tuning.csv.

    A script without a row is on no page and checked against nothing.

    Bad: a new script alone
    Good: a new script and its row
    """
    tuning = snapshot.tables["tuning"]
    files = {script.name for script in scripts(snapshot)}
    nameless = any(files.isdisjoint(record[:1]) for record in tuning.lost)
    if not tuning.rows or "script" not in tuning.columns or nameless:
        return  # the rows cannot be read that may name it, which is reported there
    named = tuning.mentioned("script")
    for script in scripts(snapshot):
        known = script.name in named or script.path in pairing(snapshot).row_of
        if known or script.target is not None or _name_mistake(snapshot, script.name, None):
            continue
        path = shown(shlex.quote(script.path), 300)
        yield Mistake(
            script.path,
            1,
            1,
            f"no row of {tuning.path} names this script",
            f"Have its row written: `rl-resources draft {path} --contributor HANDLE --write`, with "
            "your public handle.",
        )


@rule()
def row_without_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row's script exists.

    A row without its script cannot be tried by anybody.

    Bad: a row whose script was renamed alone
    Good: a row whose script lies in its folder
    """
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    links = {script.path for script in snapshot.scripts if script.target is not None}
    lost = [
        (file_name, row)
        for file_name, row in pairs.rows.items()
        if file_name not in pairs.files
        and _name_mistake(snapshot, file_name, row) is None
        and not _script_cell_is_reported(snapshot, row)
        and not links & {str(SCRIPTS), folder_of(snapshot, parsed(file_name))}
    ]
    for file_name, row in lost:
        yield tuning.mistake(
            row,
            "script",
            f"there is no script `{shown(file_name, 120)}`",
            _lost_script_help(snapshot, file_name, row),
        )


def _lost_script_help(snapshot: Snapshot, file_name: str, row: int) -> str:
    path = pairing(snapshot).path_of.get(row)
    if path is None:
        folder = folder_of(snapshot, parsed(file_name)) or SCRIPTS
        rest = [f"{where} of {path}" for path, where in lines_about(snapshot, file_name)]
        delete = " and ".join(["this line", *rest])
        return f"Put the script back as {folder}/{file_name}, or delete {delete}."
    called, expected = PurePosixPath(path).name, str(expected_name(snapshot, row))
    if expected == called:
        here = also_in(snapshot, file_name, "here")
        return f"Write `{called}`{here}: so is the script called, and so do the other cells say."
    folder = folder_of(snapshot, parsed(file_name)) or str(PurePosixPath(path).parent)
    move = git_move(path, f"{folder}/{file_name}")
    if expected == file_name:
        return f"Give the script back the name that all cells of this row say: `{move}`."
    return f"Give {path} this name: `{move}`."


@rule()
def name_against_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script's name and its row agree in all six parts.

    A reader picks by name and budgets by row; both must describe the same run.

    Bad: `4` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: `2` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    """
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    for file_name, row in pairs.rows.items():
        agreement = agreement_with_name(snapshot, file_name, row)
        said = {
            part: str(getattr(parse(file_name), part))
            for part, agrees in agreement.items()
            if not agrees
        }
        if len(said) > MOST_PARTS_TOLD_APART:
            yield tuning.mistake(
                row,
                "script",
                f"the row of {file_name} describes another run: {', '.join(said)} differ",
                _agreement_help(snapshot, row, said),
            )
            continue
        for part, word in said.items():
            yield tuning.mistake(
                row,
                part,
                f"{part} of {file_name} is `{shown(tuning.cell(row, part))}`, "
                f"but the name says `{word}`",
                _agreement_help(snapshot, row, {part: word}),
            )


def _agreement_help(snapshot: Snapshot, row: int, said: Mapping[str, str]) -> str:
    """What to write where the script's name says `said` and the cells of its row do not."""
    words = {part: _word_named(snapshot, part, word) for part, word in said.items()}
    cells = ", ".join(
        f"`{word}`" if len(words) == 1 else f"`{word}` as {part}" for part, word in words.items()
    )
    expected = expected_name(snapshot, row)
    folder = folder_of(snapshot, expected)
    script = pairing(snapshot).files.get(snapshot.tables["tuning"].cell(row, "script"))
    if script is None or folder is None:
        return f"Write {cells}."
    rename = renaming(snapshot, row, script.path, f"{folder}/{expected}")
    return f"Write {cells}. If the row is right, rename the script: {rename}"


def _word_named(snapshot: Snapshot, part: str, said: str) -> str:
    """The cell that a part of a name stands for."""
    return said if part == "gpus" else words_of_part(snapshot, part).get(said, said)


@rule()
def script_text(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is an ordinary file of UTF-8 text, no larger than 1 MiB, and not a link.

    What cannot be read as text cannot be shown, checked or trusted, and a link can lead out of the
    repository.

    Bad: a script in Latin-1, a compiled program, or a symbolic link
    Good: a script in UTF-8
    """
    for script in snapshot.scripts:
        if script.target is not None:
            leaves = " and leaves the folder of scripts" if script.leaves_tree else ""
            message = f"this is a symbolic link to {shown(script.target, 120)}{leaves}"
            fix = "Put the file or folder itself in its place."
            yield Mistake(script.path, 1, 1, message, fix)
    for script in scripts(snapshot):
        if script.target is None and script.data is None:
            message = f"is no ordinary file, or larger than {LARGEST_SCRIPT_BYTES} bytes"
            yield Mistake(script.path, 1, 1, message, "Put the plain script in its place.")
        elif script.data is not None and (at := undecodable(script.data)) is not None:
            before = script.data[:at]
            line = before.count(b"\n") + 1
            column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
            message = f"byte {script.data[at]:02X} is not text in UTF-8"
            yield Mistake(script.path, line, column, message, "Save the script as UTF-8.")


@rule("warning")
def executable_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is executable.

    `./script.sh` ends with `Permission denied`, and so do schedulers that start files.

    Bad: a script of mode 644
    Good: a script of mode 755
    """
    for script in not_executable(snapshot):
        path = shown(shlex.quote(script.path), 300)
        message = "the file is not executable: starting it ends with `Permission denied`"
        yield Mistake(script.path, 1, 1, message, f"Run `chmod +x {path}`.")


def not_executable(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The scripts that lack the mode, where the system has modes."""
    named = (item for item in scripts(snapshot) if item.name.lower().endswith(".sh"))
    return (item for item in named if item.executable is False)
