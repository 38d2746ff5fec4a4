"""The fixes that are certain, applied until none is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rl_resources.check import findings_in, targets_of
from rl_resources.check.rule import Edit, MakeExecutable, Move, Rewrite, Rule
from rl_resources.check.snapshot import ScriptFile, Snapshot
from rl_resources.check.target import ScriptText
from rl_resources.contribute.changes import Change, changes_between

MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Fixed:
    """The dataset after all fixes, how its files change, what was done and by which rules."""

    snapshot: Snapshot
    changes: tuple[Change, ...]
    done: tuple[str, ...]
    rules: tuple[str, ...]


def fix(
    snapshot: Snapshot, rules: Sequence[Rule], asked: Callable[[str], bool] = lambda _: True
) -> Fixed:
    """Apply the fixers of those `rules` that report something until nothing changes any more.

    Only files whose path is `asked` for change. Nothing is written.
    """
    done: dict[str, str] = {}
    now = snapshot
    fixable = [rule for rule in rules if rule.fixable]
    for _ in range(MOST_ROUNDS):
        before = now
        findings = findings_in(before, fixable, asked)
        for rule in fixable:
            for edit in _edits(
                now, rule, {item.path for item in findings if item.rule == rule.name}
            ):
                if asked(edit.path) and (after := _edited(now, edit)) is not now:
                    now = after
                    done[f"{edit.path}: {_in_words(edit)} ({rule.name})"] = rule.name
        if now is before:
            break
    names = tuple(dict.fromkeys(done.values()))
    return Fixed(now, tuple(changes_between(snapshot, now)), tuple(done), names)


def _edits(snapshot: Snapshot, rule: Rule, paths: set[str]) -> list[Edit]:
    """The edits of a rule's fixer for the files with findings."""
    if not paths:
        return []
    targets = targets_of(snapshot).get(rule.scope, tuple)()
    return [
        edit
        for target in targets
        if not isinstance(target, ScriptText) or target.path in paths
        for edit in rule.edits(target)
    ]


def _in_words(edit: Edit) -> str:
    match edit:
        case Move(_, to):
            return f"moved to {to}"
        case MakeExecutable():
            return "made executable"
    return "fixed"


def _edited(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """The snapshot after an edit; itself if the edit changes nothing."""
    tables, scripts = dict(snapshot.tables), list(snapshot.scripts)
    for name, table in snapshot.tables.items():
        if isinstance(edit, Rewrite) and table.path == edit.path:
            tables[name] = replace(table, data=edit.text.encode())
    for at, script in enumerate(scripts):
        if script.path == edit.path:
            scripts[at] = _edited_script(script, edit)
    same = all(tables[name].data == table.data for name, table in snapshot.tables.items())
    if same and tuple(scripts) == snapshot.scripts:
        return snapshot
    by_path = sorted(scripts, key=lambda script: script.path)
    return replace(snapshot, tables=tables, scripts=tuple(by_path))


def _edited_script(script: ScriptFile, edit: Edit) -> ScriptFile:
    match edit:
        case Rewrite(_, text):
            return replace(script, data=text.encode())
        case Move(_, to):
            return replace(script, path=to)
    return replace(script, executable=True)
