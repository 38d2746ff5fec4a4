"""What somebody wrote of a run, in a command, a form or on a page, in the dataset's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.facts.meant import fits
from rl_resources.facts.models import slug_of
from rl_resources.package import Resource
from rl_resources.script.backends import ENGINES
from rl_resources.tabular import write
from rl_resources.text import nearest, shown

_PROGRAM = re.compile(rf"\A(?:(?:{'|'.join(ENGINES)}|verl)[ =]+)?v?(?=\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """The text of a cell; where it is empty, `doubt` says why, and `help` what to write."""

    text: str = ""
    doubt: str = ""
    help: str = ""

    @property
    def why_empty(self) -> str:
        """Doubt and help in one text."""
        return ". ".join(filter(None, (self.doubt, self.help)))


def one_line(text: str) -> str:
    """Text fit for one cell: on one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def known_words(dataset: Dataset, column: str) -> tuple[str, ...]:
    """All words that a column can have; none for a number, a handle or a list."""
    schema = dataset.package.resources["tuning"].schema
    key = schema.foreign_key(column)
    if key is None:
        return schema.field(column).words
    rows = dataset.records[key.resource]
    return tuple(str(row[key.reference]) for row in rows if row.get("role", column) == column)


def read_word(dataset: Dataset, column: str, text: str) -> Fact:
    """The cell of a column that `text` means, or why it is none, with the row that adds a word.

    Case does not matter; a model may be named by its slug or without its owner, a device as in a
    question to `find`. A handle may have its `@`, a release its `v` or the name of its program.
    """
    package, text, words = dataset.package, one_line(text), known_words(dataset, column)
    if not words or not text:
        return _cell(dataset, column, text)
    meant = {word.lower(): word for word in words}
    if column == "model":
        names = {word.rpartition("/")[2].lower(): word for word in words}
        meant = {slug_of(word): word for word in words} | names | meant
    devices = devices_of(dataset).named(text) if column == "device" else []
    found = [meant[text.lower()]] if text.lower() in meant else devices
    if len(found) == 1:
        return Fact(found[0])
    if found:
        which = " or ".join(f"`{key}`" for key in found)
        return Fact("", f"`{shown(text)}` can be {which}", "Write which one is meant.")
    key = package.resources["tuning"].schema.foreign_key(column)
    add = new_row(package.resources[key.resource], text) if key else ""
    like = nearest(text, words).sentence()
    return Fact("", f"`{shown(text)}` is not known", f"{like} {add}".strip())


def _cell(dataset: Dataset, column: str, text: str) -> Fact:
    field = dataset.package.resources["tuning"].schema.field(column)
    if column == "contributor":
        text = text.removeprefix("@")
    if column.endswith("_version"):
        text = _PROGRAM.sub("", text)
    if fits(field, text):
        return Fact(field.write(field.read(text)))
    return Fact("", f"`{shown(text)}` is not one such as `{field.example}`", field.description)


def new_row(resource: Resource, key: str) -> str:
    """What to do so that a table knows a word: a row to copy, in capitals what is to be filled in.

    The rows of records belong to scripts.
    """
    if resource.name == "tuning":
        return "If the script is gone, delete the lines that name it."
    known = {resource.schema.primary_key[0]: key, "slug": slug_of(key)}
    needed = {field.name: field.name.upper() for field in resource.schema.fields if field.required}
    cells = [(needed | known).get(name, "") for name in resource.schema.names]
    what = resource.name.removesuffix("s")
    return (
        f"A new {what} needs its row in {resource.path}: fill in the words in capitals of "
        f"`{shown(write([cells]).rstrip(), 600)}`, add it, and run `rl-resources fmt`."
    )
