"""`python -m rl_resources.generate [--check]`: the parts of committed files that are derived.

They are committed, because GitHub reads them from there. A part lies between two lines that say so;
it follows from the rule registry or from the tables, and what is around it is written by hand. The
answers to the issue form arrive under the titles of the columns; `draft --issue` reads them back,
and `.github/workflows/record.yml` opens the pull request.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rl_resources.check import FAMILIES
from rl_resources.dataset import Dataset, find_root, read_dataset
from rl_resources.devices import devices_of
from rl_resources.files import write_file
from rl_resources.package import Field, read_package
from rl_resources.query.vocabulary import words_of_filters

COMMAND = "make generate"
FORM = ".github/ISSUE_TEMPLATE/record.yml"
ASKED = (
    "tag",
    "gpus",
    "device",
    "model",
    "task",
    "train",
    "infer",
    "infer_version",
    "framework_version",
    "evidence",
)
"""The columns that the form asks for; script, log and the issue's author state the others."""
REQUIRED = frozenset({"gpus", "device"})
"""Those that a script seldom states."""
_PART = re.compile(
    f"(?sm)(below is generated: {COMMAND}[^\\n]*\\n).*?(^[^\\n]*above is generated)"
)


def generated(root: Path) -> dict[str, str]:
    """The text that each file with a derived part should have, by path."""
    parts = {
        "CONTRIBUTING.md": checklist(),
        "site/pages/contributing.md": checklist("rules/index.md"),
        ".github/PULL_REQUEST_TEMPLATE.md": checklist(),
        FORM: questions(read_dataset(read_package(root))),
    }
    return {path: _with_part(root / path, part) for path, part in parts.items()}


def _with_part(path: Path, part: str) -> str:
    def written(markers: re.Match[str]) -> str:
        return f"{markers[1]}\n{part}\n{markers[2]}"

    return _PART.sub(written, path.read_text(encoding="utf-8"))


def stale(root: Path) -> dict[str, str]:
    """The files that are not what they should be, with the text that they should have."""
    wanted = generated(root)
    there = {path: (root / path).read_text("utf-8") for path in wanted}
    return {path: text for path, text in wanted.items() if text != there[path]}


def checklist(base: str = "") -> str:
    """One line a family of rules, as Markdown. With `base` each links to its rules on that page."""
    lines: list[str] = []
    for name, family in FAMILIES.items():
        if family.scope == "page":
            continue
        title = f"**{family.title}**"
        if base:
            title = f"[{family.title}]({base}#family-{name})"
        lines.append(f"- {title}: {family.summary}\n")
    return "".join(lines)


def questions(dataset: Dataset) -> str:
    """The questions of the form for people who do not use git, as YAML.

    The words to choose from are those of the tables.
    """
    schema = dataset.package.resources["tuning"].schema
    labels = [device.label for device in devices_of(dataset).known.values()]
    words = {**words_of_filters(dataset), "device": labels}
    choices = {name: list(words.get(name, ())) for name in ASKED}
    asked = [_question(schema.field(name), choices[name]) for name in ASKED]
    return yaml.safe_dump(asked, sort_keys=False, allow_unicode=True, width=96)


def _question(field: Field, choices: Sequence[str]) -> dict[str, Any]:
    """The question for one column."""
    required = field.name in REQUIRED
    description = field.description
    if field.required and not required:
        description += " Empty where the script sets it."
    attributes: dict[str, Any] = {"label": field.title, "description": description}
    if choices:
        attributes["options"] = choices
    else:
        attributes["placeholder"] = field.example
    return {
        "type": "dropdown" if choices else "input",
        "id": field.name,
        "attributes": attributes,
        "validations": {"required": required},
    }


def main(root: Path, *, check: bool) -> int:
    """Write what is stale, or with `check` only list it and return 1."""
    found = stale(root)
    for path, wanted in found.items():
        if check:
            print(f"{path}: stale, run `{COMMAND}`")  # noqa: T201
        else:
            write_file(root / path, wanted)
            print(f"{path}: written")  # noqa: T201
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main(find_root(Path.cwd()), check="--check" in sys.argv))
