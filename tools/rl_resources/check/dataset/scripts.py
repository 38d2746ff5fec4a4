"""Script name and place.

Each row has one script, named after its six facts, in the folder of its model's size.

A mistake in a name has two sides, file and row. It is reported once: at the file, unless
only the row is wrong.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.dataset.pairing import (
    TABLES,
    agreement_with_name,
    expected_name,
    folder_of,
    pairing,
    scripts,
    unknown_part,
    words_of_part,
)
from rl_resources.check.dataset.tables import new_row
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES, ScriptFile, Snapshot
from rl_resources.package import SCRIPTS
from rl_resources.script.name import FORM, ScriptName, parse, parsed, predicate
from rl_resources.text import nearest, shown

_KINDS = {"train": "training backend", "infer": "rollout engine"}


@rule()
def script_name(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is called [model]_[task]_[gpunums]_[device]_[train]_[infer].sh, each part a known
    word.

    The name is what a reader searches for; six parts say everything that must be known.

    Bad: `qwen2_14b_grpo_4_h800_fsdp_vllm.sh`
    Good: `qwen2.5-coder-14b-instruct_grpo_4_h800_fsdp_vllm.sh`
    """
    for script in scripts(snapshot):
        if wrong := _wrong_name(snapshot, script):
            message = f"the name `{shown(script.name, 120)}` {predicate(wrong)}"
            yield Mistake(script.path, 1, 1, message, _name_help(snapshot, script))


def _wrong_name(snapshot: Snapshot, script: ScriptFile) -> str:
    """What is wrong with a script's name, but for what is wrong in its row too."""
    try:
        name = parse(script.name)
    except ValueError as error:
        return str(error)
    part = unknown_part(snapshot, name, pairing(snapshot).row(script))
    if part is None:
        return ""
    path = snapshot.tables[TABLES[part][0]].path
    return f"its {part} part `{getattr(name, part)}` is not a {_KINDS.get(part, part)} in {path}"


def _name_help(snapshot: Snapshot, script: ScriptFile) -> str:
    row, name = pairing(snapshot).row(script), parsed(script.name)
    expected = expected_name(snapshot, row)
    if row is not None and expected and str(expected) != script.name:
        return f"Rename it: {_renaming(snapshot, row, script.path, expected)}."
    part = unknown_part(snapshot, name, row) if name else None
    if part is None:
        return (
            f"The form is {FORM}, in lower case; `_` separates, so no part has one. "
            "The model part is the Hugging Face name without its owner."
        )
    word, table = getattr(name, part), snapshot.tables[TABLES[part][0]]
    what = f"A new {part} needs its row in {table.path} first."
    close = nearest(word, sorted(words_of_part(snapshot, part))).sentence()
    return f"{close} {what if part == 'model' else new_row(table, word)}".strip()


def _renaming(snapshot: Snapshot, row: int, path: str, name: ScriptName) -> str:
    """What to do so that the script of a row has another name."""
    folder = folder_of(snapshot, name) or PurePosixPath(path).parent
    old = snapshot.tables["tuning"].cell(row, "script")
    cells = (
        "" if old == str(name) else f", and write `{name}` in its row and wherever else records/"
    )
    return f"`{_git_move(path, f'{folder}/{name}')}`" + (cells and f"{cells} has the old name")


def _git_move(old: str, new: str) -> str:
    """The command that moves a file, safe to paste."""
    return f"git mv {shown(shlex.quote(old), 300)} {shown(shlex.quote(new), 300)}"


