"""`python -m rl_resources.generate [--check]`: the files of the repository that are derived.

They are committed, because GitHub reads them from there. Each is written from the rule registry or
from a Table Schema; what is written by hand around a derived part stays as it is. The answers to
the issue form arrive under the titles of the columns; `draft --issue` reads them back,
and `.github/workflows/record.yml` opens the pull request.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rl_resources.check.registry import FAMILIES
from rl_resources.dataset import Dataset, find_root, read_dataset
from rl_resources.files import write_file
from rl_resources.package import Field, Package, read_package
from rl_resources.query.vocabulary import vocabulary

COMMAND = "make generate"
CITATION = "CITATION.cff"
ASKED = (
    *("tag", "gpus", "device", "model", "task", "train", "infer"),
    *("infer_version", "framework_version", "evidence"),
)
"""The columns that the form asks for; script, log and the issue's author state the others."""
REQUIRED = frozenset({"tag", "gpus", "device"})
"""Those that a script seldom states."""
_BEGIN = f"<!-- The list below is generated: {COMMAND} -->\n"
_END = "<!-- The list above is generated. -->\n"
_PART = re.compile(f"(?s){re.escape(_BEGIN)}.*?{re.escape(_END)}")


def generated(root: Path) -> dict[str, str]:
    """The text that each derived file of the checkout at `root` should have, by path."""
    package = read_package(root)
    plain, linked = checklist(), checklist("rules/index.md")
    return {
        "CONTRIBUTING.md": _with_part(root, "CONTRIBUTING.md", plain),
        "site/pages/contributing.md": _with_part(root, "site/pages/contributing.md", linked),
        ".github/PULL_REQUEST_TEMPLATE.md": pull_request_template(),
        ".github/ISSUE_TEMPLATE/record.yml": issue_form(read_dataset(package)),
        CITATION: citation_file(package),
    }


def _with_part(root: Path, path: str, part: str) -> str:
    page = (root / path).read_text(encoding="utf-8")
    return _PART.sub(lambda _: f"{_BEGIN}\n{part}\n{_END}", page)


def stale(root: Path) -> dict[str, str]:
    """The derived files that are not what they should be, with the text that they should have."""
    return {path: text for path, text in generated(root).items() if _now(root / path) != text}


def _now(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def checklist(base: str = "") -> str:
    """One line a family of rules, as Markdown. With `base` each links to its rules on that page."""
    return "".join(
        f"- {f'[{family.title}]({base}#family-{name})' if base else f'**{family.title}**'}: "
        f"{family.summary}\n"
        for name, family in FAMILIES.items()
        if family.scope != "page"
    )


def pull_request_template() -> str:
    """The initial description of a pull request on GitHub: nothing to tick."""
    return f"""\
<!-- What does this add, and where can it be seen (log, results page, run page)? -->


<!--
There is nothing to tick: CI checks the list below and shows each finding at its line. Before you
push, `make check` says the same, and `rl-resources rules NAME` says why a rule exists.

{checklist()}-->
"""


def issue_form(dataset: Dataset) -> str:
    """The form for people who do not use git, as YAML; its words are those of the tables."""
    introduction = (
        "Paste the script that ran; what it sets, it answers. Leave empty what you do not know: "
        "later, a guess looks like a measurement. Everything here becomes public; write no e-mail "
        "address, no key and no private path."
    )
    words = vocabulary(dataset)
    choices = {name: words.known(name) for name in ("task", "train", "infer")}
    choices["device"] = [device.label for device in words.devices.known.values()]
    schema = dataset.package.resources["tuning"].schema
    questions = [_question(schema.field(name), choices.get(name)) for name in ASKED]
    script = _text_area("script_text", "Script", "bash", "The whole script that ran, without keys.")
    log = _text_area("log", "Log", "text", "Some steps of the training log, to read figures from.")
    form = {
        "name": "Add a record",
        "description": "A run that you tried, for people who would rather not open a pull request.",
        "title": "Record: ",
        "labels": ["record"],
        "body": [
            {"type": "markdown", "attributes": {"value": introduction}},
            {**script, "validations": {"required": True}},
            *questions,
            log,
        ],
    }
    return yaml.safe_dump(form, sort_keys=False, allow_unicode=True, width=96)


def _question(field: Field, choices: Sequence[str] | None) -> dict[str, Any]:
    """One column; what is required, but seldom asked for, is what the script sets."""
    words = choices or list(field.words)
    required = field.name in REQUIRED
    of_script = " Empty where the script sets it." if field.required and not required else ""
    attributes: dict[str, Any] = {
        "label": field.title,
        "description": field.description + of_script,
        **({"options": words} if words else {"placeholder": field.example}),
    }
    question = {"type": "dropdown" if words else "input", "id": field.name}
    return {**question, "attributes": attributes, "validations": {"required": required}}


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
