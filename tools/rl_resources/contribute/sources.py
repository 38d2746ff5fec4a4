"""Cells that each source of a record states, in the dataset's words: script, command line, form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from rl_resources.check import all_rules
from rl_resources.dataset import Dataset
from rl_resources.devices import vendor_in
from rl_resources.errors import UnusableInput
from rl_resources.facts.models import is_id, model_meant, slug_of
from rl_resources.facts.script_names import PARTS, word_of_part
from rl_resources.facts.words import Fact, one_line, read_word, says_nothing
from rl_resources.files import environment
from rl_resources.script.algorithm import (
    ALGORITHMS,
    ESTIMATORS,
    algorithm_of,
    contradicting_algorithm,
)
from rl_resources.script.backends import ACTOR, SAME_BACKEND, VENDORS
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.script.settings import Setting, written
from rl_resources.snapshot import Snapshot
from rl_resources.text import nearest, printable, shown

OWN = Path(__file__).parent

Facts = Mapping[str, Fact]
"""By column."""


def first_known(sources: Iterable[Facts]) -> Facts:
    """For each column the first known fact, otherwise the first doubt, otherwise an empty fact."""
    found: defaultdict[str, Fact] = defaultdict(Fact)
    for facts in sources:
        for column, fact in facts.items():
            before = found[column]
            if not before.text and (fact.text or not before.doubt):
                found[column] = fact
    return found


def script_name(cells: Mapping[str, str]) -> str:
    """The file name that the cells of a row make; empty if one of its parts is."""
    words = [cells.get(part, "").lower() for part in PARTS]
    if not all(words):
        return ""
    model, *others = words
    return "_".join([slug_of(model), *others]) + ".sh"


def stated_facts(pairs: Iterable[str], dataset: Dataset) -> dict[str, Fact]:
    """Cells as `--set` states them, each as `column=value`.

    Raises `UnusableInput` with all unknown columns and values that one cannot have.
    """
    found = {}
    problems: list[str] = []
    columns = [*dataset.package.resources["tuning"].schema.names]
    columns.remove("script")
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in columns:
            guess = nearest(name, columns).sentence()
            help_ = guess or f"Its columns are {', '.join(columns)}."
            problem = f"--set {shown(pair)}: is not COLUMN=VALUE of a record"
            problems.append(f"{problem}\n  help: {help_}")
            continue
        found[name] = read_word(dataset, name, value)
        if found[name].doubt:
            problems.append(f"--set {shown(pair)}: {found[name].why_empty}")
    if problems:
        raise UnusableInput("\n".join(problems))
    return found


def may_be_exempt(rule: str) -> bool:
    """Whether contributors may exempt their own record from a rule, because it ran that way."""
    known = all_rules().get(rule)
    if known is None or known.severity != "warning":
        return False
    return known.family in {"agreement", "releases", "running", "data"}


@dataclass(frozen=True, slots=True)
class Form:
    """The answers of an issue form; `script` and `log` are pasted text, empty if there is none.

    `exempt` maps rules to reasons, `remarks` say which answers cannot be used.
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
    answers = _answers(body)
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

    exempt = {}
    for line in answers.get("exemption", "").splitlines():
        rule, _, reason = map(one_line, line.partition(":"))
        if may_be_exempt(rule):
            exempt[rule] = reason
        else:
            remarks.append(f"no record can be exempt from `{shown(rule)}`")

    return Form(
        facts, answers.get("script", ""), answers.get("log", ""), exempt, tuple(remarks)
    )


def _answers(body: str) -> Mapping[str, str]:
    """The answers by their titles in lower case, without those that say nothing.

    A line of a code block is no title, and the block is its content.
    """
    from markdown_it import MarkdownIt  # of an extra, which answers do without

    markdown = MarkdownIt("zero").enable(["heading", "fence"])
    texts: defaultdict[str, str] = defaultdict(str)
    title = ""
    for before, token in pairwise(markdown.parse(body)):
        if before.tag == "h3" and before.nesting == 1:
            title = token.content.lower()
        elif token.content:
            texts[title] += f"{token.content.rstrip()}\n"
    return {title: text for title, text in texts.items() if not says_nothing(text)}


# What a script states: by what it runs and by its name


def name_facts(script: ScriptText, snapshot: Snapshot) -> Facts:
    """The cells that a well-formed file name states, as far as its words are known."""
    name = Path(script.path).name
    found = {}
    for part in PARTS:
        word = word_of_part(snapshot, name, part)
        if word:
            found[part] = Fact(word)
    return found


def run_facts(script: ScriptText, named: Facts, dataset: Dataset) -> Facts:
    """The cells that follow from the run; none if the script starts no training.

    `named` has a fact for every column and decides where the run leaves several words open.
    """
    run = script.training
    if run is None:
        return {}
    on_npu = bool(script.of_ascend) or vendor_in(named["device"].text) == "Huawei"
    counts = {column: _count(setting) for column, setting in _settings(run).items()}
    cells = {column: Fact(text) for column, text in _memory_cells(run).items()}
    return {
        **counts,
        **cells,
        "framework": Fact(FRAMEWORK),
        "model": _model(run, dataset),
        "task": _task(run.usual, named["task"].text, dataset),
        "gpus": _of_pools(run, run.gpus, run.training_gpus, "GPUs"),
        "nodes": _of_pools(run, run.nodes, run.training_pool.nodes, "nodes"),
        "train": _backend(run.train_backend, named["train"].text, dataset),
        "infer": _backend(
            run.infer_backend, named["infer"].text, dataset, on_npu=on_npu
        ),
    }


