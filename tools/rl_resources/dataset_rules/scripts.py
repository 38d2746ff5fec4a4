"""Script name and place.

Each row has one script, named after its six facts, in the directory of its model's size. A second
configuration with the same name is in a folder there: `48k` for its longest sequence, or its tag.

A mistake in a name has two sides, file and row. It is reported once: at the file, unless
only the row is wrong.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from posixpath import dirname

from rl_resources.facts import TableRow, broken_columns
from rl_resources.facts.script_names import (
    FORM,
    TABLES,
    ScriptName,
    agreement_with_name,
    directory_of,
    expected_name,
    folders_of,
    known_parts,
    pairing,
    parse,
    parsed,
    predicate,
    scripts,
    unknown_part,
    word_of_part,
)
from rl_resources.package import SCRIPTS
from rl_resources.rule import Edit, Mistake, rule
from rl_resources.snapshot import ScriptFile, Snapshot
from rl_resources.text import nearest, quoted, shown


@rule()
def script_name(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is named [model]_[task]_[gpunums]_[device]_[train]_[infer].sh, and every part is a
    known word.

    Readers search for the name: its six parts say what they need to know.

    Bad: `qwen2_14b_grpo_4_h800_fsdp_vllm.sh`
    Good: `qwen2.5-coder-14b-instruct_grpo_4_h800_fsdp_vllm.sh`
    """
    for script in scripts(snapshot):
        yield from _wrong_name(snapshot, script)


_HELP_WITH_FORM = (
    f"The form is {FORM}; "
    "[model] is its Hugging Face name in lower case, without owner."
)


def _wrong_name(snapshot: Snapshot, script: ScriptFile) -> Iterator[Mistake]:
    """The mistake in a script's name, unless its row has the same one."""
    row = pairing(snapshot).row(script)
    try:
        name = parse(script.name)
    except ValueError as error:
        wrong = str(error)
        fix = _HELP_WITH_FORM
    else:
        part = unknown_part(snapshot, name, row)
        if part is None:
            return
        wrong = f"its {part} part `{getattr(name, part)}` is not known"
        fix = _help_with_part(snapshot, name, part)
    expected = expected_name(snapshot, row)
    if expected and str(expected) != script.name:
        fix = _renaming(snapshot, script, expected)
    own = shown(script.name, 120)
    yield Mistake(
        script.path,
        1,
        1,
        f"the name `{own}` {predicate(wrong)}",
        fix,
    )


def _help_with_part(snapshot: Snapshot, name: ScriptName, part: str) -> str:
    """What to do about a part of a name that is in no table."""
    known = sorted(known_parts(snapshot, part))
    close = nearest(getattr(name, part), known).sentence()
    table = snapshot.tables[TABLES[part]]
    add = f"A new {part} needs its row in {table.path} first."
    return f"{close} {add}".strip()


def _renaming(snapshot: Snapshot, script: ScriptFile, name: ScriptName) -> str:
    """How to rename a script."""
    directory = directory_of(snapshot, name) or _directory_of_size(script)
    new = f"{directory}/{name}"
    if any(other.path == new for other in snapshot.scripts):
        return (
            f"{shown(new, 300)} exists: keep one of the two, or move this one into a folder as "
            "`rl-resources rules script-folder` says."
        )
    move = _move(snapshot, script, new)
    return f"Rename it: {move}, and write that name wherever records/ has another."


def _move(snapshot: Snapshot, script: ScriptFile, new: str) -> str:
    """The command that moves a script to a path that is free; it is safe to paste."""
    folder = dirname(new)
    move = f"mv {shown(shlex.quote(script.path), 300)} {shown(shlex.quote(new), 300)}"
    if any(dirname(other.path) == folder for other in snapshot.scripts):
        return f"`{move}`"
    return f"`mkdir -p {shown(shlex.quote(folder), 300)} && {move}`"


@rule()
def script_place(snapshot: Snapshot) -> Iterator[Mistake]:
    """A script is in examples/tuning/<size of its model, in lowercase>/, or in a folder below it.

    Readers look in the directory of the size, and links point there.

    Bad: `examples/tuning/3b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    Good: `examples/tuning/7b/qwen2.5-7b-instruct_grpo_8_h100_fsdp_vllm.sh`
    """
    taken = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        new = _right_path(snapshot, script)
        if new == script.path:
            continue
        right = dirname(new)
        fix = f"Move it: {_move(snapshot, script, new)}."
        if new in taken:
            fix = f"Keep one of the two, {new} exists."
        yield Mistake(
            script.path,
            1,
            1,
            f"the script lies in {shown(script.directory, 120)}/, its model belongs to {right}/",
            fix,
        )


def _right_path(snapshot: Snapshot, script: ScriptFile) -> str:
    """Where a script belongs; its own path if that is unknown."""
    directory = directory_of(snapshot, parsed(script.name)) or _directory_of_size(
        script
    )
    return f"{directory}/{script.name}"


def _directory_of_size(script: ScriptFile) -> str:
    """The directory of a script, without the folder that is part of its name."""
    return script.path.removesuffix(f"/{script.name}")


