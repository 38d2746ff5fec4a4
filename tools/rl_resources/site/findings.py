"""Findings as text for people, JSON and SARIF for tools, and GitHub workflow commands.

Each comes in pieces of text, as findings come: they may be more than fit in memory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TextIO
from urllib.parse import quote

from rl_resources.finding import Finding, Severity
from rl_resources.words import printable

_BOLD, _RED, _YELLOW, _CYAN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
_COLOURS = {"error": _RED, "warning": _YELLOW}


def as_text(findings: Iterable[Finding], *, coloured: bool = False) -> Iterator[str]:
    """Two lines a finding, `path:line:column: severity: rule: message` and `help: …`.

    Place, severity and rule may be `coloured`, as a terminal that can do so wants them.
    """
    return (_text_of(finding, _painted if coloured else _bare) for finding in findings)


def _text_of(finding: Finding, paint: Callable[[str, str], str]) -> str:
    place = paint(f"{printable(finding.path)}:{finding.line}:{finding.column}", _BOLD)
    severity = paint(finding.severity, _COLOURS[finding.severity])
    text = f"{place}: {severity}: {paint(finding.rule, _CYAN)}: {finding.message}\n"
    return text + (f"  help: {finding.help}\n" if finding.help else "")


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}"


def _bare(text: str, _: str) -> str:
    return text


def wants_colour(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows colours and whose user has not declined them.

    `NO_COLOR` declines where it holds anything (https://no-color.org); so does the terminal `dumb`.
    """
    declined = environment.get("NO_COLOR") or environment.get("TERM", "") in {"", "dumb"}
    return not declined and stream.isatty()


def as_json(findings: Iterable[Finding]) -> Iterator[str]:
    """A JSON list of objects, `[]` when there is nothing to say."""
    yield from _listed(finding.as_dict() for finding in findings)
    yield "\n"


def as_sarif(findings: Iterable[Finding], rules: Iterable[RuleText], version: str) -> Iterator[str]:
    """A SARIF 2.1.0 log, https://docs.oasis-open.org/sarif/sarif/v2.1.0/, with all `rules`."""
    driver = {
        "name": "rl-resources",
        "version": version,
        "rules": [_sarif_rule(rule) for rule in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": []}
    before, after = json.dumps({"version": "2.1.0", "runs": [run]}).rsplit("[]", 1)
    yield before
    yield from _listed(map(_sarif_result, findings))
    yield f"{after}\n"


def _listed(values: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON list, each value begun on a line of its own."""
    sign = "["
    for value in values:
        yield f"{sign}\n{json.dumps(value, indent=2)}"
        sign = ","
    yield "[]" if sign == "[" else "\n]"


class RuleText(Protocol):
    """What is said of a rule; `check.Rule` is one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def severity(self) -> str:
        """`error` or `warning`, which are SARIF's words too."""

    @property
    def summary(self) -> str:
        """What it wants."""

    @property
    def reason(self) -> str:
        """Why it wants that."""

    @property
    def bad(self) -> str:
        """What it objects to."""

    @property
    def good(self) -> str:
        """What it wants instead."""


def _sarif_rule(rule: RuleText) -> dict[str, Any]:
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
    """Text of a SARIF message, in which `[words](address)` would be a link (section 3.11.6)."""
    return re.sub(r"[\[\]](?=[^\[\]]*\]\(|\()", r"\\\g<0>", text)


def as_github(findings: Iterable[Finding]) -> Iterator[str]:
    """Workflow commands that annotate the lines of a pull request.

    Escapes as the runner unescapes: `%`, CR and LF in the message, also `:` and `,` in properties.
    """
    return (
        f"::{finding.severity} file={_property(finding.path)},line={finding.line},"
        f"col={finding.column},title={_property(finding.rule)}::"
        f"{_data(finding.message)}{_data(_help_line(finding))}\n"
        for finding in findings
    )


def _help_line(finding: Finding) -> str:
    return f"\nhelp: {finding.help}" if finding.help else ""


def _data(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def shown_diff(diff: str) -> str:
    """A diff with every sign that a terminal would not show, such as CR, as an escape."""
    return "".join(f"{printable(line)}\n" for line in diff.split("\n")[:-1])


def summary(findings: Iterable[Finding], looked_at: Mapping[str, int] | None = None) -> str:
    """One line that counts what was found; where that is nothing, what was `looked_at`."""
    return counted(Counter((item.severity, item.path) for item in findings), looked_at)


def counted(
    found: Mapping[tuple[Severity, str], int], looked_at: Mapping[str, int] | None = None
) -> str:
    """The same of findings by severity and path."""
    if not found:
        words = [_counted(count, word) or f"no {word}" for word, count in (looked_at or {}).items()]
        return f"No findings{' in ' if words else ''}{' and '.join(words)}."
    counts: Counter[Severity] = Counter()
    for (severity, _), count in found.items():
        counts[severity] += count
    words = [_counted(counts[severity], severity) for severity in ("error", "warning")]
    files = len({path for _, path in found})
    return f"{' and '.join(filter(None, words))} in {_counted(files, 'file')}."


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}" if count else ""
