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

from rl_resources.check.registry import FAMILIES
from rl_resources.dataset import Dataset, find_root, read_dataset
from rl_resources.files import write_file
from rl_resources.package import Field, read_package
from rl_resources.query.vocabulary import vocabulary

COMMAND = "make generate"
FORM = ".github/ISSUE_TEMPLATE/record.yml"
ASKED = (
    *("tag", "gpus", "device", "model", "task", "train", "infer"),
    *("infer_version", "framework_version", "evidence"),
)
"""The columns that the form asks for; script, log and the issue's author state the others."""
REQUIRED = frozenset({"gpus", "device"})
"""Those that a script seldom states."""
_PART = re.compile(f"(?sm)(below is generated: {COMMAND}[^\\n]*\\n).*?(^[^\\n]*above is generated)")


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
    text = path.read_text(encoding="utf-8")
    return _PART.sub(lambda marks: f"{marks[1]}\n{part}\n{marks[2]}", text)


def stale(root: Path) -> dict[str, str]:
    """The files that are not what they should be, with the text that they should have."""
    found = generated(root).items()
    return {path: text for path, text in found if (root / path).read_text("utf-8") != text}


def checklist(base: str = "") -> str:
    """One line a family of rules, as Markdown. With `base` each links to its rules on that page."""
    return "".join(
        f"- {f'[{family.title}]({base}#family-{name})' if base else f'**{family.title}**'}: "
        f"{family.summary}\n"
        for name, family in FAMILIES.items()
        if family.scope != "page"
    )


def questions(dataset: Dataset) -> str:
    """Those of the form for people who do not use git, as YAML; its words are the tables'."""
    words = vocabulary(dataset)
    choices = {name: words.known(name) for name in ("task", "train", "infer")}
    choices["device"] = [device.label for device in words.devices.known.values()]
    schema = dataset.package.resources["tuning"].schema
    asked = [_question(schema.field(name), choices.get(name)) for name in ASKED]
    return yaml.safe_dump(asked, sort_keys=False, allow_unicode=True, width=96)


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


def main(root: Path, *, check: bool) -> int:
    """Write what is stale, or with `check` only list it and return 1."""
    found = stale(root)
    for path, wanted in found.items():
        if not check:
            write_file(root / path, wanted)
        print(f"{path}: {f'stale, run `{COMMAND}`' if check else 'written'}")  # noqa: T201
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main(find_root(Path.cwd()), check="--check" in sys.argv))
