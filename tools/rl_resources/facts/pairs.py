"""What rules on less than the dataset look at: a script, or a record with its script.

Here both are made from a snapshot; `page` makes them from a hand-kept page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_resources.facts import TableRow, broken_keys, once
from rl_resources.facts.script_names import agreement_with_name, pairing, scripts
from rl_resources.package import Record, Value, number
from rl_resources.rule import Mistake, Place
from rl_resources.script.script_text import FRAMEWORK, ScriptText, script_text
from rl_resources.script.settings import Setting, in_words, written
from rl_resources.snapshot import Snapshot, name_of
from rl_resources.tabular import conflicts
from rl_resources.text import shown


class Said(NamedTuple):
    """One fact as somebody wrote it, and where."""

    text: str
    line: int
    column: int


class Trial(NamedTuple):
    """A batch size that was tried: all prompts of a step, and whether it ran."""

    batch: int
    ran: bool


@dataclass(frozen=True, eq=False)
class Pair:
    """What a record, or a row of a page, says about a script.

    `said` maps columns of the tuning table to their cells; a column that is empty or wrong by
    another rule is left out. `path` is the file of the record or row, `label` what messages
    call it. `models` are the names of the pair's model, its id first.
    `named` says for columns whether the script's name agrees with the cell; it is empty for a page.
    `device_memory_gb` is the nominal memory of one device, 0 if unknown.
    """

    path: str
    label: str
    said: Mapping[str, Said]
    script: ScriptText
    trials: tuple[Trial, ...] = ()
    models: tuple[str, ...] = ()
    model_facts: Record = field(default_factory=dict)
    named: Mapping[str, bool] = field(default_factory=dict)
    device_memory_gb: float = 0

    def text(self, column: str) -> str:
        """The cell of a column; empty if it says nothing."""
        if column not in self.said:
            return ""
        return self.said[column].text

    def number(self, column: str) -> int | None:
        """The whole number in a column, if there is one."""
        if re.fullmatch(r"[0-9]{1,15}", self.text(column)):
            return int(self.text(column))
        return None

    def model_figure(self, column: str) -> float:
        """A number of the model; 0 if it is not known."""
        value = self.model_facts.get(column)
        if isinstance(value, int | float):
            return value
        return 0

    def place(self, column: str) -> Place:
        """File, line and column of a cell."""
        said = self.said[column]
        return self.path, said.line, said.column

    def cell(self, column: str) -> str:
        """What the cell of a column says, in words."""
        return f"{column} of {shown(self.label, 120)} is `{shown(self.text(column))}`"

    @property
    def whole(self) -> Place:
        """The place of the row, which all mistakes of the pair share."""
        return self.path, min([item.line for item in self.said.values()], default=0), 0

    def mistake(self, column: str, wrong: str, fix: str) -> Mistake:
        """A mistake in a cell: `wrong` follows the column and its value."""
        return Mistake(*self.place(column), f"{self.cell(column)}{wrong}", fix)

    def place_of(self, setting: Setting) -> Place:
        """Where the script defines a setting; for a default, where it starts the run."""
        starts = self.script.trainings or self.script.launches
        place = setting.origin or setting.place or starts[0].command.place
        return self.script.path, place.line, place.column

    def script_mistake(self, setting: Setting, message: str, fix: str) -> Mistake:
        """A mistake at the place of a setting in the script."""
        return Mistake(*self.place_of(setting), message, fix)

    def said_by_script(self, setting: Setting) -> str:
        """The script's side of a contradiction, in words."""
        path, line, _ = self.place_of(setting)
        return f"in {shown(path, 200)}:{line} {in_words(setting)}"

    def differs(
        self,
        column: str,
        setting: Setting,
        right: str,
        wanted: str = "",
        said: str = "",
    ) -> Iterator[Mistake]:
        """The mistake where a cell contradicts a setting of the script: the script's name decides.

        If the name says nothing, either may be wrong; if it agrees with the cell, the script is. If
        it contradicts the cell, the cell is wrong, which `name-against-row` reports.

        `right` is what the cell should be, `wanted` what the setting should be; they are empty if
        that is open. `said` is the script's side if it is more than this setting.
        """
        if column not in self.named:
            word = f"the {column} of the script"
            if right:
                word = f"`{shown(right)}`"
            script = said or self.said_by_script(setting)
            fix = f"Write {word}, or fix the script."
            yield self.mistake(column, f", but {script}", fix)
        elif self.named[column]:
            row = f"{column} in {self.path}:{self.said[column].line}"
            says = f"the script's name and {row} say `{shown(self.text(column))}`"
            fix = self._script_fix(setting, wanted)
            yield self.script_mistake(setting, f"{in_words(setting)}, but {says}", fix)

    def _script_fix(self, setting: Setting, wanted: str) -> str:
        """What to write in place of the value, or to set in place of a default."""
        if not wanted:
            return f"Set `{setting.key}` so that the script does what its name says."
        word = shown(wanted)
        if not setting.place:
            return f"Set `{setting.key}={word}`."
        return f"Write `{word}` in place of `{shown(written(setting.value))}`."


