"""Rules about one cell: what the Table Schema says of its column, and what no text may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from rl_resources.check.dataset.broken import (
    BrokenCell,
    broken_cells,
    broken_columns,
)
from rl_resources.check.dataset.compatibility import TABLE as COMPATIBILITY
from rl_resources.check.dataset.compatibility import renamed_script
from rl_resources.check.dataset.pairing import lines_about
from rl_resources.check.dataset.spelling import certain, likely
from rl_resources.check.dataset.tables import contradicted_slugs, new_row, slug_of
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.package import TYPES, Field, ForeignKey
from rl_resources.schema import text_rules as text
from rl_resources.words import nearest, shown

MOST_CHARACTERS_TO_FIX = 500


def _cells(snapshot: Snapshot, *constraints: str) -> Iterator[BrokenCell]:
    return (cell for cell in broken_cells(snapshot) if cell.constraint in constraints)


@rule()
def required(snapshot: Snapshot) -> Iterator[Mistake]:
    """A column that the schema requires is filled.

    Without it a reader cannot tell what was run on what.

    Bad: a blank `device`
    Good: `h100` as `device`
    """
    for broken in _cells(snapshot, "required"):
        example = broken.field.example
        yield broken.mistake(
            "is blank", f"Fill it. {broken.field.description} For example `{example}`."
        )


@rule()
def type(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """A cell is written as its column's type wants it.

    `8 GPUs` or `two` cannot be compared, sorted or added up.

    Bad: `two` as `gpus`
    Good: `2` as `gpus`
    """
    for broken in _cells(snapshot, "type"):
        kind = TYPES[broken.field.type]
        if broken.field.type == "date" and re.fullmatch(kind.pattern, broken.cell):
            wrong = "which is no day of the calendar"
        else:
            wrong = f"which is not {kind.words}"
        unit = f" in {broken.field.unit}" if broken.field.unit else ""
        blank = "" if broken.field.required else ", or leave it blank"
        fix = f"Write {kind.words}{unit} and nothing else{blank}."
        if (meant := certain(snapshot, broken)) is not None:
            fix = f"Write `{meant}`."
        elif number := likely(broken.field, broken.cell):
            fix = f"Write `{number}`: {kind.words}{unit} and nothing else."
        yield broken.mistake(wrong, fix)


@rule()
def vocabulary(snapshot: Snapshot) -> Iterator[Mistake]:
    """A word comes from the vocabulary: an enumeration, or the key of another table.

    Two spellings of one device are two devices to everyone who filters.

    Bad: `h1000` as `device`
    Good: `h100` as `device`
    """
    for broken, others in _grouped(_cells(snapshot, "enum")):
        fix = nearest(broken.cell, _words(broken.limit)).sentence()
        if meant := certain(snapshot, broken):
            fix = f"Write `{meant}`."
        yield broken.mistake(
            f"which is no {broken.field.title.lower()}{_also(broken, others)}",
            fix or f"The words are listed in {broken.table.schema.path}.",
        )

    @cache
    def words(key: ForeignKey) -> list[str]:
        return sorted(snapshot.tables[key.resource].mentioned(key.reference))

    for broken, others in _grouped(_cells(snapshot, "vocabulary")):
        key = broken.table.schema.foreign_key(broken.field.name)
        if key is None:
            yield _wrong_item(broken)
            continue
        target = snapshot.tables[key.resource]
        if target.lost or _has_broken_key(snapshot, target, broken.cell):
            continue  # its row may be there and cannot be read, which is reported there
        close = nearest(broken.cell, words(key))
        yield broken.mistake(
            f"which {target.path} does not hold{_also(broken, others)}",
            _known_word(snapshot, broken)
            or f"{close.sentence()} {new_row(target, broken.cell)}".strip(),
        )


def _wrong_item(broken: BrokenCell) -> Mistake:
    """The first item of a list that is not among the words of its column."""
    field, words = broken.field, broken.field.item_words
    items = broken.cell.split(field.delimiter)
    wrong = next((item for item in items if item not in words), "")
    listed = ", ".join(f"`{word}`" for word in words)
    return broken.mistake(
        f"where `{shown(wrong)}` is no {field.title.lower().removesuffix('s')}",
        nearest(wrong, words).sentence()
        or f"Known are {listed}, separated by `{field.delimiter}`.",
    )


def _known_word(snapshot: Snapshot, broken: BrokenCell) -> str:
    """What to write for a word that had a meaning once, or has it in another spelling."""
    meant = certain(snapshot, broken)
    places = [f"{where} of {path}" for path, where in lines_about(snapshot, broken.cell)]
    if meant and meant == renamed_script(snapshot, broken.cell):
        return (
            f"The script is called `{shown(meant, 200)}` by now: run `rl-resources check --fix`, "
            f"or write that in {' and '.join(places)}."
        )
    if meant:
        return f"Write `{shown(meant)}`."
    known = snapshot.tables.get(COMPATIBILITY)
    gone = places and known and broken.cell in known.columns.get("script", ())
    return f"The script is gone: delete {' and '.join(places)}." if gone else ""


def _has_broken_key(snapshot: Snapshot, table: Table, word: str) -> bool:
    """Whether a key of the table is reported as broken, or as a model whose slug is `word`."""
    key = (table.path, table.schema.primary_key[0])
    meant = table.resource.name == "models" and slug_of(word) in contradicted_slugs(snapshot)
    return key in broken_columns(snapshot) or meant


def _grouped(cells: Iterable[BrokenCell]) -> Iterator[tuple[BrokenCell, list[BrokenCell]]]:
    """Cells with the same word in the same column: the first and the others.

    A row that is missing in another table is one mistake, however often and in however many
    tables its word stands. Cells of a file from outside stay by themselves.
    """
    groups: dict[tuple[str, str, str, int], list[BrokenCell]] = {}
    for broken in cells:
        foreign = broken.table.schema.foreign_key(broken.field.name)
        words = foreign.resource if foreign else broken.table.path
        row = broken.row if broken.table.outside else -1
        groups.setdefault((words, broken.field.name, broken.cell, row), []).append(broken)
    return ((first, others) for first, *others in groups.values())


def _also(first: BrokenCell, others: Sequence[BrokenCell]) -> str:
    here = [broken for broken in others if broken.table is first.table]
    lines = [str(broken.table.rows[broken.row].line) for broken in here]
    places = [f"line{'s' if len(lines) > 1 else ''} {_some(lines)}"] if lines else []
    elsewhere = (broken for broken in others if broken.table is not first.table)
    places += dict.fromkeys(broken.table.path for broken in elsewhere)
    return f" (also in {' and '.join(places)})" if places else ""


def _some(lines: Sequence[str]) -> str:
    return ", ".join(lines[:5]) + (", …" if len(lines) > 5 else "")


def _words(limit: object) -> list[str]:
    return [str(word) for word in limit] if isinstance(limit, list) else []


@rule()
def range(snapshot: Snapshot) -> Iterator[Mistake]:  # noqa: A001 (the rule's name)
    """A number or date lies within its column's bounds.

    A run on 0, -1 or 10^30 GPUs is a slip of the hand.

    Bad: `0` as `gpus`
    Good: `1` as `gpus`
    """
    sides = {
        "minimum": "which is below {}",
        "exclusiveMinimum": "which is not above {}",
        "maximum": "which is above {}",
        "exclusiveMaximum": "which is not below {}",
    }
    for broken in _cells(snapshot, *sides):
        if broken.limit is None:  # more digits than a machine integer has
            yield broken.mistake("which is no usable number", broken.field.description)
            continue
        unit = f" {broken.field.unit}" if broken.field.unit else ""
        bounds = _bounds(broken.field)
        blank = "" if broken.field.required else ", or leave it blank"
        yield broken.mistake(
            sides[broken.constraint].format(broken.limit),
            f"Write {bounds}{unit}{blank}. {broken.field.title}: {broken.field.description}",
        )


def _bounds(field: Field) -> str:
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
    }
    limits = field.constraints
    return " and ".join(text.format(limits[name]) for name, text in words.items() if name in limits)


@rule()
def pattern(snapshot: Snapshot) -> Iterator[Mistake]:
    """A text has the form that its column wants.

    A version, an id or an address in another form is found by nobody.

    Bad: `v0.8.3` as `infer_version`
    Good: `0.8.3` as `infer_version`
    """
    files = {script.name for script in snapshot.scripts}
    for broken in _cells(snapshot, "pattern"):
        if broken.field.name == "script" and broken.cell in files:
            continue  # the name is reported at the file
        meant = _meant(broken.field, broken.cell)
        example = broken.field.example
        yield broken.mistake(
            "which does not have the form of its column",
            f"Write `{meant}`."
            if meant
            else f"{broken.field.description} For example `{example}`.",
        )


def _meant(field: Field, cell: str) -> str | None:
    """The cell as it was most likely meant, if one of the usual slips is all that is wrong."""
    if field.pattern is None or len(cell) > MOST_CHARACTERS_TO_FIX:
        return None
    slips = (
        re.sub(r"\A(?:[vV]\.?|@)", "", cell),
        cell.lower(),
        re.sub(r"\Ahttp://", "https://", cell),
        cell.replace("\\", "/").rstrip("/").rpartition("/")[2],
    )
    return next((slip for slip in slips if re.fullmatch(field.pattern, slip)), None)


@rule()
def length(snapshot: Snapshot) -> Iterator[Mistake]:
    """A text is no longer than its column allows.

    A table is read across; what needs more room belongs behind the source's address.

    Bad: a note of 600 characters
    Good: a note of 300 characters
    """
    sides = {"minLength": ("least", "Say more."), "maxLength": ("most", "Shorten it.")}
    for broken in _cells(snapshot, *sides):
        side, fix = sides[broken.constraint]
        yield broken.mistake(
            f"which has {len(broken.cell)} characters",
            f"At {side} {broken.limit} are allowed. {fix}",
        )


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
        hidden = [sign for sign in strange if text.is_hidden(sign) or sign.isspace()]
        points = " and ".join(f"U+{ord(sign):04X}" for sign in [*(hidden or strange)][:3])
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

    Whoever opens the CSV file in a spreadsheet would run it.

    Bad: `=HYPERLINK("https://example.org")`
    Good: `see the source`
    """
    for broken in _cells(snapshot, "formula"):
        sign = text.formula(broken.cell)
        where, fix = "begins with", "Begin with a letter or a digit."
        if len(sign) > 1:
            where, fix = "goes on with", "Write a letter or a digit after the semicolon."
        elif meant := text.no_formula(broken.cell):
            fix = f"Write `{shown(meant, 600)}`."
        yield broken.mistake(f"which {where} `{sign}` as a spreadsheet formula does", fix)


