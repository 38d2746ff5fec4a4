"""The dataset's words for what people write in a command, a form, a table or a page."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from rl_resources.dataset import Dataset
from rl_resources.devices import device_name, devices_of
from rl_resources.facts import BrokenCell
from rl_resources.facts.models import SIZE_IN_NAME, parameters_in_name, slug_of
from rl_resources.files import table_beside
from rl_resources.package import TEXTS, Field, Resource
from rl_resources.schema.text_rules import as_seen, strange_characters
from rl_resources.script.backends import ENGINES
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import line_of
from rl_resources.text import nearest, only, quoted, shown

_TABLE = table_beside(__file__)
_PROGRAM = re.compile(
    rf"\A(?:(?:{'|'.join(ENGINES)}|verl)[ =]+)?v?(?=\d)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Fact:
    """The text of a cell; if it is empty, `doubt` may say why, and `help` what to write."""

    text: str = ""
    doubt: str = ""
    help: str = ""

    @property
    def why_empty(self) -> str:
        """Doubt and help in one text."""
        return ". ".join(filter(None, [self.doubt, self.help]))


def says_nothing(text: str) -> bool:
    """Whether it is what people and programs write where they know nothing."""
    return text.strip().lower() in _TABLE["no_answer"]


def one_line(text: str) -> str:
    """Text for one cell: on one line, without control characters."""
    printable = (character if character.isprintable() else " " for character in text)
    return " ".join("".join(printable).split())


def known_words(dataset: Dataset, column: str) -> tuple[str, ...]:
    """All possible words of a column; none for a number, a handle or a list."""
    schema = dataset.package.resources["tuning"].schema
    key = schema.foreign_key(column)
    if key is None:
        return schema.field(column).words
    # `train` and `infer` share a table: each has the backends of its role.
    return tuple(
        str(row[key.reference])
        for row in dataset.records[key.resource]
        if row.get("role", column) == column
    )


def read_word(dataset: Dataset, column: str, text: str) -> Fact:
    """The cell of a column that `text` means, otherwise why there is none and how to add the word.

    Case does not matter. A model may be a slug or lack its owner, a device may be written as for
    `find`, a handle may have its `@`, a release its `v` or the name of its program.
    """
    text = one_line(text)
    words = known_words(dataset, column)
    if not words or not text:
        return _cell(dataset, column, text)
    found = _words_meant(dataset, column, text)
    word = only(found)
    if word:
        return Fact(word)
    written = f"`{shown(text)}`"
    if found:
        listed = quoted(sorted(found), "or")
        return Fact("", f"{written} can be {listed}", "Write which one is meant.")
    models = _models_of_size(words, text)
    if models and column == "model":
        listed = ", ".join(f"`{model}`" for model in models)
        return Fact("", f"{written} is a size, not a model", f"Write one of {listed}.")
    fix = nearest(text, words).sentence()
    resources = dataset.package.resources
    key = resources["tuning"].schema.foreign_key(column)
    if key:
        fix = f"{fix} {new_row(resources[key.resource], text)}"
    return Fact("", f"{written} is not known", fix.strip())


def _words_meant(dataset: Dataset, column: str, text: str) -> Collection[str]:
    """The words of a column that a text may mean."""
    found = _named_words(dataset, column).get(device_name(text), ())
    if column == "device" and not found:
        return devices_of(dataset).named(text)
    return found


@lru_cache(maxsize=16)
def _named_words(dataset: Dataset, column: str) -> Mapping[str, Collection[str]]:
    """The words of a column by their names; a model has its slug, too."""
    words = known_words(dataset, column)
    return _by_name((word, [word, slug_of(word)]) for word in words)


def _models_of_size(models: Sequence[str], text: str) -> Sequence[str]:
    """The models with these parameters in their names."""
    if not SIZE_IN_NAME.fullmatch(text):
        return ()
    wanted = parameters_in_name(text)
    return [model for model in models if parameters_in_name(model) == wanted]


def _cell(dataset: Dataset, column: str, text: str) -> Fact:
    field = dataset.package.resources["tuning"].schema.field(column)
    for meant in (text, _in_form(field, text)):
        if fits(field, meant):
            return Fact(field.write(field.read(meant)))
    return Fact(
        "",
        f"`{shown(text)}` is not valid; an example is `{field.example}`",
        field.description,
    )


def new_row(resource: Resource, key: str) -> str:
    """How to add a word to a table: a row to copy, with the cells to fill in capitals.

    Rows of records belong to scripts.
    """
    if resource.name == "tuning":
        return "If the script is gone, delete the lines that name it."
    cells = [_cell_of_new_row(resource, field, key) for field in resource.schema.fields]
    line = shown(line_of(cells), 600)
    what = resource.name.removesuffix("s")
    return (
        f"A new {what} needs its row in {resource.path}: fill in the words in capitals of "
        f"`{line}`, add it, and run `rl-resources fmt`."
    )


def _cell_of_new_row(resource: Resource, field: Field, key: str) -> str:
    if field.name == "slug":
        return slug_of(key)
    if field.name == resource.schema.primary_key[0]:
        return key
    if field.required:
        return field.name.upper()
    return ""


# What a broken cell certainly means


def certain(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The text that a broken cell certainly means; `None` if a person must decide."""
    field = broken.field
    if says_nothing(broken.text) and not field.required:
        return ""
    if broken.constraint in {"enum", "vocabulary"}:
        return _word(snapshot, broken) or None
    meant = _in_right_form(snapshot, broken)
    if meant == broken.text or strange_characters(meant) or not fits(field, meant):
        return None
    return meant


