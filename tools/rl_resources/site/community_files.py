"""Committed files that GitHub reads: pull request template, issue form, `CITATION.cff`.

The answers to the issue form arrive under headings that are the titles of the columns;
`draft --issue` reads them back. Syntax: https://docs.github.com/communities.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from rl_resources.package import Field, Package, TableSchema

if TYPE_CHECKING:
    from rl_resources.check.registry import Family

CITATION = "CITATION.cff"
DECIDED_IN_REVIEW = frozenset({"script", "status"})
"""The script's name follows from the answers; every record begins as reported."""
LONG = 300
"""Number of characters from which on a column's answer gets more than one line."""


def checklist(families: Mapping[str, Family], base: str = "") -> str:
    """One line a family of rules, as Markdown. With `base` each links to its rules on that page."""
    return "".join(
        f"- {f'[{family.title}]({base}#family-{name})' if base else f'**{family.title}**'}: "
        f"{family.summary}\n"
        for name, family in families.items()
        if family.scope != "page"
    )


def pull_request_template(families: Mapping[str, Family]) -> str:
    """The initial description of a pull request on GitHub: nothing to tick."""
    return f"""\
<!-- What does this add, and where can it be seen (log, results page, run page)? -->


<!--
There is nothing to tick: CI checks the list below and shows each finding at its line. Before you
push, `make check` says the same, and `rl-resources rules NAME` says why a rule exists.

{checklist(families)}-->
"""


def issue_form(schema: TableSchema) -> str:
    """The form for people who do not use git, one question a column, as YAML."""
    introduction = (
        "Fill in what you know and leave the rest empty: later, a guess looks like a "
        "measurement. Everything here becomes public; write no e-mail address, no key and "
        "no private path."
    )
    questions = [_question(field) for field in schema.fields if field.name not in DECIDED_IN_REVIEW]
    script = _text_area("script_text", "Script", "bash", "The whole script that ran, without keys.")
    log = _text_area("log", "Log", "text", "Some steps of the training log, to read figures from.")
    form = {
        "name": "Add a record",
        "description": "A run that you tried, for people who would rather not open a pull request.",
        "title": "Record: ",
        "labels": ["record"],
        "body": [
            {"type": "markdown", "attributes": {"value": introduction}},
            *questions,
            {**script, "validations": {"required": True}},
            log,
        ],
    }
    return yaml.safe_dump(form, sort_keys=False, allow_unicode=True, width=96)


def _question(field: Field) -> dict[str, Any]:
    unit = f" In {field.unit}." if field.unit else ""
    attributes: dict[str, Any] = {"label": field.title, "description": field.description + unit}
    kind = "input"
    if "enum" in field.constraints:
        kind = "dropdown"
        attributes["options"] = list(field.constraints["enum"])
    elif field.constraints.get("maxLength", 0) >= LONG and field.format != "uri":
        kind = "textarea"
    if field.example and kind != "dropdown":
        attributes["placeholder"] = field.example
    question = {"type": kind, "id": field.name, "attributes": attributes}
    return {**question, "validations": {"required": True}} if field.required else question


def _text_area(name: str, label: str, language: str, description: str) -> dict[str, Any]:
    attributes = {"label": label, "description": description, "render": language}
    return {"type": "textarea", "id": name, "attributes": attributes}


def citation_file(package: Package) -> str:
    """Citation File Format 1.2.0 of this version, from the descriptor alone."""
    document = {
        "cff-version": "1.2.0",
        "message": "Please cite the dataset with its version. Each record names its source.",
        "type": "dataset",
        "title": package.title,
        "abstract": package.description,
        "version": package.version,
        **({"date-released": package.created} if package.created else {}),
        "authors": [{"name": name} for name in package.contributors],
        "license": [licence["name"] for licence in package.licenses],
        "keywords": list(package.keywords),
    }
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return f"# Generated from datapackage.json: make generate\n{text}"
