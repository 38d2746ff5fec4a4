"""The corpus of what no honest record holds, and of what only looks as if it did something."""

from cases import read_cases
from rl_resources.package import Field, TableSchema

CLASSES = read_cases("hostile/payloads")
HONEST = read_cases("hostile/honest")["notes"]
REFUSED: list[str] = []
SHOWN: list[str] = []
for texts in CLASSES.values():
    REFUSED += texts.get("refused", [])
    SHOWN += texts.get("shown", [])
PAYLOADS = [*REFUSED, *SHOWN]
_OF_NAMES = "[^ -/:-@"
"""How the pattern of a column begins that holds names in any words."""


def free_columns(schema: TableSchema) -> list[Field]:
    """The columns in which any words may stand."""
    closed = {*schema.primary_key}
    for key in schema.foreign_keys:
        closed.add(key.field)
    fields = [field for field in schema.fields if field.name not in closed]
    return [*filter(_holds_any_words, fields)]


def _holds_any_words(field: Field) -> bool:
    if field.type != "string" or "enum" in field.constraints:
        return False
    return field.pattern is None or field.pattern.startswith(_OF_NAMES)


def seen(text: str) -> str:
    """A text as a page may lay it out: blanks are one, and what has no shape is away."""
    shown = ""
    for sign in text:
        if sign.isprintable() and not sign.isspace():
            shown += sign
    return shown
