"""How a table says that a release rejects a setting: `line key kind`."""

from __future__ import annotations

from typing import NamedTuple

MOST_CHARACTERS = 200


class Rejected(NamedTuple):
    """One rejected setting, and its line in the script."""

    line: int
    key: str
    kind: str

    def __str__(self) -> str:
        return f"{self.line} {as_word(self.key)} {self.kind}"


def as_word(key: str) -> str:
    """A key as the table has it: what a list of words cannot have becomes `_`."""
    word = "".join("_" if one.isspace() or one == ";" else one for one in key)
    return word[:MOST_CHARACTERS] or "_"


def read_rejected(cell: str) -> list[Rejected]:
    """The settings in a cell of the column `rejected`, in their order.

    Raises `ValueError` for a cell of another form.
    """
    items = (item.split(" ") for item in cell.split("; ") if item)
    return [Rejected(int(line), key, kind) for line, key, kind in items]
