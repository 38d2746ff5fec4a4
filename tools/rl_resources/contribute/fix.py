"""The mends that are certain, made until nothing is left to make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rl_resources.check import findings_in, subjects_of
from rl_resources.check.rule import Edit, MakeExecutable, Move, Rewrite, Rule
from rl_resources.check.snapshot import ScriptFile, Snapshot
from rl_resources.check.subject import ScriptText
from rl_resources.contribute.proposal import Change, Proposal

MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the fixers did: the files as they shall be, and who changed which, in words."""

    proposal: Proposal
    done: tuple[str, ...]
    rules: tuple[str, ...]
    snapshot: Snapshot


def fix(
    snapshot: Snapshot, rules: Sequence[Rule], asked: Callable[[str], bool] = lambda _: True
) -> Fixed:
    """Apply the fixers of those `rules` that have something to say, again and again, until none
    changes anything. Only files whose path is `asked` for change. Nothing is written.
    """
    done: dict[str, str] = {}
    now = snapshot
    fixable = [rule for rule in rules if rule.fixable]
    for _ in range(MOST_ROUNDS):
        before = now
        told = findings_in(before, fixable, asked)
        for rule in fixable:
            paths = {item.path for item in told if item.rule == rule.name}
            for edit in _edits(now, rule, paths) if paths else ():
                if asked(edit.path) and (after := _edited(now, edit)) is not now:
                    now = after
                    done[_in_words(rule, edit)] = rule.name
        if now is before:
            break
    names = tuple(dict.fromkeys(done.values()))
    return Fixed(Proposal(tuple(_changes(snapshot, now))), tuple(done), names, now)


def _edits(snapshot: Snapshot, rule: Rule, paths: Collection[str]) -> list[Edit]:
    """What the fixer of a rule would do about what is told of these files."""
    subjects = subjects_of(snapshot).get(rule.scope, tuple)()
    if rule.scope == "script":
        subjects = [
            item for item in subjects if isinstance(item, ScriptText) and item.path in paths
        ]
    return [edit for subject in subjects for edit in rule.edits(subject)]


def _in_words(rule: Rule, edit: Edit) -> str:
    match edit:
        case Move(path, to):
            return f"{path}: moved to {to} ({rule.name})"
        case MakeExecutable(path):
            return f"{path}: made executable ({rule.name})"
    return f"{edit.path}: mended ({rule.name})"


def _edited(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """The snapshot after an edit; itself where the edit changes nothing."""
    for name, table in snapshot.tables.items():
        if isinstance(edit, Rewrite) and table.path == edit.path:
            data = edit.text.encode("utf-8")
            if data == table.data:
                return snapshot
            return replace(snapshot, tables={**snapshot.tables, name: replace(table, data=data)})
    scripts = [_edited_script(script, edit) for script in snapshot.scripts]
    if tuple(scripts) == snapshot.scripts:
        return snapshot
    return replace(snapshot, scripts=tuple(sorted(scripts, key=lambda script: script.path)))


def _edited_script(script: ScriptFile, edit: Edit) -> ScriptFile:
    if script.path != edit.path:
        return script
    match edit:
        case Rewrite(_, text):
            return replace(script, data=text.encode("utf-8"))
        case Move(_, to):
            return replace(script, path=to)
    return replace(script, executable=True)


def _changes(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """The files that differ. A script that moved is made anew before the old one goes."""
    for name, table in new.tables.items():
        if table.data != old.tables[name].data:
            yield Change(table.path, old.tables[name].data, table.data)
    before, after = _by_path(old.scripts), _by_path(new.scripts)
    for path, script in after.items():
        was = before.get(path)
        if script != was:
            executable = bool(script.executable) and not (was and was.executable)
            yield Change(path, was.data if was else None, script.data, executable)
    for path, script in before.items():
        if path not in after:
            yield Change(path, script.data, None)


def _by_path(scripts: Iterable[ScriptFile]) -> Mapping[str, ScriptFile]:
    return {script.path: script for script in scripts}
