"""What a cell means that is written in another way than its column wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache

from rl_resources.check.dataset.broken import BrokenCell
from rl_resources.check.dataset.compatibility import renamed_script
from rl_resources.check.snapshot import Snapshot
from rl_resources.package import Field
from rl_resources.schema.text_rules import as_seen, is_hidden, strange_characters

MOST_CHARACTERS = 500
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_COUNT = re.compile(r"\A\s*\d+\s*[xX\u00d7*]\s*")
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})(?P<sign>[-/.]?)(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)")
_DAY_FIRST = re.compile(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4})")
_SLASHES = re.compile(r"(?P<one>\d\d?)[/-](?P<other>\d\d?)[/-](?P<year>\d{4})")


def certain(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The text that a broken cell certainly means; `None` where somebody must decide."""
    cell = broken.cell
    if len(cell) > MOST_CHARACTERS:
        return None
    match broken.constraint:
        case "space":
            meant: str | None = cell.strip()
        case "hidden" | "character":
            meant = _seen(broken.field, cell)
        case "type":
            meant = _typed(broken.field, cell)
        case "enum" | "vocabulary":
            return _word(snapshot, broken)
        case "pattern":
            meant = re.sub(r"\A(?:[vV]\.?|@)", "", cell)
        case _:
            return None
    return meant if meant is not None and meant != cell and _fits(broken.field, meant) else None


def likely(field: Field, cell: str) -> str | None:
    """The one number of a cell that says more than a number."""
    match = re.fullmatch(r"~?\s*(\d+(?:[.,]\d+)?)(?:\s+\D*|[A-Za-z%]+)", cell)
    found = match[1].replace(",", ".") if match else ""
    return found if field.type in {"integer", "number"} and found and _fits(field, found) else None


def _seen(field: Field, cell: str) -> str | None:
    """The cell as it looks; hidden characters may have a purpose in free text."""
    free = field.type == "string" and not field.pattern and "maxLength" in field.constraints
    if free and any(is_hidden(sign) or sign.isspace() for sign in strange_characters(cell)):
        return None
    seen = as_seen(cell).strip()
    return None if strange_characters(seen) else seen


def _fits(field: Field, cell: str) -> bool:
    """Whether a text has the type and the form of its column."""
    try:
        field.read(cell)
    except ValueError:
        return False
    return not field.pattern or not cell or re.fullmatch(field.pattern, cell) is not None


def _typed(field: Field, cell: str) -> str | None:
    bare = cell.strip(_QUOTES).strip()
    return _SPELLINGS[field.type](bare.removesuffix(f" {field.unit}" if field.unit else ""))


def _integer(cell: str) -> str | None:
    if re.fullmatch(r"\d{1,3}(?:[,' \u00a0\u202f]\d{3})+(?:\.0*)?", cell):
        cell = re.sub(r"[^\d.]", "", cell)
    return cell.partition(".")[0] if re.fullmatch(r"\d+\.0*", cell) else cell


def _number(cell: str) -> str | None:
    """A comma before one or two digits can only be a decimal one."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+\.\d+", cell):
        return cell.replace(",", "")
    return cell.replace(",", ".") if re.fullmatch(r"\d+,(?:\d{1,2}|\d{4,})", cell) else cell


def _boolean(cell: str) -> str | None:
    return {"true": "true", "yes": "true", "false": "false", "no": "false"}.get(cell.lower())


def _date(cell: str) -> str | None:
    """Points stand after the day; between slashes only a number above 12 tells the day."""
    if match := _YEAR_FIRST.fullmatch(cell) or _DAY_FIRST.fullmatch(cell):
        return _day(match["year"], match["month"], match["day"])
    if match := _SLASHES.fullmatch(cell):
        one, other = int(match["one"]), int(match["other"])
        if one == other or (one > 12) != (other > 12):
            return _day(match["year"], str(min(one, other)), str(max(one, other)))
    return None


def _day(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


_SPELLINGS: Mapping[str, Callable[[str], str | None]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": str,
    "list": str,
}


def _word(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The one word of the vocabulary that differs in case, signs around it, or is its alias."""
    cell = broken.cell
    for wanted in dict.fromkeys([_plain(cell), _plain(_COUNT.sub("", cell))]):
        if found := set(_alike(snapshot, broken, wanted)):
            return found.pop() if len(found) == 1 else None
    return None


def _alike(snapshot: Snapshot, broken: BrokenCell, wanted: str) -> Iterator[str]:
    key = broken.table.schema.foreign_key(broken.field.name)
    if key is None:
        limit = broken.limit
        words = [str(word) for word in limit] if isinstance(limit, list) else []
        yield from (word for word in words if _plain(word) == wanted)
        return
    if key.resource == "tuning" and (script := renamed_script(snapshot, broken.cell)):
        yield script
    yield from words_meant(snapshot, key.resource).get(wanted, ())


@lru_cache(maxsize=16)
def words_meant(snapshot: Snapshot, resource: str) -> Mapping[str, frozenset[str]]:
    """The keys of a table by what else they are called: in any case, by name or alias."""
    table = snapshot.tables[resource]
    found: dict[str, set[str]] = {}
    for row, word in enumerate(table.columns.get(table.schema.primary_key[0], ())):
        aliases = table.cell(row, "aliases").split("; ")
        for name in (word, table.cell(row, "name"), *aliases):
            found.setdefault(_plain(name), set()).add(word)
    return {name: frozenset(words) for name, words in found.items() if name}


def _plain(word: str) -> str:
    return " ".join(word.strip(_QUOTES).split()).lower()
