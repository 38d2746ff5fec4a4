"""Cells.

Each cell has the form of its column and words that the tables know; nothing in it is invisible,
active or private.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from rl_resources.dataset_rules.broken import (
    BrokenCell,
    broken_cells,
    broken_columns,
    records,
    with_cells,
)
from rl_resources.dataset_rules.meant import MOST_CHARACTERS, certain
from rl_resources.dataset_rules.records import named_after_model, new_row, slug_of
from rl_resources.dataset_rules.scripts import pairing, word_of_name
from rl_resources.package import TYPES, Field, ForeignKey
from rl_resources.rule import Mistake, Rewrite, rule
from rl_resources.schema import text_rules as text
from rl_resources.snapshot import Snapshot, Table
from rl_resources.text import MOST_LISTED, nearest, shown

FIX = "rl-resources check --fix"


def _cells(snapshot: Snapshot, *constraints: str) -> Iterator[BrokenCell]:
    return (cell for cell in broken_cells(snapshot) if cell.constraint in constraints)


def _spelling(*constraints: str) -> Callable[[Snapshot], Iterator[Rewrite]]:
    """The fixer of cells that break one of these constraints and certainly mean another text."""

    def fixer(snapshot: Snapshot) -> Iterator[Rewrite]:
        return with_cells(
            (cell.table, cell.row, cell.field.name, text)
            for cell in _cells(snapshot, *constraints)
            if (text := certain(snapshot, cell)) is not None
        )

    return fixer


fix_type = _spelling("type")
fix_vocabulary = _spelling("enum", "vocabulary")
fix_pattern = _spelling("pattern")
fix_surrounding_whitespace = _spelling("space")
fix_invisible_character = _spelling("hidden", "character")


def _meant(snapshot: Snapshot, broken: BrokenCell) -> str:
    """What to write where that is certain; else empty. Only the dataset's own files are fixed."""
    meant = certain(snapshot, broken)
    fixed = "" if broken.table.outside else f", or run `{FIX}`"
    return "" if meant is None else f"Write `{shown(meant, 600)}`{fixed}."


@rule()
def required(snapshot: Snapshot) -> Iterator[Mistake]:
    """A column that the schema requires is filled.

    Without it a reader cannot tell what was run on what.

    Bad: an empty `device`
    Good: `h100` as `device`
    """
    for broken in _cells(snapshot, "required"):
        example = broken.field.example
        fix = f"Fill it. {broken.field.description} For example `{example}`."
        yield broken.mistake("", fix)


_NOUNS = {"gpus": ("gpu", "gpus"), "nodes": ("node", "nodes")}
"""What may be left out behind a number, as its unit; another unit changes it."""


