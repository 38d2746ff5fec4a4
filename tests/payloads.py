"""The corpus of what no honest record holds, and of what only looks as if it did something."""

from cases import read_cases
from rl_resources.package import Field, TableSchema

CLASSES, HONEST = read_cases("hostile/payloads"), read_cases("hostile/honest")["notes"]
REFUSED = [text for found in CLASSES.values() for text in found.get("refused", ())]
SHOWN = [text for found in CLASSES.values() for text in found.get("shown", ())]
PAYLOADS = [*REFUSED, *SHOWN]
_OF_NAMES = "[^ -/:-@"
"""How the pattern of a column begins that holds names in any words."""


def free_columns(schema: TableSchema) -> list[Field]:
    """The columns in which any words may stand."""
    closed = {key.field for key in schema.foreign_keys} | {*schema.primary_key}
    return [
        field
        for field in schema.fields
        if field.type == "string"
        and not (_has_form(field) or "enum" in field.constraints or field.name in closed)
    ]


def _has_form(field: Field) -> bool:
    return field.pattern is not None and not field.pattern.startswith(_OF_NAMES)


def seen(text: str) -> str:
    """A text as a page may lay it out: blanks are one, and what has no shape is away."""
    return "".join(sign for sign in text if sign.isprintable() and not sign.isspace())