def _in_right_form(snapshot: Snapshot, broken: BrokenCell) -> str:
    """The text of a cell without what is wrong; the same text where nothing else can be meant."""
    text = broken.text
    match broken.constraint:
        case "space":
            return text.strip()
        case "hidden":
            return as_seen(text).strip()
        case "character" if broken.field.type in TEXTS:
            return _in_plain_forms(text).strip()
        case "type" | "character":
            return _typed(snapshot, broken)
        case "pattern":
            return _in_form(broken.field, text)
    return text


def fits(field: Field, cell: str) -> bool:
    """Whether a text has the type and the form of its column, and lies within its bounds."""
    try:
        value = field.read(cell)
    except ValueError:
        return False
    if isinstance(value, int | float):
        minimum = field.constraints.get("minimum", value)
        maximum = field.constraints.get("maximum", value)
        return bool(minimum <= value <= maximum)
    if not cell or not field.pattern:
        return True
    return re.fullmatch(field.pattern, cell) is not None


def _in_plain_forms(text: str) -> str:
    """The text with plain letters, digits and spaces for full-width ones; homoglyphs stay."""
    for character in strange_characters(text):
        if character.isspace() or unicodedata.east_asian_width(character) == "F":
            text = text.replace(character, unicodedata.normalize("NFKC", character))
    return text


def _in_form(field: Field, cell: str) -> str:
    """The cell in the form of its column if a usual slip is all that is wrong."""
    slips = _TABLE["slips"].items()
    possible = [cell.lower()]
    possible += [re.sub(slip, right, cell) for slip, right in slips]
    if field.name.endswith("_version"):
        possible.append(_PROGRAM.sub("", cell))
    for meant in possible:
        if re.fullmatch(field.pattern or "", meant):
            return meant
    return cell


_COUNT = re.compile(r"(\d+) *[x×*] *(?=[a-z])", re.IGNORECASE)


def _typed(snapshot: Snapshot, broken: BrokenCell) -> str:
    """The cell in the form of its type, without its unit or the column's name (`8 GPUs`), and not
    as spreadsheets write it (`8.0`, `76,4`, `1,203.5`, `TRUE`, `31.1.2026`).
    """
    field = broken.field
    cell = unicodedata.normalize("NFKC", broken.text).strip()
    unit = _TABLE["units"].get(field.unit, re.escape(field.unit))
    counted = rf"(?i)(?<=\d)\s*(?:{unit}|{field.name}?|卡|张)\Z"
    bare = re.sub(counted, "", cell)
    match field.type:
        case "integer":
            return _whole_number(_without_device(snapshot, broken, bare))
        case "number":
            return _decimal_number(field, bare)
        case "boolean":
            return bare.lower()
        case "date":
            return _day(field, bare)
    return bare


def _whole_number(cell: str) -> str:
    """A whole number as it is written: not `1,024`, `1 024`, `8.0` or `1.0E+05`."""
    cell = re.sub(r"(?<=\d) (?=\d{3}\b)", "", cell)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", cell):
        cell = cell.replace(",", "")
    with suppress(ValueError):
        value = float(cell)
        if value.is_integer():
            return str(int(value))
    return cell


