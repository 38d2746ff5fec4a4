"""The body of an issue form as GitHub renders it: `### title`, a blank line, the answer.

Titles are those of the columns. A code block that starts a program is the script, what stands under
`Log` the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rl_resources.contribute.fact import Fact, Facts, cell
from rl_resources.package import TableSchema
from rl_resources.words import nearest, shown

NO_ANSWER = frozenset({"_no response_", "none", "n/a", "-"})
_HEADING = re.compile(r"###\s+(\S.*?)\s*#*\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([\w+-]*)\s*")
_LAUNCH = re.compile(r"\bpython3?\b|\bray job submit\b|\btorchrun\b|^#!.*sh\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody filled in. `script` and `log` are pasted text, empty where there is none."""

    facts: Facts
    script: str
    log: str
    remarks: tuple[str, ...]


def read_form(body: str, schema: TableSchema) -> Form:
    """Read the body of an issue. A title that is no column's is passed over."""
    columns = {field.title.lower(): field for field in schema.fields}
    facts: dict[str, Fact] = {}
    remarks: list[str] = []
    script = log = ""
    for title, answer in _sections(body):
        block = _code(answer)
        field = columns.get(title.lower())
        if title.lower() == "log":
            log = log or _text(answer if block is None else block)
        elif block is not None:
            script = script or (block if _LAUNCH.search(block) else "")
        elif field is not None and field.name != "script" and answer.lower() not in NO_ANSWER:
            fact = cell(field, answer)
            facts.setdefault(field.name, fact)
            if fact.doubt:
                remarks.append(f"`{field.title}`: {fact.doubt}")
        elif field is None and answer.lower() not in NO_ANSWER:
            likely = nearest(title, columns)
            if likely.words:
                remarks.append(f"`{shown(title)}` is no column. {likely.sentence()}")
    return Form(facts, script, log, tuple(remarks))


def _text(answer: str) -> str:
    return "" if answer.strip().lower() in {"", *NO_ANSWER} else answer


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Titles with their answers; what looks like a title inside a code block is none."""
    title, lines, fence = "", list[str](), ""
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            if title:
                yield title, "\n".join(lines).strip()
            title, lines = heading[1], []
            continue
        fence = _fence_after(line, fence)
        lines.append(line)
    if title:
        yield title, "\n".join(lines).strip()


def _fence_after(line: str, fence: str) -> str:
    """The sign of the code block that is open after a line; empty where none is."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    return "" if match[1].startswith(fence) and not match[2] else fence


def _code(answer: str) -> str | None:
    """The code block that an answer is; `None` where it is none."""
    lines = answer.split("\n")
    first = _FENCE.fullmatch(lines[0])
    if first is None:
        return None
    closed = len(lines) > 1 and lines[-1].strip() == first[1]
    return "\n".join(lines[1 : -1 if closed else None]) + "\n"
