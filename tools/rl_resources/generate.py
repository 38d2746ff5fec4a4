"""`python -m rl_resources.generate [--check]`: the files of the repository that are derived.

They are committed, because GitHub reads them from there. Each is written from the rule registry or
from a Table Schema; what is written by hand around a derived part stays as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rl_resources.dataset import find_root
from rl_resources.errors import UnusableInput
from rl_resources.files import write_file
from rl_resources.package import read_package
from rl_resources.rules import FAMILIES
from rl_resources.site import community_files as text

COMMAND = "make generate"
_BEGIN = f"<!-- The list below is generated: {COMMAND} -->\n"
_END = "<!-- The list above is generated. -->\n"
_PART = re.compile(f"(?s){re.escape(_BEGIN)}.*?{re.escape(_END)}")


def generated(root: Path) -> dict[str, str]:
    """The text that each derived file of the checkout at `root` should have, by path.

    Raises `UnusableInput` where the part of a page that is derived has lost its marks.
    """
    package = read_package(root)
    plain, linked = text.checklist(FAMILIES), text.checklist(FAMILIES, "rules/index.md")
    return {
        "CONTRIBUTING.md": _with_part(root, "CONTRIBUTING.md", plain),
        "site/pages/contributing.md": _with_part(root, "site/pages/contributing.md", linked),
        ".github/PULL_REQUEST_TEMPLATE.md": text.pull_request_template(FAMILIES),
        ".github/ISSUE_TEMPLATE/record.yml": text.issue_form(package.resources["tuning"].schema),
        text.CITATION: text.citation_file(package),
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
