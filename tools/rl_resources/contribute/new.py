"""The command `new`: a script that starts from its tag's definition, and its row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import fill

from rl_resources.contribute.changes import (
    Change,
    Row,
    changes_between,
    findings_about,
    with_rows,
    with_script,
    write_changes,
)
from rl_resources.contribute.facts import known_words, read_word, script_name
from rl_resources.contribute.new_script import (
    FRAMEWORK,
    Configuration,
    cluster_of,
    refusals,
    script_text,
)
from rl_resources.contribute.script_facts import run_facts
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.dataset_rules.scripts import TABLES
from rl_resources.errors import Finding, UnusableInput, refuse_errors
from rl_resources.package import read_package
from rl_resources.script.framework import shipped
from rl_resources.script.name import PARTS
from rl_resources.script_rules.target import ScriptText
from rl_resources.snapshot import Snapshot, take_snapshot
from rl_resources.text import MOST_LISTED

OPTIONS = (*PARTS, "tag")
"""Columns of the tuning table that make a configuration, each an option of the command."""

Asked = Mapping[str, str]
"""What was asked for, by option: those of `OPTIONS`, `nodes` and `contributor`."""


@dataclass(frozen=True)
class NewRecord:
    """The path of a new script, its row, the dataset with both, and what the rules report of them.

    `changes` are the files to write.
    """

    path: str
    row: Row
    dataset: Snapshot
    changes: tuple[Change, ...]
    findings: Sequence[Finding] = ()

    def next_step(self) -> str:
        """What to do with a record that was written."""
        who = "" if "contributor" in self.row else " --contributor HANDLE"
        return (
            ("Fix this before you commit: CI fails on warnings too.\n" if self.findings else "")
            + f"Run it: bash {self.path}\n"
            f"When it has run: rl-resources draft {self.path} --log LOG{who} --write\n"
        )


def new(root: Path, asked: Asked) -> NewRecord:
    """Make the record that is asked for and write its files.

    Raises `UnusableInput` and `InvalidDataset`.
    """
    package = read_package(root)
    snapshot = take_snapshot(package)
    record = new_record(asked, read_dataset(package), snapshot)
    found = findings_about(snapshot, record.dataset)
    refuse_errors(found)
    write_changes(root, record.changes)
    return replace(record, findings=found)


def new_record(asked: Asked, dataset: Dataset, snapshot: Snapshot) -> NewRecord:
    """The record that is asked for.

    Raises `UnusableInput` with everything that is missing, unknown or impossible.
    """
    words = _words(asked, dataset)
    wanted = _configuration(words, dataset)
    known = shipped(FRAMEWORK)
    _refuse(list(refusals(wanted, known)))
    name = script_name(words)
    path = script_path(dataset, {"model": words["model"], "script": name})
    text = script_text(wanted, known, name.removesuffix(".sh"))
    of_script = run_facts(ScriptText(path, text), {}, dataset)
    row = {
        **{column: fact.text for column, fact in of_script.items()},
        **words,
        "script": name,
        "status": "untested",
    }
    _refuse_existing(snapshot, name, path)
    after = with_script(with_rows(snapshot, {"tuning": [row]}), path, text.encode())
    return NewRecord(path, row, after, tuple(changes_between(snapshot, after)))


def _refuse_existing(snapshot: Snapshot, name: str, path: str) -> None:
    table, place = snapshot.tables["tuning"], snapshot.keys("tuning").get(name)
    if place is not None:
        there = f"{table.path}:{table.rows[place].line}: there is a row for {name} already"
    elif path in {script.path for script in snapshot.scripts}:
        there = f"{path}: exists already, and nothing is overwritten"
    else:
        return
    help_ = "Change what is there, or choose another configuration; the tag is no part of a name."
    raise UnusableInput(there, help_)


def _words(asked: Asked, dataset: Dataset) -> dict[str, str]:
    """The dataset's words for what is asked for. Raises `UnusableInput` with all problems."""
    words = {option: read_word(dataset, option, text) for option, text in asked.items()}
    _refuse(
        [_missing(option, dataset) for option in OPTIONS if option not in asked]
        + [f"--{option}: {word.doubt}" for option, word in words.items() if word.doubt]
    )
    return {option: word.text for option, word in words.items()}


def _missing(option: str, dataset: Dataset) -> str:
    known = known_words(dataset, option)
    if len(known) > MOST_LISTED:
        return f"--{option} is required: `--{option} '?'` lists its words"
    return f"--{option} is required: {', '.join(known) or 'a number'}"


def listed_words(root: Path, options: Iterable[str]) -> str:
    """The words of these options, the models by size."""
    dataset = read_dataset(read_package(root))
    lines = []
    for option in options:
        groups = {f"--{option}": [*known_words(dataset, option)] or ["a number"]}
        if option == "model":
            models = dataset.records["models"]
            groups = {str(row["size"]): [] for row in dataset.records["sizes"]}
            for row in models:
                groups[str(row["size"])].append(str(row["model"]))
            lines.append("--model, by size")
        lines += [f"{name}: {', '.join(words)}" for name, words in groups.items() if words]
    wrapped = partial(fill, width=100, subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"{wrapped(line)}\n" for line in lines)


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        listed = "".join(f"\n  - {item}" for item in problems)
        text = f" {problems[0]}" if len(problems) == 1 else listed
        raise UnusableInput(f"this cannot become a record:{text}", "Nothing was written.")


def _configuration(words: Asked, dataset: Dataset) -> Configuration:
    rows = {part: dataset.by_key[table][words[part]] for part, table in TABLES.items()}
    nodes = int(words["nodes"]) if "nodes" in words else None
    cluster = cluster_of(int(words["gpus"]), nodes, rows["device"])
    return Configuration(**rows, tag=words["tag"], cluster=cluster)
