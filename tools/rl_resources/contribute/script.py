"""A training script as a value, and the one writer of its text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rl_resources.words import printable

WIDTH = 100
_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_READS_VARIABLE = re.compile(r"\$\{\w+\}")


@dataclass(frozen=True)
class Script:
    """What a script says, in the order in which it says it.

    `facts` are the lines of the header by their label, `remarks` its paragraphs. `variables` maps
    the title of each section to names and defaults. `overrides` maps the name of each array to
    keys and values; a value may read a variable as `${NAME}`.
    """

    facts: Mapping[str, str]
    remarks: Sequence[str]
    variables: Mapping[str, Mapping[str, str]]
    module: str
    choices: Mapping[str, str]
    overrides: Mapping[str, Mapping[str, str]]

    def text(self) -> str:
        """The script in bash."""
        blocks = [
            "#!/usr/bin/env bash\n#",
            "\n".join(_header(self.facts, self.remarks)),
            "\nset -euo pipefail",
            *(_variables(title, names) for title, names in self.variables.items() if names),
            *(_array(name, items) for name, items in self.overrides.items() if items),
            _launch(self.module, self.choices, [n for n, items in self.overrides.items() if items]),
        ]
        return blocks[0] + "\n" + "\n".join(blocks[1:])


def _header(facts: Mapping[str, str], remarks: Sequence[str]) -> list[str]:
    width = max(map(len, facts)) + 2
    lines = [f"# {f'{label}:':<{width}}{printable(text)}" for label, text in facts.items()]
    for remark in remarks:
        lines.append("#")
        bullet = remark.startswith("- ")
        lines += textwrap.wrap(
            printable(remark),
            WIDTH,
            initial_indent="#   " if bullet else "# ",
            subsequent_indent="#     " if bullet else "# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return _joined_bullets(lines)


def _joined_bullets(lines: Sequence[str]) -> list[str]:
    """The lines without the blank ones before a point of a list."""
    return [
        line
        for at, line in enumerate(lines)
        if not (line == "#" and lines[at + 1].startswith("#   - "))
    ]


def _variables(title: str, names: Mapping[str, str]) -> str:
    lines = [f"{name}=${{{name}:-{default}}}" for name, default in names.items()]
    return "\n".join([f"\n# {title}", *lines])


def _array(name: str, items: Mapping[str, str]) -> str:
    lines = [f"    {_override(key, value)}" for key, value in items.items()]
    return "\n".join([f"\n{name}=(", *lines, ")"])


def _override(key: str, value: str) -> str:
    if _READS_VARIABLE.fullmatch(value):
        return f'{key}="{value}"'
    return f"{key}={value}" if _PLAIN.fullmatch(value) else f"'{key}={value}'"


def _launch(module: str, choices: Mapping[str, str], arrays: Sequence[str]) -> str:
    chosen = "".join(f" {key}={value}" for key, value in choices.items())
    arguments = [f'    "${{{name}[@]}}" \\' for name in arrays]
    return "\n".join([f"\npython3 -m {module}{chosen} \\", *arguments, '    "$@"\n'])
