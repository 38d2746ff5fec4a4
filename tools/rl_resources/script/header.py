"""What the header of a script says of its data: lines with a label in the comment at its top.

`# Data:` names what prepares the data, with their `data_source` in parentheses. `# Reward:` says
what the reader has to provide, and where it is published. A line that is indented further goes on
with the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LABELED = re.compile(r"# (?P<label>\w+): +(?P<text>\S.*)")
_MORE = re.compile(r"# {5,}(?P<text>\S.*)")
_DATA_SOURCE = re.compile(r"\(data_source ([^()]+)\)")
_URL = re.compile(r"https://[^\s,;]+")


@dataclass(frozen=True)
class HeaderLine:
    """A labeled line of a header, joined with those that go on with it; `line` is the first."""

    label: str
    text: str
    line: int

    @property
    def data_sources(self) -> tuple[str, ...]:
        """Each `data_source` that it names, without those from a variable."""
        lists = _DATA_SOURCE.findall(self.text)
        names = [name.strip() for name in ",".join(lists).split(",")]
        return tuple(name for name in names if name and "$" not in name)

    @property
    def names_a_place(self) -> bool:
        """Whether it says where something is published."""
        return _URL.search(self.text) is not None


def header_lines(text: str) -> tuple[HeaderLine, ...]:
    """The labeled lines of the comment at the top of a script."""
    return tuple(_joined(text))


def _joined(text: str) -> Iterator[HeaderLine]:
    found: HeaderLine | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("#"):
            break
        more = _MORE.fullmatch(line)
        if found and more:
            found = HeaderLine(found.label, f"{found.text} {more['text']}", found.line)
            continue
        if found:
            yield found
            found = None
        labeled = _LABELED.fullmatch(line)
        if labeled:
            found = HeaderLine(labeled["label"], labeled["text"], number)
    if found:
        yield found
