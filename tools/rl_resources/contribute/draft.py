"""The command `draft`: a record from a script that ran, its log, an issue form and `--set`.

Three steps: `read` the sources, `merge` them into a row, `check` it in the dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rl_resources.check import all_rules, findings_of
from rl_resources.contribute import (
    Change,
    Fixed,
    changes_between,
    findings_about,
    fix,
    with_rows,
    with_script,
    write_changes,
)
from rl_resources.contribute.merge import Proposal, Sources, merge
from rl_resources.contribute.sources import (
    Form,
    first_known,
    read_form,
    say,
    stated_facts,
)
from rl_resources.contribute.training_log import TrainingLog, read_log, read_log_file
from rl_resources.dataset import Dataset, typed_dataset
from rl_resources.errors import Finding, UnusableInput
from rl_resources.files import read_text
from rl_resources.package import read_package
from rl_resources.query.estimate import is_of_verl
from rl_resources.script.framework.shipped import support
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.snapshot import (
    LARGEST_SCRIPT_BYTES,
    ScriptFile,
    Snapshot,
    take_snapshot,
)
from rl_resources.text import shown

LARGEST_FORM_BYTES = 256 * 2**10
"""GitHub takes 65,536 characters."""


def draft(
    root: Path, script: str, *, log: str, issue: str, stated: Iterable[str], write: bool
) -> Draft:
    """Draft a record; with `write`, add it unless a rule reports something. An empty name: no file.

    Raises `UnusableInput` for a file or an argument that cannot be used, and `InvalidDataset`.
    """
    package = read_package(root)
    snapshot = take_snapshot(package)
    dataset = typed_dataset(package, snapshot.tables)
    sources = read(dataset, script, log=log, issue=issue, stated=stated)
    record = merge(sources, dataset, snapshot)
    if record.lacks and sources.script.framework == FRAMEWORK:
        _refuse_other_start(sources.script)
    drafted = check(record, snapshot, write=write)
    write_changes(root, drafted.written)
    return drafted


def _refuse_other_start(script: ScriptText) -> None:
    """Raise `UnusableInput` for a script that starts anything but RL with the framework."""
    if script.script.problems or script.broken_continuations:
        return
    module = ""
    fork = ""
    started = [*script.trainings, *script.launches]
    if started:
        module = started[0].module
        fork = support(FRAMEWORK).fork(module)
    if script.trainings and is_of_verl(script.trainings[0]) and not fork:
        return
    other = say("other_start", FRAMEWORK, module, fork, bool(script.trainings))
    raise UnusableInput(
        f"{shown(script.path, 500)}: {other}, so there is no record to draft",
        "Name the script that starts the training, as with `verl.trainer.main_ppo`.",
    )


def read(
    dataset: Dataset, script: str, *, log: str, issue: str, stated: Iterable[str]
) -> Sources:
    """The sources in these files, and the cells that are stated."""
    form = Form()
    if issue:
        help_ = "Name a file with the text of your issue, in UTF-8."
        form = read_form(read_text(Path(issue), LARGEST_FORM_BYTES, help_), dataset)
    text = form.script
    if script:
        text = read_text(
            Path(script), LARGEST_SCRIPT_BYTES, "Name your own shell script."
        )
    if len(text) > LARGEST_SCRIPT_BYTES:
        raise UnusableInput(
            f"{shown(issue, 500)}: the script has more than {LARGEST_SCRIPT_BYTES >> 10} KiB",
            "Paste the script alone, without data or a log.",
        )
    if not text:
        help_ = "Name the script that ran, or paste it into the form of --issue."
        raise UnusableInput("draft: there is no script", help_)
    facts = stated_facts(stated, dataset)
    framework = first_known([facts, form.facts])["framework"].text
    name = script or "script.sh"
    return Sources(
        ScriptText(name, text, framework=framework or FRAMEWORK),
        _read_log(log, form.log),
        form,
        facts,
    )


def _read_log(name: str, pasted: str) -> TrainingLog:
    """The named log, otherwise the one pasted into the form; an empty one without either."""
    if name:
        try:
            return read_log_file(Path(name))
        except OSError as error:
            raise UnusableInput(
                f"{shown(name, 500)}: cannot be read: {error.strerror}",
                "Name the log of your own run.",
            ) from error
    if pasted:
        return read_log(pasted.splitlines(keepends=True), "`Log`")
    return TrainingLog()


def check(record: Proposal, snapshot: Snapshot, *, write: bool) -> Draft:
    """Add a record to the dataset, fix its script where that is certain, and ask all rules.

    If it lacks something, nothing changes and only its script is checked. `write` says whether to
    write its files. Raises `UnusableInput` where a table cannot take a row.
    """
    if record.lacks:
        script = record.sources.script
        lasting = [rule for rule in all_rules().values() if not rule.fixer]
        found = findings_of(lasting, {"script": lambda: [script]})
        return Draft(record, (), (), found, write)
    after = _with_record(snapshot, record)
    found = findings_about(snapshot, after)
    fixed = Fixed(after, {})
    if found:
        fixed = fix(after, all_rules().values(), record.path.__eq__)
    if fixed.done:
        left = {item.rule for item in findings_about(snapshot, fixed.snapshot)}
        found = [item for item in found if item.rule in left]
    return Draft(
        record,
        tuple(changes_between(snapshot, fixed.snapshot)),
        tuple(dict.fromkeys(fixed.done.values())),
        list(_in_own_script(record, found)),
        write,
    )


def _with_record(snapshot: Snapshot, record: Proposal) -> Snapshot:
    """The dataset with the row of a record, its exemptions and its script."""
    exempt = [
        {"record": record.name, "rule": rule, "reason": reason}
        for rule, reason in record.sources.form.exempt.items()
    ]
    after = with_rows(snapshot, {"tuning": [record.row], "exemptions": exempt})
    return with_script(
        after,
        ScriptFile(record.path, record.sources.script.text.encode(), executable=True),
    )


def _in_own_script(record: Proposal, found: Iterable[Finding]) -> Iterator[Finding]:
    """Findings with the author's script in the place of its copy."""
    for item in found:
        if item.path == record.path:
            yield item._replace(path=record.sources.script.path)
        else:
            yield item


@dataclass(frozen=True)
class Draft:
    """A record that was checked; `fixes` names the rules that fixed its script."""

    record: Proposal
    changes: Sequence[Change]
    fixes: Sequence[str]
    findings: Sequence[Finding]
    write: bool

    @property
    def obstacles(self) -> list[str]:
        """Why nothing can be written, apart from findings."""
        path = self.record.path
        for change in self.changes:
            if change.path == path and change.was is not None:
                return [f"{path} exists already with other text: change it there"]
        return [*self.record.lacks]

    @property
    def refused(self) -> bool:
        """Whether it must not be written: CI fails on warnings too."""
        return bool(self.obstacles or self.findings)

    @property
    def written(self) -> Sequence[Change]:
        """The changes that are written."""
        if self.refused or not self.write:
            return ()
        return self.changes

    def messages(self) -> list[str]:
        """What is reported with the row, line by line."""
        return say("messages", self).splitlines()

    def verdict(self) -> str:
        """The last line: what became of it."""
        return say("verdict", self)
