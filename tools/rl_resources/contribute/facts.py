"""Cells that somebody states, on the command line or in an issue form, in the dataset's words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

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
            if not before.text and (fact.text or not before.doubt):
                found[column] = fact
    return found


def script_name(cells: Mapping[str, str]) -> str:
    """The file name that the cells of a row make; empty if one of its parts is."""
    parts = {part: cells[part].lower() for part in PARTS}
    parts["model"] = slug_of(parts["model"])
    return "_".join(parts.values()) + ".sh" if all(parts.values()) else ""


def stated_facts(pairs: Iterable[str], dataset: Dataset) -> dict[str, Fact]:
    """Cells as `--set` states them, each as `column=value`.

    Raises `UnusableInput` for an unknown column, or a value that it cannot have.
    """
    found: dict[str, Fact] = {}
    names = dataset.package.resources["tuning"].schema.names
    columns = [name for name in names if name != "script"]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in columns:
            help_ = nearest(name, columns).sentence() or f"Its columns are {', '.join(columns)}."
            raise UnusableInput(f"--set {shown(pair)}: is not COLUMN=VALUE of a record", help_)
        found[name] = read_word(dataset, name, value)
        if found[name].doubt:
            raise UnusableInput(f"--set {shown(pair)}: {found[name].why_empty}")
    return found


def may_be_exempt(rule: str) -> bool:
    """Whether who adds a record may state its exemption: that of a run that is as it is."""
    known, families = all_rules().get(rule), {"agreement", "releases", "running", "data"}
    return known is not None and known.severity == "warning" and known.family in families


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
    answers = dict(_answers(body))
    fields = dataset.package.resources["tuning"].schema.fields
    asked = [it for it in fields if it.title.lower() in answers and it.name != "script"]
    facts = {it.name: read_word(dataset, it.name, answers[it.title.lower()]) for it in asked}
    doubts = ((it.title, facts[it.name]) for it in asked)
    remarks = [f"`{title}`: {fact.why_empty}" for title, fact in doubts if fact.doubt]
    lines = (line.partition(":") for line in answers.get("exemption", "").splitlines())
    reasons = {rule.strip(): one_line(reason) for rule, _, reason in lines}
    exempt = {rule: reason for rule, reason in reasons.items() if may_be_exempt(rule)}
    refused = (rule for rule in reasons if rule not in exempt)
    remarks += [f"no record can be exempt from `{shown(rule)}`" for rule in refused]
    script, log = (answers.get(name, "") for name in ("script", "log"))
    return Form(facts, _CODE.sub(r"\2", script), _CODE.sub(r"\2", log), exempt, (*remarks,))


def _answers(body: str) -> Iterator[tuple[str, str]]:
    """Titles in lower case with their answers; a line of a code block is no title."""
    text = re.sub(r"\r\n?", "\n", body)
    headings = [item for item in _HEADING_OR_CODE.finditer(text) if item["title"]]
    for heading, after in zip_longest(headings, headings[1:]):
        answer = text[heading.end() : after.start() if after else None].strip()
        if answer.lower() not in NO_ANSWER:
            yield heading["title"].lower(), answer