@rule()
def script_place(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script lies in examples/tuning/<size of its model, in lower case>/.

    Readers look in the folder of the size, and links are made from it.

    Bad: `examples/tuning/3b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    Good: `examples/tuning/7b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    """
    paths = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        new = moved_path(snapshot, script)
        if new != script.path:
            right = new.rpartition("/")[0]
            message = (
                f"the script lies in {shown(script.folder, 120)}/, its model belongs to {right}/"
            )
            move = f"Move it: `{_git_move(script.path, new)}`."
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
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    if tuning.lost or not tuning.rows:
        return  # a row that cannot be read may name it, which is reported there
    for script in scripts(snapshot):
        if pairs.row(script) is None and not _wrong_name(snapshot, script):
            draft = f"rl-resources draft {shlex.quote(script.path)} --contributor HANDLE --write"
            fix = f"Have its row written: `{shown(draft, 400)}`, with your public handle."
            message = f"no row of {tuning.path} names this script"
            yield Mistake(script.path, 1, 1, message, fix)


@rule()
def row_without_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row's script exists.

    A row without its script cannot be tried by anybody.

    Bad: a row whose script was renamed alone
    Good: a row whose script lies in its folder
    """
    tuning, pairs = snapshot.tables["tuning"], pairing(snapshot)
    links = {script.name for script in snapshot.scripts if script.target is not None}
    renamed = {row: ScriptFile(path) for row, path in pairs.path_of.items()}
    for name, row in pairs.rows.items():
        reported = row in renamed and _wrong_name(snapshot, renamed[row])
        known = pairs.files.keys() | links
        if name in known or reported or (tuning.path, row, "script") in broken_keys(snapshot):
            continue
        message = f"there is no script `{shown(name, 120)}`"
        yield tuning.mistake(row, "script", message, _lost_script_help(snapshot, name, row))


def _lost_script_help(snapshot: Snapshot, name: str, row: int) -> str:
    path = pairing(snapshot).path_of.get(row)
    folder = folder_of(snapshot, parsed(name)) or SCRIPTS
    if path is None:
        back = f"Put the script back as {folder}/{shown(name, 120)}"
        return f"{back}, or delete this line and all others in records/ that name it."
    called = PurePosixPath(path).name
    if parsed(name) is None or str(expected_name(snapshot, row)) == called:
        return f"Write `{called}`, as the script is called, wherever records/ has the other name."
    return f"Give the script back its name: `{_git_move(path, f'{folder}/{name}')}`."


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
        said = {part: _word(snapshot, name, part) for part, same in agreement.items() if not same}
        if said:
            part, *others = said
            message = f"{part} of {name} is `{shown(tuning.cell(row, part))}`, but the name says "
            message += f"`{said[part]}`" + (f"; {', '.join(others)} differ, too" if others else "")
            yield tuning.mistake(row, part, message, _agreement_help(snapshot, row, said))


def _word(snapshot: Snapshot, file_name: str, part: str) -> str:
    """The cell that a part of a name means."""
    word = str(getattr(parse(file_name), part))
    return word if part == "gpus" else words_of_part(snapshot, part).get(word, word)


def _agreement_help(snapshot: Snapshot, row: int, said: Mapping[str, str]) -> str:
    """What to write where the script's name says `said` and the cells of its row do not."""
    cells = ", ".join(f"`{word}` as {part}" for part, word in said.items())
    expected, fix = expected_name(snapshot, row), f"Write {cells}."
    script = pairing(snapshot).files.get(snapshot.tables["tuning"].cell(row, "script"))
    if script is None or expected is None:
        return fix
    return (
        f"{fix} If the row is right, rename the script: "
        f"{_renaming(snapshot, row, script.path, expected)}."
    )


@rule()
def script_text(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is an ordinary file, no larger than 1 MiB, and not a link.

    What cannot be read cannot be shown, checked or trusted, and a link can lead out of the
    repository.

    Bad: a symbolic link to a script
    Good: the script itself
    """
    for script in snapshot.scripts:
        message = f"the script is not an ordinary file, or larger than {LARGEST_SCRIPT_BYTES} bytes"
        if script.target is not None:
            message = f"the script is a symbolic link to {shown(script.target, 120)}"
        if script.data is None and script.name != "README.md":
            fix = "Put the file or folder itself in its place."
            yield Mistake(script.path, 1, 1, message, fix)


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
