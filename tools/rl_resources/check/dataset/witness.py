"""Which is wrong where a row, its script's name and its script disagree: two against one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from rl_resources.check.dataset.pairing import expected_name, folder_of, pairing, words_of_part
from rl_resources.check.dataset.renaming import renaming
from rl_resources.check.dataset.tables import slug_of
from rl_resources.check.registry import all_rules
from rl_resources.check.snapshot import Snapshot
from rl_resources.check.subject import Claim, claims_by_row

_ASKED = {
    "model": "model-agrees",
    "task": "task-agrees",
    "gpus": "gpus-agree",
    "train": "backends-agree",
    "infer": "backends-agree",
}
"""The rule that holds each part to the script."""


def agreement_mend(snapshot: Snapshot, row: int, part: str, said: str) -> str:
    """What to write where the script's name says `said` in a part and its row something else."""
    word = _word_named(snapshot, part, said)
    match _wrong_of(snapshot, row, part, word):
        case "row":
            return f"Write `{word}`: the script, too, says so."
        case "name" if mend := _new_name(snapshot, row):
            return f"The script says what the row says. {mend}"
    return f"Write `{word}`{_or_rename(snapshot, row)}."


def another_run_mend(snapshot: Snapshot, row: int, said: Mapping[str, str]) -> str:
    """What to write where a name says another thing in many parts."""
    words = {part: _word_named(snapshot, part, word) for part, word in said.items()}
    verdicts = {_wrong_of(snapshot, row, part, word) for part, word in words.items()}
    if "name" in verdicts and "row" not in verdicts and (mend := _new_name(snapshot, row)):
        return f"The script says what the row says. {mend}"
    cells = ", ".join(f"`{word}` as {part}" for part, word in words.items())
    return f"Write {cells}{_or_rename(snapshot, row)}."


def _or_rename(snapshot: Snapshot, row: int) -> str:
    expected = expected_name(snapshot, row)
    return f", or call the script `{expected}`, in its row too" if expected else ""


def _new_name(snapshot: Snapshot, row: int) -> str:
    """How the script gets the name that its row says; empty where that is not known."""
    expected = expected_name(snapshot, row)
    folder = folder_of(snapshot, expected)
    script = pairing(snapshot).files.get(snapshot.tables["tuning"].cell(row, "script"))
    if script is None or folder is None:
        return ""
    return renaming(snapshot, row, script.path, f"{folder}/{expected}")


def _wrong_of(snapshot: Snapshot, row: int, part: str, named: str) -> Literal["row", "name", ""]:
    """Whether the cell of a row or the script's name, which says `named`, is wrong by the script.

    Empty where the script does not tell, or contradicts both.
    """
    claim = claims_by_row(snapshot).get(row)
    if claim is None or part not in _ASKED:
        return ""
    row_stands = _stands(claim, part, claim.text(part))
    name_stands = _stands(claim, part, named)
    if row_stands == name_stands:
        return ""
    return "name" if row_stands else "row"


def _word_named(snapshot: Snapshot, part: str, said: str) -> str:
    """The cell that a part of a name stands for."""
    return said if part == "gpus" else words_of_part(snapshot, part).get(said, said)


def _stands(claim: Claim, part: str, word: str) -> bool:
    """Whether the script does not contradict a row that says `word`."""
    said = {**claim.said, part: claim.said[part]._replace(text=word)}
    models = (word, slug_of(word)) if part == "model" else claim.models
    supposed = replace(claim, said=said, models=models, named={})
    place = supposed.place(part)
    told = all_rules()[_ASKED[part]].mistakes(supposed)
    return all(found[:3] != place for found in told)
