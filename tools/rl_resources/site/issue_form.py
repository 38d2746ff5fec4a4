"""The issue form for people who do not use git: one question a column, from its Table Schema.

GitHub renders the answers under headings that are the titles of the columns; `draft --issue` reads
them back. Form of the file: https://docs.github.com/communities (syntax for issue forms).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from rl_resources.package import Field, TableSchema

DECIDED_IN_REVIEW = frozenset({"script", "status"})
"""The script's name follows from the answers; every record begins as reported."""
LONG = 300
"""Letters from which on a column's answer gets more than one line."""


def issue_form(schema: TableSchema) -> str:
    """The form as YAML."""
    form = {
        "name": "Add a record",
        "description": "A run that you tried, for people who would rather not open a pull request.",
        "title": "Record: ",
        "labels": ["record"],
        "body": [_introduction(), *_questions(schema), *_files()],
    }
    return yaml.safe_dump(form, sort_keys=False, allow_unicode=True, width=96)


def _introduction() -> dict[str, Any]:
    text = (
        "Fill in what you know and leave blank what you do not: a guess cannot be told from a "
        "measurement later. Everything here becomes public; write no e-mail address, no key and no "
        "path that is private."
    )
    return {"type": "markdown", "attributes": {"value": text}}


def _questions(schema: TableSchema) -> Iterator[dict[str, Any]]:
    return (_question(field) for field in schema.fields if field.name not in DECIDED_IN_REVIEW)


def _question(field: Field) -> dict[str, Any]:
    attributes: dict[str, Any] = {"label": field.title, "description": _described(field)}
    kind = "input"
    if "enum" in field.constraints:
        kind = "dropdown"
        attributes["options"] = list(field.constraints["enum"])
    else:
        if field.constraints.get("maxLength", 0) >= LONG and field.format != "uri":
            kind = "textarea"
        if field.example:
            attributes["placeholder"] = field.example
    question = {"type": kind, "id": field.name, "attributes": attributes}
    return {**question, "validations": {"required": True}} if field.required else question


def _described(field: Field) -> str:
    return f"{field.description} In {field.unit}." if field.unit else field.description


def _files() -> Iterator[dict[str, Any]]:
    for name, label, language, text in (
        ("script_text", "Script", "bash", "The whole script that ran, without keys or passwords."),
        ("log", "Log", "text", "Some steps of the training log, from which figures can be read."),
    ):
        attributes = {"label": label, "description": text, "render": language}
        required = {"validations": {"required": True}} if name == "script_text" else {}
        yield {"type": "textarea", "id": name, "attributes": attributes, **required}
