"""Cells that somebody states, on the command line or in an issue form, in the dataset's words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rl_resources.check import all_rules
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.facts.models import slug_of
from rl_resources.facts.words import Fact, one_line, read_word
from rl_resources.script.name import PARTS
from rl_resources.text import nearest, shown

NO_ANSWER = frozenset({"", "_no response_", "none", "n/a", "-"})
_HEADING_OR_CODE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?^[ \t]*\1[ \t]*$|^###[ \t]+(?P<title>\S[^\n]*?)[ \t#]*$",
    re.MULTILINE | re.DOTALL,
)
_CODE = re.compile(r"\A(`{3,}|~{3,})[^\n]*\n(.*?)[ \t]*\1\s*\Z", re.DOTALL)


Facts = Mapping[str, Fact]
"""By column."""


def first_known(sources: Iterable[Facts]) -> Facts:
    """For each column the first fact that is known, else the first doubt, else an empty fact."""
    found: defaultdict[str, Fact] = defaultdict(Fact)
    for facts in sources:
        for column, fact in facts.items():
            before = found[column]
            is_better = fact.text or not before.doubt
            if is_better and not before.text:
                found[column] = fact
    return found


def script_name(cells: Mapping[str, str]) -> str:
    """The file name that the cells of a row make; empty if one of its parts is."""
    parts = {part: cells[part].lower() for part in PARTS}
    parts["model"] = slug_of(parts["model"])
    if not all(parts.values()):
        return ""
    return "_".join(parts.values()) + ".sh"


def stated_facts(pairs: Iterable[str], dataset: Dataset) -> dict[str, Fact]:
    """Cells as `--set` states them, each as `column=value`.

    Raises `UnusableInput` for an unknown column, or a value that it cannot have.
    """
    found: dict[str, Fact] = {}
    columns = [*dataset.package.resources["tuning"].schema.names]
    columns.remove("script")
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in columns:
            listed = ", ".join(columns)
            help_ = nearest(name, columns).sentence() or f"Its columns are {listed}."
            raise UnusableInput(f"--set {shown(pair)}: is not COLUMN=VALUE of a record", help_)
        fact = read_word(dataset, name, value)
        if fact.doubt:
            raise UnusableInput(f"--set {shown(pair)}: {fact.why_empty}")
        found[name] = fact
    return found


def may_be_exempt(rule: str) -> bool:
    """Whether who adds a record may state its exemption: that of a run that is as it is."""
    known = all_rules().get(rule)
    if known is None or known.severity != "warning":
        return False
    return known.family in {"agreement", "releases", "running", "data"}


@dataclass(frozen=True, slots=True)
class Form:
    """The answers of an issue form; `script` and `log` are pasted text, empty where there is none.

    `exempt` has a reason by rule, `remarks` say which answers cannot be used.
    """

    facts: Facts = field(default_factory=dict)
    script: str = ""
    log: str = ""
    exempt: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def read_form(body: str, dataset: Dataset) -> Form:
    """Read the body of an issue as GitHub renders a form: `### title`, an empty line, the answer.

    The titles are those of the columns, `Script`, `Log` and `Exemption`, below which each line is
    `rule: reason`; other titles are ignored.
    """
    answers = {}
    for title, text in _sections(body):
        answer = text.strip()
        if title and answer.lower() not in NO_ANSWER:
            answers[title] = answer

    facts = {}
    remarks = []
    for column in dataset.package.resources["tuning"].schema.fields:
        title = column.title.lower()
        if title not in answers or column.name == "script":
            continue
        fact = read_word(dataset, column.name, answers[title])
        facts[column.name] = fact
        if fact.doubt:
            remarks.append(f"`{column.title}`: {fact.why_empty}")

    reasons = {}
    for line in answers.get("exemption", "").splitlines():
        rule, _, reason = line.partition(":")
        reasons[rule.strip()] = one_line(reason)
    exempt = {}
    for rule, reason in reasons.items():
        if may_be_exempt(rule):
            exempt[rule] = reason
        else:
            remarks.append(f"no record can be exempt from `{shown(rule)}`")

    script = _CODE.sub(r"\2", answers.get("script", ""))
    log = _CODE.sub(r"\2", answers.get("log", ""))
    return Form(facts, script, log, exempt, tuple(remarks))


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Titles in lower case, each with the text below; a line of a code block is no title.

    The title of what stands above the first one is empty.
    """
    text = re.sub(r"\r\n?", "\n", body)
    title = ""
    begin = 0
    for found in _HEADING_OR_CODE.finditer(text):
        if found["title"]:
            yield title, text[begin : found.start()]
            title = found["title"].lower()
            begin = found.end()
    yield title, text[begin:]