def _decimal_number(field: Field, cell: str) -> str:
    """A number as it is written: not `76,4`, `1,203.5`, `1.203,5`, or `50%` of 1.

    The comma of `1,203` may be that of thousands or the decimal point.
    """
    share = re.fullmatch(r"(\d+(?:\.\d+)?) *%", cell)
    if share and field.constraints.get("maximum") == 1:
        return field.write(round(float(share[1]) / 100, 6))
    if re.fullmatch(r"\d{1,3},\d{3}", cell):
        return cell
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", cell):
        return cell.replace(",", "")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", cell):
        cell = cell.replace(".", "")
    return cell.replace(",", ".")


_TIME_OF_DAY = re.compile(
    r"[T ]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AP]M)?Z?\Z", re.IGNORECASE
)
_FIRST_DAY_OF_SPREADSHEETS = date(1899, 12, 30)


def _day(field: Field, text: str) -> str:
    """The one day that a text means, in ISO 8601; the text itself if that is in doubt."""
    plain = _TIME_OF_DAY.sub("", text)
    dashed = re.sub("[/., 年月]+", "-", plain.removesuffix("日"))
    days = set()
    if re.fullmatch(r"[45]\d{4}", plain):  # a cell that a spreadsheet took for a number
        days.add(_FIRST_DAY_OF_SPREADSHEETS + timedelta(days=int(plain)))
    for form in _TABLE["days"]:
        with suppress(ValueError):
            days.add(datetime.strptime(dashed, form).date())
    first = field.constraints.get("minimum", "")
    return only([day for day in map(date.isoformat, days) if day >= first]) or text


def _without_device(snapshot: Snapshot, broken: BrokenCell, cell: str) -> str:
    """The number of `8xH100` in a row of that device; the cell itself if it is no such count."""
    count = _COUNT.match(cell)
    if count is None or broken.field.name != "gpus":
        return cell
    named = _keys_by_name(snapshot.tables["devices"])
    of_row = named.get(device_name(broken.record.text("device")))
    if of_row and of_row == named.get(device_name(cell[count.end() :])):
        return count[1]
    return cell


_BETWEEN = re.compile(r"\s*[;,\uff0c\uff1b\u3001|/+]\s*")


def _word(snapshot: Snapshot, broken: BrokenCell) -> str:
    """The only word of the vocabulary that differs just in case or punctuation, or has this alias.

    In a list, every item must have one; empty if there is none. Vendors and units are read as those
    of devices.
    """
    field = broken.field
    named = _words_by_name(snapshot, broken)
    texts = [_without_count(broken)]
    if field.item_words:
        texts = _BETWEEN.split(broken.text.strip())
    words: dict[str, None] = {}
    for text in filter(None, texts):
        word = only(named.get(device_name(text), ()))
        if not word:
            return ""
        words[word] = None
    return field.delimiter.join(words)


def _words_by_name(
    snapshot: Snapshot, broken: BrokenCell
) -> Mapping[str, Collection[str]]:
    """The words that a cell can have, by each of their names."""
    key = broken.foreign_key
    if key:
        return _keys_by_name(snapshot.tables[key.resource])
    words = broken.field.item_words or broken.field.words
    return _by_name((word, [word]) for word in words)


_MODEL_PAGE = re.compile(
    r"\Ahttps?://(?:www\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com|modelscope\.cn/models)"
    r"/([\w.-]+/[\w.-]+)(?:[/?#].*)?\Z"
)


def _without_count(broken: BrokenCell) -> str:
    """The cell without the address of a model, or the count of `8xH100` in a row of 8 GPUs."""
    text = _MODEL_PAGE.sub(r"\1", broken.text)
    count = _COUNT.match(text)
    if count and broken.record.text("gpus").startswith(count[1]):
        return text[count.end() :]
    return text


@lru_cache(maxsize=16)
def _keys_by_name(table: Table) -> Mapping[str, Collection[str]]:
    """The keys of a table by each of their names."""
    names = []
    for key, row in table.keys.items():
        aliases = table.cell(row, "aliases").split("; ")
        of_key = [key, table.cell(row, "name"), table.cell(row, "slug"), *aliases]
        names.append((key, of_key))
    return _by_name(names)


def _by_name(
    words: Iterable[tuple[str, Iterable[str]]],
) -> Mapping[str, Collection[str]]:
    """Words by each of their names, without case and punctuation."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for word, names in words:
        for name in filter(None, names):
            found[device_name(name)].add(word)
    return found
