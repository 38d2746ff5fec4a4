"""Rules about the files that a run trains on and is validated with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.missing_dollar import is_undollared
from rl_resources.check.script.naming import contradiction, split_of
from rl_resources.check.script.values import places
from rl_resources.check.target import ScriptText, trains
from rl_resources.script.bash import Value
from rl_resources.script.launch import Launch
from rl_resources.script.override import Override
from rl_resources.words import shown

_DATA_KEYS = ("data.train_files", "data.val_files")


@rule("warning")
def relative_path(subject: ScriptText) -> Iterator[Mistake]:
    """Data files are found from wherever a script is started.

    A relative path counts from the folder that the reader happens to be in.

    Bad: `python3 -m verl.trainer.main_ppo data.train_files=data/gsm8k/train.parquet`
    Good: `python3 -m verl.trainer.main_ppo data.train_files="$HOME/data/gsm8k/train.parquet"`
    """
    if any(command.name in ("cd", "pushd") for command in subject.script.commands):
        return
    seen: set[int] = set()
    for _, override in _data_files(subject):
        parts = override.content.parts if override.content else ()
        if override.content is None or override.content.default or is_undollared(subject, override):
            continue
        pattern = re.compile(r"(?:^|(?<=[\[,'\" ]))(?:\.\.?/)?[\w-][\w.-]*(?:/[\w.-]+)+")
        for path, part, at in places(pattern, Value(parts)):
            place = subject.place_in(part, at)
            if place.offset not in seen and part.text is not None:
                seen.add(place.offset)
                message = f"`{shown(path)}` counts from the folder that the script is started in"
                fix = f'Begin it with a folder that everybody has: `"$HOME/{shown(path)}"`.'
                yield subject.mistake(place, message, fix)


def _data_files(subject: ScriptText) -> Iterator[tuple[Launch, Override]]:
    for launch in subject.launches:
        for override in launch.overrides:
            if override.key in _DATA_KEYS:
                yield launch, override


@rule("warning")
def data_split(subject: ScriptText) -> Iterator[Mistake]:
    """A script trains on training data and validates on other data.

    Scores on the data of the training say nothing; training on test data spoils them.

    Bad: `python3 -m verl.trainer.main_ppo data.train_files="$HOME/a.parquet"
        data.val_files="$HOME/a.parquet"`
    Good: `python3 -m verl.trainer.main_ppo data.train_files="$HOME/a/train.parquet"
        data.val_files="$HOME/a/test.parquet"`
    """
    for launch in filter(trains, subject.launches):
        files = {item.key: item for item in launch.overrides if item.key in _DATA_KEYS}
        train, held_out = (files.get(key) for key in _DATA_KEYS)
        wrong = [item for item in (train, held_out) if item and _is_other_split(subject, item)]
        if train and held_out and not wrong and _same(train, held_out):
            message = f"`{held_out.key}` is the file that `{train.key}` is"
            yield subject.mistake(held_out.place, message, "Name the held-out file.")
        for item in wrong:
            shown_value = shown(item.content.shown) if item.content else ""
            message = f"`{item.key}` is `{shown_value}`, a file of the other split"
            yield subject.mistake(item.origin, message, "Name the file of the split.")


def _same(train: Override, held_out: Override) -> bool:
    first = train.content.shown if train.content else ""
    second = held_out.content.shown if held_out.content else ""
    plain = not re.search(r"\$\(|\$[\d@*]", first)
    return bool(first) and first == second and plain and split_of(first) == ""


def _is_other_split(subject: ScriptText, override: Override) -> bool:
    """Whether the file's name says the other split, and no variable's name is to blame."""
    text = override.content.shown if override.content else ""
    files = re.findall(r"[^\s,'\"\[\]]+\.(?:parquet|jsonl?)", text)
    splits = {split_of(file) for file in files}
    wanted = "train" if override.key == "data.train_files" else "test"
    if not files or "" in splits or wanted in splits:
        return False
    names = set(override.content.names) if override.content else set()
    blamed = (item for item in subject.script.assignments if item.name in names)
    return not any(contradiction(item) for item in blamed)
