"""Scripts and claims in which no rule found anything, remembered by all that the rules look at.

To read and evaluate a script costs more than all else that a check does. A verdict holds for the
same rules, the same code and the same words, of a row those that the rules asked for, wherever in
its file it stands; what has a finding is judged each time.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rl_resources.cache import cache_folder, keep, kept_json, own_code
from rl_resources.check.registry import Rule
from rl_resources.check.script import shellcheck
from rl_resources.check.subject import Claim, Said, ScriptText
from rl_resources.finding import Finding

MOST_AHEAD = 2


def findings(rules: Sequence[Rule], subjects: Iterable[object]) -> Iterator[Finding]:
    """What rules of one scope say of its subjects, of which those known to be clean are spared."""
    for subject in subjects:
        if isinstance(subject, Claim):
            yield from _findings_of_claim(rules, subject)
        elif isinstance(subject, ScriptText):
            yield from _findings_of_script(rules, subject)
        else:
            yield from _judged(rules, subject)


def announced(rules: Sequence[Rule], subjects: Iterable[object]) -> Iterator[object]:
    """The subjects, each given when ShellCheck has begun on those scripts that come next and are
    not known to be clean.

    What it takes for a script is about what all other rules take for one, on another core.
    """
    waiting: deque[object] = deque()
    asking, _ = _parted(rules)
    for subject in subjects:
        if asking and isinstance(subject, ScriptText):
            _announce(asking, subject)
        waiting.append(subject)
        if len(waiting) > MOST_AHEAD:
            yield waiting.popleft()
    yield from waiting


def _announce(asking: Sequence[Rule], script: ScriptText) -> None:
    if not _verdict(asking, script, shellcheck.engine()).exists():
        shellcheck.start(script.text)


def _judged(rules: Sequence[Rule], subject: object) -> list[Finding]:
    return [finding for rule in rules for finding in rule.findings(subject)]


def _findings_of_script(rules: Sequence[Rule], script: ScriptText) -> list[Finding]:
    """The verdict of those that ask ShellCheck stands apart: who does not ask it needs none."""
    asking, others = _parted(rules)
    told = _told(others, script)
    return told + _told(asking, script, shellcheck.engine()) if asking else told


def _parted(rules: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Those that ask ShellCheck, and all others."""
    asking = [rule for rule in rules if rule.name in shellcheck.RULES]
    return asking, [rule for rule in rules if rule.name not in shellcheck.RULES]


def _told(rules: Sequence[Rule], script: ScriptText, engine: str = "") -> list[Finding]:
    verdict = _verdict(rules, script, engine)
    if verdict.exists():
        return []
    told = _judged(rules, script)
    if not told and not (engine and shellcheck.silent(script.text)):
        keep(verdict, "")
    return told


def _findings_of_claim(rules: Sequence[Rule], claim: Claim) -> list[Finding]:
    """Remembered are the columns that the rules asked for when it was clean, and by a file of its
    own each answer: who asks the same and is answered the same comes to the same end.
    """
    asked = _verdict(rules, replace(claim, said={}))
    columns = _columns(asked)
    if columns is not None and _answered(asked, claim.said, columns).exists():
        return []
    noted = _Noted(claim.said)
    told = _judged(rules, replace(claim, said=noted))
    if not told and not noted.all_asked:
        keep(asked, json.dumps(sorted(noted.asked)))
        keep(_answered(asked, claim.said, noted.asked), "")
    return told


class _Noted(Mapping[str, Said]):
    """What a claim says, which notes the columns that are asked for."""

    def __init__(self, said: Mapping[str, Said]) -> None:
        self._said = said
        self.asked: set[str] = set()
        self.all_asked = False

    def __getitem__(self, column: str) -> Said:
        self.asked.add(column)
        return self._said[column]

    def __iter__(self) -> Iterator[str]:
        self.all_asked = True
        return iter(self._said)

    def __len__(self) -> int:
        self.all_asked = True
        return len(self._said)


def _columns(asked: Path) -> list[str] | None:
    columns = kept_json(asked)
    texts = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    return columns if texts else None


def _answered(asked: Path, said: Mapping[str, Said], columns: Iterable[str]) -> Path:
    """The file that says that a claim is clean with these cells, without their place, which decides
    where a finding is told and not whether.
    """
    texts = [(column, said[column].text) for column in sorted(columns) if column in said]
    return asked.with_name(_digest(repr((asked.name, sorted(columns), texts))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _verdict(rules: Sequence[Rule], subject: ScriptText | Claim, engine: str = "") -> Path:
    """The file that says that a subject is clean by these rules, and by the `engine` they ask."""
    text = repr((own_code(), engine, [rule.name for rule in rules], subject))
    return cache_folder("clean") / _digest(text)
