"""Cells.

Each cell has the type, format and vocabulary of its column, and contains nothing invisible,
executable or private.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from rl_resources.facts import (
    BrokenCell,
    TableRow,
    broken_cells,
    broken_columns,
    with_cells,
)
from rl_resources.facts.models import slug_of
from rl_resources.facts.script_names import word_of_part
from rl_resources.facts.words import certain, new_row
from rl_resources.package import TYPES, Field
from rl_resources.rule import Edit, Mistake, Place, rule
from rl_resources.schema import text_rules
from rl_resources.snapshot import Snapshot, Table
from rl_resources.text import MOST_LISTED, nearest, shown


def _cells(snapshot: Snapshot, *constraints: str) -> Iterator[BrokenCell]:
    for cell in broken_cells(snapshot):
        if cell.constraint in constraints:
            yield cell


def _spelled(constraints: Sequence[str], snapshot: Snapshot) -> Iterator[Edit]:
    """The tables with a certain correction in each cell that breaks one of these constraints."""
    changed = []
    for cell in _cells(snapshot, *constraints):
        meant = certain(snapshot, cell)
        if meant is not None:
            changed.append((cell.record, cell.field.name, meant))
    return with_cells(changed)


fix_type = partial(_spelled, ["type"])
fix_vocabulary = partial(_spelled, ["enum", "vocabulary"])
fix_surrounding_whitespace = partial(_spelled, ["space"])
fix_invisible_character = partial(_spelled, ["hidden", "character"])
fix_pattern = partial(_spelled, ["pattern"])


def _help(snapshot: Snapshot, broken: BrokenCell, otherwise: str) -> str:
    """What to write if that is certain, otherwise another help."""
    meant = certain(snapshot, broken)
    if meant:
        return f"Write `{shown(meant, 600)}`."
    return otherwise


@rule()
def required(snapshot: Snapshot) -> Iterator[Mistake]:
    """Required columns are filled in.

    Without the value, readers cannot tell what ran on what.

    Bad: an empty `device`
    Good: `h100` as `device`
    """
    for broken in _cells(snapshot, "required"):
        yield broken.mistake(
            "but every row needs one", f"Fill it. {_form(broken.field)}"
        )


@rule()
def type(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """Each cell has the type of its column.

    `8 GPUs` or `two` cannot be compared, sorted or added.

    Bad: `two` as `gpus`
    Good: `2` as `gpus`
    """
    for broken in _cells(snapshot, "type"):
        field = broken.field
        kind = TYPES[field.type].words
        unit = ""
        if field.unit:
            unit = f" in {field.unit}"
        fix = f"Write {kind}{unit} and nothing else{_or_empty(field)}."
        if _THOUSANDS.fullmatch(broken.text):
            bare = broken.text.replace(",", "")
            fix = f"Write `{bare}`, if commas separate thousands."
        yield broken.mistake(f"which is not {kind}", _help(snapshot, broken, fix))


def _form(field: Field) -> str:
    return f"{field.description} For example `{field.example}`."


_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


@rule(follows=["model-slug"])
def vocabulary(snapshot: Snapshot) -> Iterator[Mistake]:
    """Each value is in the vocabulary of its column: an enumeration, or the keys of another table.

    Filters treat two spellings of a device as two devices.

    Bad: `h1000` as `device`
    Good: `h100` as `device`
    """
    for broken, others in _grouped(_cells(snapshot, "enum", "vocabulary")):
        also = _also(others)
        key = broken.foreign_key
        if key is None:
            yield broken.mistake(
                f"not one of the words of its column{also}",
                _help(snapshot, broken, _item(broken.field, broken.text)),
            )
            continue
        table = snapshot.tables[key.resource]
        if (table.path, key.reference) not in broken_columns(snapshot):
            yield broken.mistake(
                f"not found in {table.path}{also}",
                _help(
                    snapshot,
                    broken,
                    _help_by_script_name(snapshot, broken) or _key(table, broken.text),
                ),
                _slugs(table, broken.text),
            )


def _slugs(table: Table, cell: str) -> list[Place]:
    """The places of this name's slug in the table of models, where the model may be misspelled."""
    wanted = slug_of(cell)
    slugs = enumerate(table.columns.get("slug", ()))
    return [TableRow(table, row).place("slug") for row, slug in slugs if slug == wanted]


def _help_by_script_name(snapshot: Snapshot, broken: BrokenCell) -> str:
    """What the script's name says; it never says the owner of a model."""
    part = broken.field.name
    word = word_of_part(snapshot, broken.record.text("script"), part)
    if part == "model" or not word:
        return ""
    return f"Write `{word}`, as the name of its script says."


def _key(table: Table, cell: str) -> str:
    """What to do about a cell that is not a key of a table."""
    near = nearest(cell, sorted(table.keys)).sentence()
    return f"{near} {new_row(table.resource, cell)}".strip()


def _item(field: Field, cell: str) -> str:
    """What to write instead of an unknown word, or of the first unknown item of a list."""
    words = field.item_words or field.words
    unknown = cell
    for item in cell.split(field.delimiter):
        if field.item_words and item not in words:
            unknown = item
            break
    near = nearest(unknown, words)
    if near.words:
        return near.sentence()
    return field.explained(words)