def _settings(run: Run) -> Mapping[str, Setting]:
    """The settings that cells of a record are read from, by column."""
    return {
        "model": run.model_path,
        "gpus": run.gpus,
        "max_prompt_length": run.max_prompt_length,
        "max_response_length": run.max_response_length,
        "rollout_n": run.rollout_n,
    }


def defaults_of(run: Run) -> list[str]:
    """The settings of a record that are defaults of the script, so that a run may change them."""
    found = []
    for column, setting in _settings(run).items():
        if setting.origin and run.may_change(setting.key):
            found.append(f"{column} (line {setting.origin.line})")
    return found


def _memory_cells(run: Run) -> dict[str, str]:
    """The cells that decide memory, as the run sets them; empty if that is not known."""
    found = {
        "weights": run.weights,
        "lora_rank": str(run.lora_rank.number or ""),
        "precision": run.precision,
        "memory_optimizations": "; ".join(run.optimizations_on),
    }
    by_tokens = run.usual.dynamic_batch.flag
    if by_tokens:
        found["max_tokens_per_gpu"] = str(
            run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu").number or ""
        )
    elif by_tokens is False:
        found["micro_batch_per_gpu"] = str(run.micro_batch.number or "")
    share = run.gpu_memory_utilization
    if share.known:
        found["gpu_memory_utilization"] = str(share.value or "")
    return found


def _unknown(setting: Setting) -> Fact:
    return Fact(doubt=say("unknown", setting, list(map(written, setting.choices))))


def _of_pools(run: Run, total: Setting, own: Setting, what: str) -> Fact:
    """A number over all pools of GPUs; `own` is that of the pool that trains."""
    if total.known or own.number is None:
        return _count(total)
    return Fact(doubt=say("several_pools", what, run.pools))


def _count(setting: Setting) -> Fact:
    if setting.number is None:
        return _unknown(setting)
    return Fact(str(setting.number))


def _model(run: Run, dataset: Dataset) -> Fact:
    path = run.model_path_end
    if path is None or not run.model_path.place:
        return _unknown(run.model_path)
    model = model_meant(path, list(map(str, dataset.by_key["models"])))
    if model:
        return Fact(model)
    if is_id(path):
        return read_word(dataset, "model", path)
    return Fact(
        doubt=f"the script trains `{shown(path)}`, which is not a model of the dataset"
    )


def _task(run: Run, named: str, dataset: Dataset) -> Fact:
    """The task that the settings allow: the one in the name, else DAPO if groups are filtered."""
    estimator = run.estimator
    rank = run.lora_rank.number
    if estimator.text is None:
        return _unknown(estimator)
    if rank is None:
        return _unknown(run.lora_rank)
    fits = []
    for row in dataset.records["tasks"]:
        task = str(row["task"])
        trains_adapters = rank > 0
        if row["adapters_only"] == trains_adapters and _may_be(run, algorithm_of(task)):
            fits.append(task)
    if not fits:
        return _nothing_has(estimator, "task")
    if named in fits:
        return Fact(named)
    filtering = [task for task in fits if algorithm_of(task) == "DAPO"]
    if run.filters_groups.flag and filtering:
        fits = filtering
    if len(fits) == 1:
        return Fact(fits[0])
    return Fact(doubt=f"by its settings it can be {' or '.join(fits)}")


def _nothing_has(setting: Setting, what: str) -> Fact:
    return Fact(doubt=say("nothing_has", setting, what))


def _may_be(run: Run, algorithm: str) -> bool:
    estimators = ESTIMATORS.get(algorithm, {algorithm.lower().replace("-", "_")})
    return run.estimator.text in estimators and not contradicting_algorithm(
        run, algorithm
    )


def _backend(
    setting: Setting, named: str, dataset: Dataset, *, on_npu: bool = False
) -> Fact:
    """A backend in the dataset's words; `on_npu` prefers a vendor's edition of it."""
    if setting.text is None:
        return _unknown(setting)
    fits = []
    for row in dataset.records["backends"]:
        word = str(row["backend"])
        if SAME_BACKEND.get(word, word) == setting.text:
            fits.append(word)
    if not fits:
        return _nothing_has(setting, "backend")
    preferred = [named, setting.text, *fits]
    if on_npu:
        editions = [word for word in fits if word != setting.text]
        preferred = [named, *editions, setting.text]
    return Fact(next(filter(fits.__contains__, preferred)))


def say(macro: str, *given: object) -> str:
    """What a macro of `messages.jinja` says."""
    template = environment(OWN).get_template("messages.jinja", globals=_IN_TEMPLATE)
    return str(getattr(template.module, macro)(*given))


_IN_TEMPLATE = {
    "algorithms": ALGORITHMS,
    "defaults_of": defaults_of,
    "may_be_exempt": may_be_exempt,
    "printable": printable,
    "same_backend": SAME_BACKEND,
    "shown": shown,
    "vendors": VENDORS,
}
