"""A row and its script that contradict each other: in words, and who of them is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rl_resources.rule import Mistake
from rl_resources.script.settings import Setting
from rl_resources.script_rules.target import Pair
from rl_resources.text import shown


def at(pair: Pair, setting: Setting) -> tuple[str, int, int]:
    """Where a setting is defined in the script; where it starts the run, for a default."""
    place = setting.origin or setting.place or pair.script.launches[0].command.place
    return pair.script.path, place.line, place.column


def said_by_script(pair: Pair, setting: Setting) -> str:
    """The script's side of a contradiction, in words."""
    path, line, _ = at(pair, setting)
    place, value = f"{shown(path, 200)}:{line}", shown(written(setting.value))
    if setting.place:
        return f"{place} sets `{setting.key}` to `{value}`"
    unset = f"the run that {place} starts does not set `{setting.key}`"
    return f"{unset}, and the framework then takes `{value}`"


def in_words(setting: Setting) -> str:
    """What a run uses for a key, and whether its script sets it."""
    verb = "is" if setting.place else "is not set, and the framework then takes"
    return f"`{setting.key}` {verb} `{shown(written(setting.value))}`"


def written(value: Any) -> str:
    """A value as a script writes it."""
    return "null" if value is None else str(value)


def cell(pair: Pair, column: str) -> str:
    """The row's side of a contradiction, in words."""
    return f"{column} of {shown(pair.label, 120)} is `{shown(pair.text(column))}`"


def differs(
    pair: Pair, column: str, setting: Setting, right: str, wanted: str = "", said: str = ""
) -> Iterator[Mistake]:
    """A cell that contradicts a setting of its script, unless the script's name says who is wrong.

    Where the name contradicts the cell, the rule about names reports it. Where it agrees with
    the cell, the script is wrong. `right` is what the cell should be and `wanted` what the setting
    should be, empty where that is open; `said` is the script's side, where it is more than that
    setting.
    """
    match pair.named.get(column):
        case None:
            message = f"{cell(pair, column)}, but {said or said_by_script(pair, setting)}"
            word = f"`{shown(right)}`" if right else f"the {column} of the script"
            yield Mistake(*pair.place(column), message, f"Write {word}, or fix the script.")
        case True:
            row = f"{column} in {pair.path}:{pair.place(column)[1]}"
            message = (
                f"{in_words(setting)}, but the script's name and {row} say "
                f"`{shown(pair.text(column))}`"
            )
            yield Mistake(*at(pair, setting), message, _script_fix(pair, setting, wanted))


def _script_fix(pair: Pair, setting: Setting, wanted: str) -> str:
    """The corrected line where the value stands in the script as it is, else what to set."""
    if not wanted:
        return f"Set `{setting.key}` so that the script does what its name says."
    text, origin = pair.script.text, setting.origin or setting.place
    value = written(setting.value)
    if origin and re.compile(re.escape(value) + r"(?![\w.-])").match(text, origin.offset):
        begin = text.rfind("\n", 0, origin.offset) + 1
        rest = text[origin.offset + len(value) :].partition("\n")[0]
        return f"Write: {shown(f'{text[begin : origin.offset]}{wanted}{rest}'.strip(), 600)}"
    return f"Set `{setting.key}={shown(wanted)}`."
