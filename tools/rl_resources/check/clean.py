"""Scripts and claims in which no rule found anything, remembered by all that the rules look at.

To read and evaluate a script costs more than all else that a check does. A verdict holds for the
same rules, the same words and the same code, wherever in its file a row stands; what has a finding
is judged each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rl_resources.cache import cache_folder, keep, own_code
from rl_resources.check.registry import Rule
from rl_resources.check.script import shellcheck
from rl_resources.check.subject import Claim, ScriptText
from rl_resources.finding import Finding


def findings(rules: Sequence[Rule], subjects: Iterable[object]) -> Iterator[Finding]:
    """What rules of one scope say of its subjects, of which those known to be clean are spared."""
    for subject in subjects:
        known = _verdict(rules, subject)
        if known and known.exists():
            continue
        told = [finding for rule in rules for finding in rule.findings(subject)]
        if known and not told and not _in_doubt(subject):
            keep(known, "")
        yield from told


def _in_doubt(subject: object) -> bool:
    return isinstance(subject, ScriptText) and shellcheck.silent(subject.text)


def _verdict(rules: Sequence[Rule], subject: object) -> Path | None:
    """The file that says that a subject is clean; `None` for one that is no script or claim."""
    if isinstance(subject, Claim):
        subject = _anywhere(subject)
    elif not isinstance(subject, ScriptText):
        return None
    text = repr((own_code(), shellcheck.engine(), [rule.name for rule in rules], subject))
    key = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return cache_folder("clean") / key


def _anywhere(claim: Claim) -> Claim:
    """A claim without its place, which decides where a finding is told and not whether."""
    said = {name: replace(fact, line=0, column=0) for name, fact in claim.said.items()}
    return replace(claim, said=said)