@once
def script_texts(snapshot: Snapshot) -> Iterator[ScriptText]:
    """Every script of the dataset that can be read and has no merge conflict.

    Other rules report a byte order mark and the line ends of Windows.
    """
    for script in scripts(snapshot):
        is_script = script.name.lower().endswith(".sh")
        if is_script and script.text is not None and not conflicts(script.text):
            text = script.text.removeprefix("\ufeff").replace("\r\n", "\n")
            row = snapshot.row("tuning", script.name)
            yield script_text(script.path, text, row.get("framework") or FRAMEWORK)


@once
def pairs(snapshot: Snapshot) -> Iterator[Pair]:
    """Every tuning record with its script, if that can be read."""
    paired = pairing(snapshot)
    for script in script_texts(snapshot):
        row = paired.row(paired.files[name_of(script.path)])
        if row is not None:
            yield _pair(snapshot, row, script)


def _pair(snapshot: Snapshot, row: int, script: ScriptText) -> Pair:
    record = TableRow(snapshot.tables["tuning"], row)
    name = record.text("script")
    model = snapshot.row("models", record.text("model"))
    device = snapshot.row("devices", record.text("device"))
    memory = number(device.get("memory_gb", ""))
    names = (model.get("model", ""), model.get("slug", ""))
    return Pair(
        path=record.table.path,
        label=record.label,
        said=_said(snapshot, record),
        script=script,
        trials=tuple(_trials(snapshot, name)),
        models=tuple(filter(None, names)),
        model_facts=_values(snapshot, model),
        named=agreement_with_name(snapshot, name, row),
        device_memory_gb=memory or 0,
    )


def _values(snapshot: Snapshot, model: Mapping[str, str]) -> Record:
    """The row of a model as values; `None` for a cell that is not written as its type wants it."""
    values: dict[str, Value] = {}
    for column, cell in model.items():
        values[column] = None
        with suppress(ValueError):
            values[column] = snapshot.tables["models"].schema.field(column).read(cell)
    return values


def _said(snapshot: Snapshot, record: TableRow) -> Mapping[str, Said]:
    """The cells of a record that are sound and not empty."""
    broken = broken_keys(snapshot)
    table = record.table
    row = table.rows[record.row]
    said = {}
    for name, text, column in zip(table.columns, row.cells, row.columns, strict=False):
        if text and (table.path, record.row, name) not in broken:
            said[name] = Said(text, row.line, column)
    return said


def _trials(snapshot: Snapshot, script: str) -> Iterator[Trial]:
    """The trials of a script."""
    table = snapshot.tables["trials"]
    for name, batch, outcome in table.cells(("script", "batch", "outcome")):
        if name == script and batch.isdigit():
            yield Trial(int(batch), outcome == "ran")
