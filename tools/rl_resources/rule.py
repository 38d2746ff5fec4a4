"""What a rule is: a generator under `@rule()` whose docstring documents it.

The first paragraph of that docstring is the summary, the second the reason, the third has one small
example each after `Bad:` and `Good:`. What follows is for readers of the code. The rule is called
as its function, with `-` in place of `_`.

Where its fix is certain, `fix_` and its name is a generator of edits, its fixer. A fixer writes
nothing, leaves doubtful cases alone, and every byte outside of the lines that it changes stays as
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Literal, NamedTuple

from rl_resources.errors import Finding, Severity
from rl_resources.text import printable

Scope = Literal["dataset", "script", "pair", "page", "outcome"]
"""What a rule looks at: a `Snapshot`, a `ScriptText`, a `Pair`, a page as `Reading`, or what the
other rules found, as `Outcome`.
"""


Place = tuple[str, int, int]
"""Path, line and column. Line 0 is the whole file, column 0 the whole line."""


class Mistake(NamedTuple):
    """One place that breaks a rule: a finding before it knows its rule.

    `about` are other places of the same mistake, such as its other side: see `Rule.follows`.
    """

    path: str
    line: int
    column: int
    message: str
    help: str
    about: tuple[Place, ...] = ()

    @property
    def places(self) -> frozenset[Place]:
        """All places that the mistake is about."""
        return frozenset({(self.path, self.line, self.column), *self.about})


class Edit(NamedTuple):
    """What a fixer does to a file: new values of `fields` of its `Table` or `ScriptFile`."""

    path: str
    fields: Mapping[str, Any]
    done: str = "fixed"


Lines = Mapping[int, str | None]
"""New text by line number, without the line's end; `None` removes the line."""
Check = Callable[[Any], Iterable[Mistake]]
Fixer = Callable[[Any], Iterable[Edit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its documentation. `bad` and `good` are one small example each.

    A row that is true can be exempt from an `exemptable` rule, and from any about its script.
    `follows` are the rules, or families of rules, that explain its mistakes: one about a place
    where any of them found a mistake is a consequence and is not reported.
    `style` is how we write shell: it is not asked of scripts elsewhere unless they ask for it.
    `family`, `scope` and `fixer` are filled in where all rules are listed.
    """

    name: str
    severity: Severity
    summary: str
    reason: str
    bad: str
    good: str
    mistakes: Check
    exemptable: bool = False
    follows: tuple[str, ...] = ()
    style: bool = False
    family: str = ""
    scope: Scope = "dataset"
    fixer: Fixer | None = None

    def lines(self, target: object) -> set[int]:
        """The lines in which it finds mistakes, for its fixer."""
        return {mistake.line for mistake in self.mistakes(target)}

    def finding(self, mistake: Mistake) -> Finding:
        """A mistake as it is reported."""
        return Finding(
            self.name,
            self.severity,
            mistake.path,
            mistake.line,
            mistake.column,
            printable(mistake.message),
            printable(mistake.help),
        )


def rule(
    severity: Severity = "error",
    *,
    exemptable: bool = False,
    follows: Sequence[str] = (),
    style: bool = False,
) -> Callable[[Check], Rule]:
    """Make a rule of the decorated generator."""

    def made(check: Check) -> Rule:
        name = str(check.__name__).replace("_", "-")
        summary, reason, examples, *_ = paragraphs(check.__doc__ or "")
        bad, good = examples.removeprefix("Bad: ").split(" Good: ")
        return Rule(
            name,
            severity,
            summary,
            reason,
            bad,
            good,
            check,
            exemptable,
            tuple(follows),
            style,
        )

    return made


def paragraphs(docstring: str) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [" ".join(part.split()) for part in cleandoc(docstring).split("\n\n")]


def rewritten(path: str, text: str) -> Edit:
    """A file's new text."""
    return Edit(path, {"data": text.encode()})


def with_lines(text: str, lines: Lines) -> str:
    """The text with these lines replaced, each with the line's own end."""
    kept: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        new = lines.get(number, line)
        if new is None:
            continue
        if line.endswith("\r") and new != line:
            new += "\r"
        kept.append(new)
    return "\n".join(kept)