def _grouped(
    cells: Iterable[BrokenCell],
) -> Iterator[tuple[BrokenCell, list[BrokenCell]]]:
    """Cells with the same word in the same column: the first and the others.

    A row that is missing in another table is one mistake, however often and in however many
    tables its word is. Cells of a file from outside stay by themselves.
    """
    groups: dict[tuple[str, str, str, int], list[BrokenCell]] = defaultdict(list)
    for broken in cells:
        table, row = broken.record
        words = table.path
        if broken.foreign_key:
            words = broken.foreign_key.resource
        if not table.outside:
            row = -1
        groups[words, broken.field.name, broken.text, row].append(broken)
    for first, *others in groups.values():
        yield first, others


def _also(others: Sequence[BrokenCell]) -> str:
    """Where else the same word is."""
    if not others:
        return ""
    places = []
    for cell in others[:MOST_LISTED]:
        path, line, _ = cell.record.place(cell.field.name)
        places.append(f"{path}:{line}")
    listed = ", ".join(places)
    if len(others) > MOST_LISTED:
        listed += ", …"
    return f" (also in {listed})"


_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
}


@rule()
def range(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """Numbers, dates and text lengths are within the bounds of the column.

    A run on 0, -1 or 10^30 GPUs is a typo, and long texts make a table hard to read.

    Bad: `0` as `gpus`; a note of 600 characters
    Good: `1` as `gpus`; a note of 300 characters
    """
    for broken in _cells(snapshot, *_BOUNDS):
        field = broken.field
        constraints = field.constraints
        bounds = [
            words.format(constraints[name])
            for name, words in _BOUNDS.items()
            if name in constraints
        ]
        unit = ""
        if field.unit:
            unit = f" {field.unit}"
        what = f"Write {' and '.join(bounds)}{unit}{_or_empty(field)}."
        yield broken.mistake(
            "which is out of bounds", f"{what} {field.title}: {field.description}"
        )


def _or_empty(field: Field) -> str:
    if field.required:
        return ""
    return ", or leave it empty"


@rule(follows=["script-name"])
def pattern(snapshot: Snapshot) -> Iterator[Mistake]:
    """Each text has the format of its column.

    Nobody finds a version, an ID or a URL in another format.

    Bad: `v0.8.3` as `infer_version`
    Good: `0.8.3` as `infer_version`
    """
    files = {script.name: script.path for script in snapshot.scripts}
    for broken in _cells(snapshot, "pattern"):
        about = []
        if broken.field.name == "script" and broken.text in files:
            about.append((files[broken.text], 1, 1))
        yield broken.mistake(
            "which does not have the format of its column",
            _help(snapshot, broken, _form(broken.field)),
            about,
        )


@rule()
def invisible_character(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell contains an invisible character or a homoglyph.

    Such a cell can read as something else, and a search for `h100` does not find it with a Cyrillic
    `h`. Records use Latin, Chinese, Japanese and Korean letters, Greek letters in formulas, and
    common symbols.

    Bad: `h1` + U+200B + `00`
    Good: `h100`
    """
    for broken in _cells(snapshot, "hidden", "character"):
        strange = list(dict.fromkeys(text_rules.strange_characters(broken.text)))
        points = " and ".join(f"U+{ord(character):04X}" for character in strange[:3])
        yield broken.mistake(
            f"which contains {points}: invisible, a homoglyph, or a letter that no record uses",
            _help_with_characters(broken.text),
        )


def _help_with_characters(cell: str) -> str:
    meant = text_rules.as_seen(cell).strip()
    if not meant or text_rules.strange_characters(meant):
        return "Retype it in Latin letters and plain digits."
    return f"Write `{shown(meant, 600)}`."


@rule()
def formula(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text starts like a spreadsheet formula.

    A spreadsheet would run it when it opens the CSV file.

    Bad: `=HYPERLINK("https://example.org")`
    Good: `see the source`
    """
    for broken in _cells(snapshot, "formula"):
        yield broken.mistake(
            f"which starts a spreadsheet formula with `{text_rules.formula(broken.text)}`",
            "Start it, and each part after a semicolon, with a letter or a digit.",
        )


@rule()
def markup(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text contains markup, a template expression or a URL that runs code.

    The same cell is rendered in HTML, Markdown and reStructuredText. Tags that browsers do not
    know, such as `<think>`, are allowed.

    Bad: `<img src=x onerror=alert(1)>`
    Good: `ran out of memory below 8 GPUs`
    """
    for broken in _cells(snapshot, "markup"):
        yield broken.mistake(
            f"which contains the markup or code `{shown(text_rules.markup(broken.text), 20)}`",
            "Use plain words; if `<` means less than, put a space after it.",
        )


@rule()
def email_address(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell contains an e-mail address.

    Records name people by their public handle only.

    Bad: `jane@example.org` as `contributor`
    Good: `jane` as `contributor`
    """
    for broken in _cells(snapshot, "email"):
        yield broken.mistake(
            "which contains an e-mail address",
            "Write the public handle alone. If it is already committed, amend the commit.",
        )


@rule()
def surrounding_whitespace(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text has leading or trailing whitespace.

    `h100` and `h100 ` look the same but are different values.

    Bad: `qwen2.5 ` as `family`
    Good: `qwen2.5` as `family`
    """
    for broken in _cells(snapshot, "space"):
        fix = "Leave nothing between the commas, or fill the cell."
        meant = broken.text.strip()
        if meant:
            fix = f"Write `{shown(meant, 600)}`."
        yield broken.mistake("which has leading or trailing whitespace", fix)
