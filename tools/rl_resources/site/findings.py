"""Findings as text for people, JSON and SARIF for tools, and GitHub workflow commands.

JSON and SARIF have every finding; text for people has repeated ones once.
"""

from __future__ import annotations

import os
import re
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from rl_resources.dataset import grouped
from rl_resources.errors import Finding, InvalidDataset, RlResourcesError
from rl_resources.text import json_text, printable

if TYPE_CHECKING:
    from rl_resources.rule import Rule

_BOLD, _RED, _YELLOW, _CYAN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
_COLORS = {"error": _RED, "warning": _YELLOW}


MOST_ALIKE = 5
"""Findings that people are shown each by itself where they differ by record and value alone."""
_RECORD_OR_VALUE = re.compile(r" of .+? is |`[^`]*`|[0-9]+")


def without_repeats(findings: Iterable[Finding]) -> list[Finding]:
    """For people: of one mistake in many cells of a column the first, with their number."""
    shown: list[Finding] = []
    for alike in grouped(findings, _kind).values():
        if len(alike) > MOST_ALIKE:
            others = f"and {len(alike) - 1} more like it in this file"
            alike = [alike[0]._replace(message=f"{alike[0].message}, {others}")]
        shown += alike
    return sorted(shown, key=attrgetter("position"))


def _kind(item: Finding) -> tuple[str, ...]:
    """What alike findings share. Scripts are short, and their findings are each of its own."""
    in_table = not item.path.endswith((".sh", ".rst"))
    what = _RECORD_OR_VALUE.sub("", item.message) if in_table else str(item.position)
    return item.rule, item.path, what


def as_text(findings: Iterable[Finding], *, color: bool = False) -> Iterator[str]:
    """Two lines a finding, `path:line:column: severity: rule: message` and `help: …`.

    Place, severity and rule are colored for a terminal with `color`.
    """
    for item in without_repeats(findings):
        place = f"{printable(item.path)}:{item.line}:{item.column}"
        words = [(place, _BOLD), (item.severity, _COLORS[item.severity]), (item.rule, _CYAN)]
        head = [f"{code}{word}{_PLAIN}" if color else word for word, code in words]
        help_line = f"  help: {item.help}\n" if item.help else ""
        yield f"{': '.join(head)}: {item.message}\n{help_line}"


def error_as_text(error: BaseException) -> str:
    """The findings of broken data, our own messages; of anything else where it was raised."""
    if isinstance(error, InvalidDataset):
        return "".join(as_text(error.findings))
    if isinstance(error, RlResourcesError):
        return f"{error}\n" + (f"  help: {error.help}\n" if error.help else "")
    return "".join(traceback.format_exception(error))


def wants_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colors and whose user has not declined them.

    `NO_COLOR` declines where it is not empty (https://no-color.org); so does the terminal `dumb`.
    """
    declined = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in {"", "dumb"}
    return not declined and stream.isatty()


def as_json(findings: Iterable[Finding]) -> Iterator[str]:
    """A JSON list of objects, `[]` when there is nothing to say."""
    yield json_text([finding._asdict() for finding in findings], 2)


def as_sarif(findings: Iterable[Finding], rules: Iterable[Rule], version: str) -> Iterator[str]:
    """A SARIF 2.1.0 log, https://docs.oasis-open.org/sarif/sarif/v2.1.0/, with all `rules`."""
    described = [_sarif_rule(rule) for rule in rules]
    driver = {"name": "rl-resources", "version": version, "rules": described}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding) for finding in findings],
    }
    yield json_text({"version": "2.1.0", "runs": [run]}, 2)


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.reason},
        "help": {"text": f"Bad: {rule.bad}\nGood: {rule.good}\nPage: /rules/#{rule.name}"},
        "defaultConfiguration": {"level": rule.severity},
    }


def _sarif_result(finding: Finding) -> dict[str, Any]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    place = {"artifactLocation": {"uri": quote(finding.path)}, "region": region}
    return {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": _unlinked(f"{finding.message}{_help_line(finding)}")},
        "locations": [{"physicalLocation": place}],
    }


def _unlinked(text: str) -> str:
    """Text of a SARIF message, in which `[words](URL)` would be a link (section 3.11.6)."""
    return re.sub(r"[\[\]](?=[^\[\]]*\]\(|\()", r"\\\g<0>", text)


def as_github(findings: Iterable[Finding]) -> Iterator[str]:
    """Workflow commands that annotate the lines of a pull request.

    Escapes as the runner unescapes: `%`, CR and LF in the message, also `:` and `,` in properties.
    """
    for finding in without_repeats(findings):
        place = f"file={_property(finding.path)},line={finding.line},col={finding.column}"
        text = _data(finding.message + _help_line(finding))
        yield f"::{finding.severity} {place},title={_property(finding.rule)}::{text}\n"


def _help_line(finding: Finding) -> str:
    return f"\nhelp: {finding.help}" if finding.help else ""


def _data(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(findings: Iterable[Finding], looked_at: Mapping[str, int] | None = None) -> str:
    """A line that counts what was found, or else what was `looked_at`."""
    found = list(findings)
    if not found:
        words = [_counted(count, word) for word, count in (looked_at or {}).items()]
        return f"No findings{' in ' if words else ''}{' and '.join(words)}."
    files = len({item.path for item in found})
    severities = Counter(item.severity for item in found)
    words = [_counted(severities[one], one) for one in ("error", "warning") if severities[one]]
    return f"{' and '.join(words)} in {_counted(files, 'file')}."


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'s' if count != 1 else ''}"
