"""The command `new`: a script that starts from its tag's definition, and its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rl_resources.certainty import UNTESTED
from rl_resources.contribute.changes import write_changes
from rl_resources.contribute.draft import Draft, check, place
from rl_resources.contribute.facts import Facts, script_name
from rl_resources.contribute.merge import Proposal, Sources, merge
from rl_resources.contribute.new_script import ScriptRequest, refusals, script_text
from rl_resources.dataset import Dataset, read_dataset, script_path, typed_dataset
from rl_resources.errors import InvalidDataset, UnusableInput
from rl_resources.estimate.plan import RECOMMENDED
from rl_resources.facts.script_names import TABLES, name_beside
from rl_resources.facts.words import Fact, known_words, read_word
from rl_resources.package import read_package
from rl_resources.query.plan import Answer, Plan, settings_for
from rl_resources.query.plan_question import ask_plan
from rl_resources.script.algorithm import NEEDED, costs_time
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.name import PARTS
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.snapshot import Snapshot, take_snapshot

OPTIONS = (*PARTS, "tag")
"""Columns of the tuning table that make a configuration, each an option of the command."""

Asked = Mapping[str, str]
"""What was asked for, by option: those of `OPTIONS` and `contributor`."""


def new(root: Path, asked: Asked) -> Draft:
    """Make the record that is asked for and write its files.

    Raises `UnusableInput` and `InvalidDataset`.
    """
    package = read_package(root)
    snapshot = take_snapshot(package)
    record = new_record(asked, typed_dataset(package, snapshot.tables), snapshot)
    drafted = check(place(record, snapshot), write=True)
    _refuse(drafted.obstacles)
    if drafted.findings:
        raise InvalidDataset(drafted.findings)
    write_changes(root, drafted.written)
    return drafted


def new_record(asked: Asked, dataset: Dataset, snapshot: Snapshot) -> Proposal:
    """The record that is asked for, of a script that nobody has run.

    Raises `UnusableInput` with everything that is missing, unknown or impossible.
    """
    stated = _words(asked, dataset)
    words = {option: word.text for option, word in stated.items()}
    name = script_name(words)
    name = name_beside(name, words, snapshot.row("tuning", name))
    run = name.removesuffix(".sh").replace("/", "_")
    text = _script(_configuration(words, dataset), run)
    path = script_path(dataset, {"model": words["model"], "script": name})
    script = ScriptText(path, text)
    assumed = {"status": Fact(UNTESTED)}
    if words.get("tag") == RECOMMENDED and script.run:
        needed = [NEEDED.format(name=setting) for setting in costs_time(script.run)]
        assumed["notes"] = Fact(" ".join(needed))
    sources = Sources(script, stated=stated, assumed=assumed)
    record = merge(sources, dataset, snapshot)
    if record.existing:
        raise UnusableInput(
            f"records/tuning.csv has a row for {name} already",
            "Change that row, or choose another configuration. One of another tag lies beside it.",
        )
    return record


def _script(wanted: ScriptRequest, name: str) -> str:
    """The text of a script. Raises `UnusableInput` where the framework cannot do it."""
    known = shipped(FRAMEWORK)
    _refuse(list(refusals(wanted, known)))
    return script_text(wanted, known, name)


def next_step(record: Proposal) -> str:
    """What to do with a record that was written."""
    who = "" if record.row["contributor"] else " --contributor HANDLE"
    return (
        f"Run it: bash {record.path}\n"
        f"When it has run: rl-resources draft {record.path} --log LOG{who} --write\n"
    )


def _words(asked: Asked, dataset: Dataset) -> Facts:
    """The dataset's words for what is asked for. Raises `UnusableInput` with all problems."""
    missing = [part for part in PARTS if part not in asked]
    problems = [f"--{part} is required: `new '?'` lists its words" for part in missing]
    words = {}
    for option, text in asked.items():
        word = read_word(dataset, option, text)
        words[option] = word
        if word.doubt:
            problems.append(f"--{option}: {word.why_empty}")
    _refuse(problems)
    return words


def listed_words(root: Path) -> str:
    """The words of all options."""
    dataset = read_dataset(read_package(root))
    lines = []
    for option in OPTIONS:
        words = ", ".join(known_words(dataset, option)) or "a number"
        lines.append(f"--{option}: {words}\n")
    return "".join(lines)


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        listed = "".join(f"\n  - {item}" for item in problems)
        raise UnusableInput(f"this cannot become a record:{listed}", "Nothing was written.")


def _configuration(words: Asked, dataset: Dataset) -> ScriptRequest:
    rows = {part: dataset.by_key[table][words[part]] for part, table in TABLES.items()}
    question = ask_plan(dataset, {part: words[part] for part in PARTS})
    tag = words.get("tag", "")
    return ScriptRequest(
        model=rows["model"],
        task=rows["task"],
        device=rows["device"],
        train=rows["train"],
        infer=rows["infer"],
        tag=tag,
        estimate=settings_for(question, tag),
    )


def plan_script(plan: Answer, tag: str) -> str:
    """The script of a plan with the settings of a tag.

    Raises `UnusableInput` where nothing fits, or the framework is not the one that has scripts.
    """
    if not isinstance(plan, Plan):
        raise UnusableInput("a script is for GPUs that are named", "Add --device or --memory.")
    question = plan.question
    found = plan.options.get(tag)
    if question.framework != FRAMEWORK:
        raise UnusableInput(f"scripts are written for {FRAMEWORK} alone", "Leave --framework out.")
    if found is None:
        raise UnusableInput("no settings fit this hardware", "`plan` without --script says why.")
    rows = question.dataset.by_key
    task = question.task
    if question.weights == "lora":
        task = question.query.adapter_task or task
    wanted = ScriptRequest(
        model=question.model_row,
        task=rows["tasks"][task],
        device=question.device_row,
        train=rows["backends"][found.configuration.train],
        infer=rows["backends"][found.configuration.infer],
        tag="",
        estimate=found,
        author="plan",
    )
    return _script(wanted, f"plan_{tag.lower()}")