@rule()
def markup(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text holds markup, a template expression or an address that runs code.

    The same cell is shown in HTML, Markdown and reStructuredText. What no browser knows, such
    as `<think>`, may stand.

    Bad: `<img src=x onerror=alert(1)>`
    Good: `ran out of memory below 8 GPUs`
    """
    for broken in _cells(snapshot, "markup"):
        sign = text.markup(broken.cell)
        fix = "Say it in plain words."
        if re.match(r"<\w", sign) and ">" not in broken.cell:
            fix += " If it means less, put a space after `<`."
        yield broken.mistake(f"which holds `{shown(sign, 20)}` as markup or code does", fix)


@rule()
def email_address(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell holds an e-mail address.

    Records name a public handle and nothing else of a person.

    Bad: `jane@example.org` as `contributor`
    Good: `jane` as `contributor`
    """
    for broken in _cells(snapshot, "email"):
        yield broken.mistake(
            "which holds an e-mail address",
            "Write the public handle alone. The address is in git's history already if it was "
            "committed: make the commit anew.",
        )


@rule()
def outer_space(snapshot: Snapshot) -> Iterator[Mistake]:
    """No text begins or ends with a space.

    `h100` and `h100 ` look the same and are not.

    Bad: `qwen2.5 ` as `family`
    Good: `qwen2.5` as `family`
    """
    for broken in _cells(snapshot, "space"):
        bare = shown(broken.cell.strip(), 600)
        fix = f"Write `{bare}`." if bare else "Leave nothing between the commas, or fill the cell."
        yield broken.mistake("which begins or ends with a space", fix)
