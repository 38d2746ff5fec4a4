"""`python -m rl_resources.generate [--check]`: the files of the repository that are derived.

They are committed, because GitHub reads them from there. Each is written from the rule registry or
from a Table Schema; what is written by hand around a derived part stays as it is. The answers to
the issue form arrive under the titles of the columns; `draft --issue` reads them back.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rl_resources.check.registry import Family
from rl_resources.dataset import find_root
from rl_resources.errors import UnusableInput
from rl_resources.files import write_file
from rl_resources.package import Field, Package, TableSchema, read_package
from rl_resources.rules import FAMILIES

COMMAND = "make generate"
CITATION = "CITATION.cff"
DECIDED_IN_REVIEW = frozenset({"script", "status"})
"""The script's name follows from the answers; every record begins as reported."""
LONG = 300
"""Number of characters from which on a column's answer gets more than one line."""
_BEGIN = f"<!-- The list below is generated: {COMMAND} -->\n"
_END = "<!-- The list above is generated. -->\n"
_PART = re.compile(f"(?s){re.escape(_BEGIN)}.*?{re.escape(_END)}")


def generated(root: Path) -> dict[str, str]:
    """The text that each derived file of the checkout at `root` should have, by path.

    Raises `UnusableInput` where the part of a page that is derived has lost its marks.
    """
    package = read_package(root)
    plain, linked = checklist(FAMILIES), checklist(FAMILIES, "rules/index.md")
    return {
        "CONTRIBUTING.md": _with_part(root, "CONTRIBUTING.md", plain),
        "site/pages/contributing.md": _with_part(root, "site/pages/contributing.md", linked),
        ".github/PULL_REQUEST_TEMPLATE.md": pull_request_template(FAMILIES),
        ".github/ISSUE_TEMPLATE/record.yml": issue_form(package.resources["tuning"].schema),
        CITATION: citation_file(package),
    }


def _with_part(root: Path, path: str, part: str) -> str:
    before = (root / path).read_text(encoding="utf-8")
    after, count = _PART.subn(lambda _: f"{_BEGIN}\n{part}\n{_END}", before)
    if count != 1:
        raise UnusableInput(
            f"{path}: has the marks of its generated list {count} times, not once",
            f"Put these two lines where the list belongs:\n{_BEGIN}{_END}",
        )
    return after


def stale(root: Path) -> dict[str, str]:
    """The derived files that are not what they should be, with the text that they should have."""
    return {path: text for path, text in generated(root).items() if _now(root / path) != text}


def _now(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what is stale, or with `--check` only list it and return 1."""
    parser = argparse.ArgumentParser(prog="python -m rl_resources.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("--root", type=Path, help="the checkout")
    parsed = parser.parse_args(arguments)
    root = parsed.root or find_root(Path.cwd())
    found = stale(root)
    for path, wanted in found.items():
        if not parsed.check:
            write_file(root / path, wanted)
        print(f"{path}: {f'stale, run `{COMMAND}`' if parsed.check else 'written'}")  # noqa: T201
    return 1 if parsed.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