@rule(follows=["script-name"])
def script_without_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every script has a row in records/tuning.csv.

    A script without a row appears on no page, and nothing checks it.

    Bad: a new script alone
    Good: a new script and its row
    """
    tuning = snapshot.tables["tuning"]
    if tuning.lost or not tuning.rows:
        return
    if (tuning.path, "script") in broken_columns(snapshot):
        return  # a row that cannot be read may name it
    for script in scripts(snapshot):
        if pairing(snapshot).row(script) is None:
            draft = f"rl-resources draft {shlex.quote(script.path)} --contributor HANDLE --write"
            yield Mistake(
                script.path,
                1,
                1,
                f"no row of {tuning.path} names this script",
                f"Create its row with `{shown(draft, 400)}`, or restore the row that it had.",
            )


@rule(follows=["cells", "script-name"])
def row_without_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """The script of every row exists.

    Nobody can try a row without its script.

    Bad: a row whose script was renamed alone
    Good: a row whose script lies in its directory
    """
    pairs = pairing(snapshot)
    files = {script.name for script in snapshot.scripts}
    for name, row in pairs.rows.items():
        if name in files:
            continue
        alike = pairs.alike.get(row)
        about = []
        if alike:
            about.append((alike.path, 1, 1))
        yield TableRow(snapshot.tables["tuning"], row).mistake_in_words(
            "script",
            f"there is no script `{shown(name, 120)}`",
            _help_without_script(snapshot, name, alike),
            about,
        )


def _help_without_script(
    snapshot: Snapshot, name: str, alike: ScriptFile | None
) -> str:
    """What to do about a row without a script; `alike` is the file that it may mean."""
    directory = directory_of(snapshot, parsed(name))
    if alike:
        move = _move(snapshot, alike, f"{directory or alike.directory}/{name}")
        back = f"Write `{alike.name}`, rename the script: {move}"
    else:
        path = shown(f"{directory or SCRIPTS}/{name}", 300)
        back = f"Put {path} back"
    return f"{back}, or delete this line and all others in records/ that name it."


@rule()
def name_against_row(snapshot: Snapshot) -> Iterator[Mistake]:
    """The name of a script and its row agree in all six parts.

    Readers choose by name and plan by row, so both must describe the same run.

    Bad: `4` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    Good: `2` as `gpus` of `…_grpo_2_h800_fsdp_vllm.sh`
    """
    for name, row in pairing(snapshot).rows.items():
        agreement = agreement_with_name(snapshot, name, row)
        parts = [part for part, agrees in agreement.items() if not agrees]
        if parts:
            record = TableRow(snapshot.tables["tuning"], row)
            yield record.mistake(
                parts[0],
                f", but the name says `{word_of_part(snapshot, name, parts[0])}`",
                _help_with_parts(snapshot, name, row, parts),
                [record.place(part) for part in parts],
            )


def _help_with_parts(
    snapshot: Snapshot, name: str, row: int, parts: Iterable[str]
) -> str:
    """What to write in a row that contradicts these parts of its script's name."""
    listed = ", ".join(
        f"`{word_of_part(snapshot, name, part)}` as {part}" for part in parts
    )
    fix = f"Write {listed}."
    script = pairing(snapshot).files.get(name)
    expected = expected_name(snapshot, row)
    if script and expected:
        return f"{fix} Or is the name of the script wrong? {_renaming(snapshot, script, expected)}"
    return fix


@rule(follows=["cells", "script-name", "name-against-row"])
def script_folder(snapshot: Snapshot) -> Iterator[Mistake]:
    """A folder below the size says how a script differs from the one with the same name: `48k`,
    `min`.

    Two configurations can share all six parts. The second one is in a folder named after its
    longest sequence, in units of 1,024 tokens, or after its tag.

    Bad: `7b/48k/…_grpo_8_h800_fsdp_vllm.sh` with 1,024 and 15,360 tokens
    Good: `7b/16k/…_grpo_8_h800_fsdp_vllm.sh` with 1,024 and 15,360 tokens
    """
    for script, row in pairing(snapshot).rows.items():
        name = parsed(script)
        if name is None or not name.folder:
            continue
        right = folders_of(snapshot.row("tuning", script))
        if right and name.folder not in right:
            names = quoted(
                [str(name._replace(folder=folder)) for folder in right], "or"
            )
            yield TableRow(snapshot.tables["tuning"], row).mistake(
                "script",
                f", but by its row the folder is {quoted(right, 'or')}",
                f"Move it and write {names} wherever records/ names it, or fix the row.",
            )


@rule("warning")
def executable_script(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every script is executable.

    `./script.sh` fails with `Permission denied`, and so do schedulers that start files.

    Bad: a script of mode 644
    Good: a script of mode 755
    """
    for path in _not_executable(snapshot):
        command = shown(f"chmod +x {shlex.quote(path)}", 310)
        yield Mistake(
            path,
            1,
            1,
            "the file is not executable: it fails to start with `Permission denied`",
            f"Run `{command}`.",
        )


def _not_executable(snapshot: Snapshot) -> list[str]:
    """The scripts that are not executable, on systems that know."""
    lacking = [script for script in scripts(snapshot) if script.executable is False]
    return [script.path for script in lacking if script.name.lower().endswith(".sh")]


def fix_executable_script(snapshot: Snapshot) -> Iterator[Edit]:
    """Make scripts executable."""
    for path in _not_executable(snapshot):
        yield Edit(path, {"executable": True}, "made executable")