@rule()
def type(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """A cell is written as its column's type wants it.

    `8 GPUs` or `two` cannot be compared, sorted or added up.

    Bad: `two` as `gpus`
    Good: `2` as `gpus`
    """
    for broken in _cells(snapshot, "type"):
        field, kind = broken.field, TYPES[broken.field.type]
        unit = f" in {field.unit}" if field.unit else ""
        fix = f"Write {kind.words}{unit} and nothing else{_or_empty(field)}."
        found = re.fullmatch(r"~?\s*([0-9.]+)\s*([A-Za-z]*)", broken.cell)
        units = {"", field.unit.lower().partition(" per ")[0], *_NOUNS.get(field.name, ())}
        if found and re.fullmatch(kind.pattern, found[1]) and found[2].lower() in units:
            fix = f"Write `{found[1]}`: {kind.words}{unit} and nothing else."
        elif re.fullmatch(r"\d{1,3}(?:,\d{3})+", broken.cell):
            fix = f"Write `{broken.cell.replace(',', '')}` if the comma separates thousands."
        day = field.type == "date" and re.fullmatch(kind.pattern, broken.cell)
        wrong = "which is not a calendar date" if day else f"which is not {kind.words}"
        yield broken.mistake(wrong, _meant(snapshot, broken) or fix)


@rule()
def vocabulary(snapshot: Snapshot) -> Iterator[Mistake]:
    """A word comes from the vocabulary: an enumeration, or the key of another table.

    Two spellings of one device are two devices to everyone who filters.

    Bad: `h1000` as `device`
    Good: `h100` as `device`
    """
    for broken, others in _grouped(_cells(snapshot, "enum", "vocabulary")):
        key = broken.table.schema.foreign_key(broken.field.name)
        if key is None:
            yield _wrong_item(snapshot, broken, others)
            continue
        target = snapshot.tables[key.resource]
        if _has_broken_key(snapshot, target, broken.cell):
            continue  # that is reported
        near = nearest(broken.cell, _keys(snapshot, key))
        fix, word = near.sentence(), _in_names(snapshot, [broken, *others])
        if word and near.words and word not in near.words:
            fix = f"{fix} The name of its script says `{word}`."
        elif word:
            fix = f"Write `{word}`, as the name of its script says."
        elif key.resource == "tuning":
            fix = f"{fix} If the script is gone, delete the lines that name it.".strip()
        else:
            fix = f"{fix} {new_row(target.resource, broken.cell)}".strip()
        fix = _meant(snapshot, broken) or fix
        yield broken.mistake(f"not found in {target.path}{_also(others)}", fix)


def _in_names(snapshot: Snapshot, cells: Iterable[BrokenCell]) -> str:
    """The word in the place of these cells in the names of their scripts; empty if they differ.

    A model is asked for only where the script has it too: the name says nothing of its owner.
    """
    found = set()
    for broken in cells:
        script, part = broken.table.cell(broken.row, "script"), broken.field.name
        word, file = word_of_name(snapshot, script, part), pairing(snapshot).files.get(script)
        found.add(word if part != "model" or (file and word in (file.text or "")) else "")
    return found.pop() if len(found) == 1 else ""


@lru_cache(maxsize=16)
def _keys(snapshot: Snapshot, key: ForeignKey) -> list[str]:
    return sorted(snapshot.tables[key.resource].columns[key.reference])


def _wrong_item(snapshot: Snapshot, broken: BrokenCell, others: Sequence[BrokenCell]) -> Mistake:
    """A word, or the first item of a list, that its column does not have."""
    field, cell = broken.field, broken.cell
    words = field.item_words or field.words
    items = cell.split(field.delimiter) if field.item_words else [cell]
    wrong = next((item for item in items if item not in words), cell)
    what = field.title.lower().removesuffix("s" if field.item_words else "")
    which = f"where `{shown(wrong)}`" if field.item_words else "which"
    near = nearest(wrong, words)
    fix = near.sentence() if near.words else field.explained(words)
    fix = _meant(snapshot, broken) or fix
    return broken.mistake(f"{which} is not a known {what}{_also(others)}", fix)


def _has_broken_key(snapshot: Snapshot, table: Table, word: str) -> bool:
    """Whether a key of the table is reported as broken, or as a model whose slug is `word`."""
    models = records(snapshot, "models", "model", "slug")
    slugs = (item.text("slug") for item in models if not named_after_model(item))
    meant = table.resource.name == "models" and slug_of(word) in slugs
    return meant or (table.path, table.schema.primary_key[0]) in broken_columns(snapshot)


def _grouped(cells: Iterable[BrokenCell]) -> Iterator[tuple[BrokenCell, list[BrokenCell]]]:
    """Cells with the same word in the same column: the first and the others.

    A row that is missing in another table is one mistake, however often and in however many
    tables its word is. Cells of a file from outside stay by themselves.
    """
    groups: dict[tuple[str, str, str, int], list[BrokenCell]] = {}
    for broken in cells:
        foreign = broken.table.schema.foreign_key(broken.field.name)
        words = foreign.resource if foreign else broken.table.path
        row = broken.row if broken.table.outside else -1
        groups.setdefault((words, broken.field.name, broken.cell, row), []).append(broken)
    return ((first, others) for first, *others in groups.values())


def _also(others: Sequence[BrokenCell]) -> str:
    """Where else the same word is."""
    places = [f"{item.table.path}:{item.table.rows[item.row].line}" for item in others]
    more = ", …" if len(places) > MOST_LISTED else ""
    return f" (also in {', '.join(places[:MOST_LISTED])}{more})" if places else ""


_BOUNDS = {
    "minimum": ("which is below {}", "at least {}"),
    "exclusiveMinimum": ("which is not above {}", "more than {}"),
    "maximum": ("which is above {}", "at most {}"),
    "exclusiveMaximum": ("which is not below {}", "less than {}"),
}


@rule()
def range(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """A number or date lies within its column's bounds.

    A run on 0, -1 or 10^30 GPUs is a slip of the hand.

    Bad: `0` as `gpus`
    Good: `1` as `gpus`
    """
    for broken in _cells(snapshot, *_BOUNDS):
        field = broken.field
        limit = field.constraints[broken.constraint]
        wrong = _BOUNDS[broken.constraint][0].format(limit)
        unit = f" {field.unit}" if field.unit else ""
        fix = f"Write {_bounds(field)}{unit}{_or_empty(field)}."
        yield broken.mistake(wrong, f"{fix} {field.title}: {field.description}")


def _bounds(field: Field) -> str:
    limits = field.constraints
    words = [text.format(limits[name]) for name, (_, text) in _BOUNDS.items() if name in limits]
    return " and ".join(words)


def _or_empty(field: Field) -> str:
    return "" if field.required else ", or leave it empty"


@rule()
def pattern(snapshot: Snapshot) -> Iterator[Mistake]:
    """A text has the form that its column wants.

    A version, an id or a URL in another form is found by nobody.

    Bad: `v0.8.3` as `infer_version`
    Good: `0.8.3` as `infer_version`
    """
    files = {script.name for script in snapshot.scripts}
    for broken in _cells(snapshot, "pattern"):
        if broken.field.name == "script" and broken.cell in files:
            continue  # the name is reported at the file
        fix = f"{broken.field.description} For example `{broken.field.example}`."
        if meant := _likely(broken.field.pattern or "", broken.cell):
            fix = f"Write `{meant}`."
        fix = _meant(snapshot, broken) or fix
        yield broken.mistake("which does not have the form of its column", fix)


def _likely(pattern: str, cell: str) -> str | None:
    """The cell as it was most likely meant, if one of the usual slips is all that is wrong."""
    slips = (
        cell.lower(),
        re.sub(r"\Ahttp://", "https://", cell),
        cell.replace("\\", "/").rstrip("/").rpartition("/")[2],
    )
    possible = slips if len(cell) <= MOST_CHARACTERS else ()
    return next((slip for slip in possible if re.fullmatch(pattern, slip)), None)


@rule()
def length(snapshot: Snapshot) -> Iterator[Mistake]:
    """A text is no longer than its column allows.

    A table is read across; what needs more room belongs at the source's URL.

    Bad: a note of 600 characters
    Good: a note of 300 characters
    """
    sides = {
        "minLength": "Write at least {} characters.",
        "maxLength": "At most {} are allowed. Shorten it.",
    }
    for broken in _cells(snapshot, *sides):
        fix = sides[broken.constraint].format(broken.field.constraints[broken.constraint])
        yield broken.mistake(f"which has {len(broken.cell)} characters", fix)


@rule()
def invisible_character(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell contains an invisible character or a homoglyph.

    What cannot be seen can make a cell read as something that it is not, and who searches for
    `h100` does not find it with a Cyrillic `h`. Records are in Latin, Chinese, Japanese or Korean
    letters, Greek ones in formulas, and common symbols.

    Bad: `h1` + U+200B + `00`
    Good: `h100`
    """
    for broken in _cells(snapshot, "hidden", "character"):
        strange = dict.fromkeys(text.strange_characters(broken.cell))
        hidden = [one for one in strange if text.is_hidden(one) or one.isspace()]
        points = " and ".join(f"U+{ord(one):04X}" for one in [*(hidden or strange)][:3])
        meant = text.as_seen(broken.cell).strip()
        if hidden:
            wrong = f"which contains the invisible character {points}"
        else:
            wrong = f"which contains {points}, a homoglyph or a letter that no record uses"
        fix = f"Write `{shown(meant, 600)}`."
        if text.strange_characters(meant):
            fix = "Type it again in Latin letters and plain digits."
        yield broken.mistake(wrong, fix)


@rule()
def formula(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text begins like a spreadsheet formula.

    A spreadsheet that opens the CSV file would run it.

    Bad: `=HYPERLINK("https://example.org")`
    Good: `see the source`
    """
    for broken in _cells(snapshot, "formula"):
        found = text.formula(broken.cell)
        where, fix = "begins with", "Begin with a letter or a digit."
        if len(found) > 1:
            where, fix = "goes on with", "Write a letter or a digit after the semicolon."
        yield broken.mistake(f"which {where} `{found}` as a spreadsheet formula does", fix)


@rule()
def markup(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text contains markup, a template expression or a URL that runs code.

    The same cell is shown in HTML, Markdown and reStructuredText. What no browser knows, such
    as `<think>`, may stand.

    Bad: `<img src=x onerror=alert(1)>`
    Good: `ran out of memory below 8 GPUs`
    """
    for broken in _cells(snapshot, "markup"):
        found = text.markup(broken.cell)
        wrong = f"which contains the markup or code `{shown(found, 20)}`"
        yield broken.mistake(wrong, "Say it in plain words.")


@rule()
def email_address(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell contains an e-mail address.

    Records name a public handle and nothing else of a person.

    Bad: `jane@example.org` as `contributor`
    Good: `jane` as `contributor`
    """
    for broken in _cells(snapshot, "email"):
        fix = "Write the public handle alone. If it was committed, make the commit again."
        yield broken.mistake("which contains an e-mail address", fix)


@rule()
def surrounding_whitespace(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text has leading or trailing whitespace.

    `h100` and `h100 ` look the same and are not.

    Bad: `qwen2.5 ` as `family`
    Good: `qwen2.5` as `family`
    """
    for broken in _cells(snapshot, "space"):
        bare = shown(broken.cell.strip(), 600)
        fix = f"Write `{bare}`." if bare else "Leave nothing between the commas, or fill the cell."
        yield broken.mistake("which has leading or trailing whitespace", fix)
