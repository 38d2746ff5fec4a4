"""Rules about the variables of a script: set, used, and called what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from rl_resources.check.content import mistake, without_comments
from rl_resources.check.experiment import contradictions
from rl_resources.check.registry import Mistake, rule
from rl_resources.check.subject import ScriptText
from rl_resources.check.undollared import undollared
from rl_resources.script.framework import UNKNOWN
from rl_resources.script.launch import Launch
from rl_resources.script.shell import Assignment, Command, Reference
from rl_resources.words import is_slip, shown

_WITH_DEFAULT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_OUTSIDE = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy", "_"})
_SHARED = re.compile(
    r"(?:NNODES|NODES|NODE_RANK|NODE_LIST|RANK|WORLD_SIZE|LOCAL_\w+|MASTER_\w+|HOSTNAME|HOST|PORT"
    r"|N?GPUS?_PER_NODE|N_GPUS\w*|NPROC\w*|HEAD_\w+|SLURM_\w+|CUDA_\w+|NCCL_\w+|WANDB_\w+|HF_\w+"
    r"|HUGGING\w+|RAY_\w+|VLLM_\w+|TORCH_\w+|PET_\w+|MLP_\w+|ARNOLD_\w+|VC_\w+|BASH\w*|PIPESTATUS"
    r"|FUNCNAME|RANDOM|SECONDS|OPTARG|OPTIND|REPLY|UID|EUID|PPID|HOME|PATH|PWD|OLDPWD|USER|SHELL)"
)
_FOR_PROGRAMS = re.compile(
    r"_|PATH|IFS|PS[0-4]|LANG|LC_\w+|HIST\w+|SECONDS|RANDOM|OPTIND|OPTERR|REPLY|TZ|SHELL|HOME|TERM"
    r"|TMPDIR|EDITOR|PWD|OLDPWD|TIMEFORMAT|LD_LIBRARY_PATH|PYTHONPATH|BASH_\w+|COLUMNS|LINES"
    r"|PROMPT_COMMAND|FUNCNEST|GLOBIGNORE|MAIL\w*|http_proxy|https_proxy|no_proxy|all_proxy"
)
_INDIRECT = re.compile(
    r"\$\{![A-Za-z_]|(?:^|[;&|({\s])(?:source|\.|eval|envsubst|compgen)\s|(?:declare|local)\s+-\w*n",
    re.M,
)
_UNUSED_KINDS = frozenset({"plain", "declare", "local", "readonly", "default"})
_OVERWRITTEN = frozenset({"plain", "export"})
_NO_PROGRAMS = frozenset(
    {"export", "set", "echo", "printf", "declare", "readonly", "exit", "wait", "true", ":", "sleep"}
    | {"unset", "shopt", "date", "mkdir", "cd", "ulimit"}
)
"""Commands that start no program which reads settings from its environment."""
_DEVICES = frozenset(
    {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
    | {"ROCR_VISIBLE_DEVICES"}
)
_SETS: Mapping[str, frozenset[str]] = {
    "gsm8k": frozenset({"math", "geo3k", "hellaswag", "aime"}),
    "math": frozenset({"gsm8k", "geo3k", "hellaswag"}),
    "geo3k": frozenset({"gsm8k", "math", "hellaswag"}),
    "hellaswag": frozenset({"gsm8k", "math", "geo3k"}),
}
_TRAIN = frozenset({"train", "training"})
_HELD_OUT = frozenset({"test", "val", "valid", "validation", "eval"})
_SIZE = re.compile(r"(?<![\d.])\d+(?:\.\d+)?b(?![a-z0-9])")


@lru_cache(maxsize=64)
def _is_indirect(subject: ScriptText) -> bool:
    """Whether names may be read or set where the text does not show it."""
    return not subject.script.complete or bool(_INDIRECT.search(without_comments(subject)))


@rule(
    summary="Every variable that is read is set somewhere.",
    reason="bash puts nothing in the place of a variable that is not set, and says nothing.",
    bad='`model=Qwen/Qwen3-8B; echo "$modle"`',
    good='`model=Qwen/Qwen3-8B; echo "$model"`',
)
def undefined_variable(subject: ScriptText) -> Iterator[Mistake]:
    told: set[str] = set()
    for reference in subject.script.references:
        meant = _undefined(subject, reference)
        if meant is None or reference.name in told:
            continue
        told.add(reference.name)
        message = f"`{shown(reference.raw)}` is not set"
        if reference.name in subject.script.names:
            first = next(a for a in subject.script.assignments if a.name == reference.name)
            message += f" before line {first.place.line}"
            mend = "Set it above the line that reads it."
        elif meant:
            mend = f"Did you mean `{meant}`?"
        else:
            mend = f"Set it, or give a default: `${{{reference.name}:-…}}`."
        yield mistake(subject, reference.place, message, mend)


def _undefined(subject: ScriptText, reference: Reference) -> str | None:
    """What may be meant by a name that is not set; `None` where nothing is wrong with it."""
    name = reference.name
    unset = reference.defined == "no" and reference.reach != "never"
    if not unset or reference.operator in _WITH_DEFAULT or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return None
    if name in _OUTSIDE or _is_indirect(subject) or _is_tested(subject, name):
        return None
    if name.isupper():
        unread = _unread_alike(subject, name)  # in capitals it too would come from outside
        similar = _similar(subject, name) or ("" if unread.isupper() else unread)
        return similar if similar and name not in subject.script.names else None
    if name in subject.script.names and _is_set_above(subject, reference):
        return None
    return _similar(subject, name) or _unread_alike(subject, name)


def _is_set_above(subject: ScriptText, reference: Reference) -> bool:
    """Whether an assignment stands above or around: in a branch, a subshell, its own value."""
    return any(
        item.name == reference.name and item.place.offset < reference.place.offset
        for item in subject.script.assignments
    )


def _is_tested(subject: ScriptText, name: str) -> bool:
    """Whether the script asks if the name is set: then it may come from outside."""
    alone = rf"""\[\s+["']?\$\{{?{name}\}}?["']?\s+\]"""
    asked = rf"""-[nzv]\s+["']?\$?\{{?{name}\b|\$\{{{name}:?[-+?=]|{alone}"""
    return re.search(asked, subject.text) is not None


def _similar(subject: ScriptText, name: str) -> str:
    """An assigned name that differs by one slip of the fingers, or by its case."""
    if len(name) < 4 or _SHARED.fullmatch(name):
        return ""
    names = sorted(subject.script.names)
    same = [known for known in names if known.lower() == name.lower()]
    return next(
        iter(same + [known for known in names if len(known) > 3 and is_slip(known, name)]), ""
    )


def _unread_alike(subject: ScriptText, name: str) -> str:
    """The one variable that nothing reads and whose name shares a telling word with this one."""
    unread = subject.script.names - _read_names(subject)
    alike = [known for known in unread if _telling_words(known) & _telling_words(name)]
    return alike[0] if len(alike) == 1 else ""


def _telling_words(name: str) -> set[str]:
    return {word for word in name.lower().split("_") if len(word) > 3} - _GENERAL_WORDS


_GENERAL_WORDS = {"path", "file", "files", "name", "size", "data", "root", "home"}


@rule(
    summary="Every variable that is set is read.",
    reason="A setting that nothing reads looks as if it had an effect.",
    severity="warning",
    bad="`batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`",
    good='`batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`',
)
def unused_variable(subject: ScriptText) -> Iterator[Mistake]:
    if _is_indirect(subject) or any(o.name == "allexport" and o.on for o in subject.script.options):
        return
    used = _used_names(subject)
    told: set[str] = set()
    for item in subject.script.assignments:
        if item.name in used or item.name in told or not _should_be_used(item):
            continue
        told.add(item.name)
        message = f"`{item.name}` is set, but nothing reads it"
        mend = "Use it where its value is written out, or delete it."
        if re.fullmatch(r"(?:CUDA|NCCL|VLLM|RAY|HYDRA|TORCH|TOKENIZERS|WANDB|HF)_\w+", item.name):
            message = f"`{item.name}` is set, but not exported: no program sees it"
            mend = f"Write `export {item.name}=…`."
        yield mistake(subject, item.place, message, mend)


def _should_be_used(item: Assignment) -> bool:
    known = item.kind in _UNUSED_KINDS and not item.exported
    return known and not _FOR_PROGRAMS.fullmatch(item.name)


@lru_cache(maxsize=64)
def _used_names(subject: ScriptText) -> frozenset[str]:
    """Names that are read or exported, and those that another rule says were meant to be."""
    meant = (_undefined(subject, reference) for reference in subject.script.references)
    return _read_names(subject).union(name for name in meant if name)


@lru_cache(maxsize=64)
def _read_names(subject: ScriptText) -> frozenset[str]:
    script = subject.script
    read = set(re.findall(r"\$\{?[#!]?([A-Za-z_]\w*)", without_comments(subject)))
    read |= {reference.name for reference in script.references}
    read |= {item.name for item in script.assignments if item.exported}
    for command in script.commands:
        if command.name in ("export", "declare", "typeset", "readonly", "let", "unset", "read"):
            read |= {(word.text or "").partition("=")[0] for word in command.words[1:]}
    read |= {found.name for found in undollared(subject)}
    return frozenset(read)


@rule(
    summary="A variable's value is written with `$`: `${NAME}`.",
    reason="Without it the program gets the name for the value, and looks for a model or a file "
    "of that name.",
    bad="`model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo "
    "actor_rollout_ref.model.path=model_path`",
    good="`model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo "
    'actor_rollout_ref.model.path="$model_path"`',
)
def missing_dollar(subject: ScriptText) -> Iterator[Mistake]:
    for found in undollared(subject):
        yield mistake(subject, found.place, found.message, found.mend)


@rule(
    summary="The devices that a script leaves visible are enough for its run.",
    reason="The framework asks for more GPUs than it can see, and stops or waits for ever.",
    bad="`export CUDA_VISIBLE_DEVICES=0,1 ⏎ "
    "python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`",
    good="`python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`",
)
def too_few_visible_devices(subject: ScriptText) -> Iterator[Mistake]:
    for item, count, needed in _visible_devices(subject):
        if needed is not None and count < needed and item.reach == "always":
            message = (
                f"`{shown(item.raw)}` leaves {count} of the {needed} GPUs per node that the run "
                "asks for"
            )
            mend = f"Take the line away, or set `trainer.n_gpus_per_node={count}`."
            yield mistake(subject, item.place, message, mend)


@rule(
    summary="A script does not choose the devices of the machine that it runs on.",
    reason="The numbers are those of its author's machine; elsewhere they are taken or missing.",
    severity="warning",
    bad="`export CUDA_VISIBLE_DEVICES=4,5 ⏎ "
    "python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`",
    good="`python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`",
)
def visible_devices(subject: ScriptText) -> Iterator[Mistake]:
    for item, count, needed in _visible_devices(subject):
        if needed is None or count >= needed or item.reach != "always":
            message = f"`{shown(item.raw)}` chooses devices of its author's machine"
            yield mistake(subject, item.place, message, "Take the line away.")


def _visible_devices(subject: ScriptText) -> Iterator[tuple[Assignment, int, int | None]]:
    """Fixed choices of devices, how many they leave, and how many a node of the run needs."""
    for item in subject.script.assignments:
        seen = item.exported or item.kind == "prefix"
        text = item.value.text
        if item.name in _DEVICES and seen and text and not item.default and item.reach != "never":
            devices = [part for part in text.split(",") if part.strip()]
            if devices and "-1" not in devices:
                yield item, len(devices), _needed_devices(subject)


def _needed_devices(subject: ScriptText) -> int | None:
    if subject.run is None or subject.run.composition.problem or len(subject.launches) > 1:
        return None
    try:
        value = subject.run.composition.value("trainer.n_gpus_per_node")
    except KeyError:
        return None
    is_number = value is not UNKNOWN and isinstance(value, int) and not isinstance(value, bool)
    return value if is_number else None


@rule(
    summary="A variable holds what its name says: data set, split, model size.",
    reason="A reader believes the name, and so does whoever copies the line.",
    severity="warning",
    bad='`math_test_path=$HOME/data/gsm8k/test.parquet; echo "$math_test_path"`',
    good='`gsm8k_test_path=$HOME/data/gsm8k/test.parquet; echo "$gsm8k_test_path"`',
)
def misleading_name(subject: ScriptText) -> Iterator[Mistake]:
    """Of a variable that nothing reads that alone is told."""
    unread = {(item.line, item.column) for item in unused_variable(subject)}
    wrong = {item.name for item in subject.script.assignments if contradiction(item)}
    for item in subject.script.assignments:
        found = contradiction(item)
        place = item.place.line, item.place.column
        if found is not None and place not in unread and not wrong & set(item.value.names):
            said, holds = found
            value = shown(item.value.shown)
            message = f"`{item.name}` says {said}, its value `{value}` says {holds}"
            yield mistake(subject, item.place, message, "Mend whichever of the two is wrong.")


@rule(
    summary="The name of an experiment says what the experiment is.",
    reason="Logs and checkpoints are found by it; copied from another script it hides whose "
    "they are.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo trainer.experiment_name=qwen3_14b_grpo "
    "actor_rollout_ref.model.path=Qwen/Qwen3-8B`",
    good="`python3 -m verl.trainer.main_ppo trainer.experiment_name=qwen3_8b_run "
    "actor_rollout_ref.model.path=Qwen/Qwen3-8B`",
)
def misleading_experiment(subject: ScriptText) -> Iterator[Mistake]:
    """What the script's own name says as well is told where that name is held to its row."""
    if subject.run is None or len(subject.launches) > 1:
        return
    for override in subject.run.launch.overrides:
        if override.key == "trainer.experiment_name" and override.value:
            name, file = shown(override.value), subject.path.rpartition("/")[2].lower()
            found = contradictions(override.value, subject.run)
            for said, held in [pair for pair in found if pair[0] not in file][:1]:
                message = f"the experiment `{name}` says `{said}`, the run is `{held}`"
                yield mistake(subject, override.origin, message, "Name it after what it does.")


@rule(
    summary="A variable is exported before the run that is to see it.",
    reason="A program gets the environment as it is when it starts; what comes later is too late.",
    bad="`python3 -m verl.trainer.main_ppo ⏎ export VLLM_USE_V1=1`",
    good="`export VLLM_USE_V1=1 ⏎ python3 -m verl.trainer.main_ppo`",
)
def late_export(subject: ScriptText) -> Iterator[Mistake]:
    script = subject.script
    starts = [command.place.offset for run in subject.launches for command in _commands(run)]
    after = [c for c in script.commands if c.words and c.place.offset > max(starts, default=0)]
    if not starts or not script.complete or any(c.name not in _NO_PROGRAMS for c in after):
        return
    read = {item.name: item.place.offset for item in script.references}
    for item in script.assignments:
        late = item.exported and item.place.offset > max(starts) and not item.function
        if late and read.get(item.name, -1) < item.place.offset and item.kind != "prefix":
            message = f"`{shown(item.raw)}` comes after the run, which does not see it"
            yield mistake(subject, item.place, message, "Move it above the command that trains.")


def _commands(launch: Launch) -> tuple[Command, ...]:
    return (launch.command, *launch.rest)


@rule(
    summary="A value is read before another takes its place.",
    reason="The first of the two has no effect, and a reader may take it for the one that has.",
    severity="warning",
    bad='`nodes=1 ⏎ nodes=2 ⏎ echo "$nodes"`',
    good='`nodes=2 ⏎ echo "$nodes"`',
)
def overwritten_value(subject: ScriptText) -> Iterator[Mistake]:
    if _is_indirect(subject):
        return
    last: dict[str, Assignment] = {}
    for item in subject.script.assignments:
        before = last.pop(item.name, None)
        plain = item.operator == "=" and item.elements is None and item.key is None
        if before is not None and plain and not _is_used_between(subject, before, item):
            message = f"`{item.name}` is set in line {before.place.line} already, and nothing reads"
            mend = "Delete the one that is not meant."
            yield mistake(subject, item.place, f"{message} that value", mend)
        if plain and item.reach == "always" and item.kind in _OVERWRITTEN and not item.function:
            last[item.name] = item


def _is_used_between(subject: ScriptText, before: Assignment, item: Assignment) -> bool:
    """Whether a value may have been read, or exported to a program, before the next one."""
    if item.reach != "always" or item.kind not in _OVERWRITTEN or item.function:
        return True
    start, end = before.place.offset, item.place.offset + len(item.raw)
    if end <= start or before.place.offset == item.place.offset:
        return True
    name = rf"(?<!\w){item.name}(?!\w)"
    between = without_comments(subject)[start + len(before.raw) : item.place.offset]
    own = subject.text[item.place.offset + len(item.name) : end]
    runs = any(
        c.words and c.name not in _NO_PROGRAMS and start < c.place.offset < end
        for c in subject.script.commands
    )
    return bool(re.search(name, between) or re.search(name, own)) or (before.exported and runs)


def contradiction(item: Assignment) -> tuple[str, str] | None:
    """What a name says, and what the value is instead; `None` where they agree."""
    if item.elements is not None or item.kind in ("for", "read") or item.reach == "never":
        return None
    value = item.value.shown.lower()
    if "/" not in value and "." not in value:
        return None
    words = set(re.split(r"[^a-z0-9]+", item.name.lower()))
    return _other_set(words, value) or _other_split(words, value) or _other_size(item.name, value)


def _other_set(words: set[str], value: str) -> tuple[str, str] | None:
    held = set(re.split(r"[^a-z0-9]+", value))
    for name in sorted(words & set(_SETS)):
        others = sorted(held & _SETS[name])
        if others and not held & words & set(_SETS):
            return f"`{name}`", f"`{others[0]}`"
    return None


def _other_split(words: set[str], value: str) -> tuple[str, str] | None:
    if not words & {"path", "file", "files", "data", "parquet", "set", "dataset"}:
        return None
    if not re.search(r"\.(?:parquet|jsonl?|arrow)[\"'\]]*$", value):
        return None
    held = split_of(value)
    said = split_of_words(words)
    return (f"`{said}`", f"`{held}`") if said and held and said != held else None


def split_of(path: str) -> str:
    """`train` or `test`, where the name of a data file says one of them; else nothing."""
    return split_of_words(set(re.split(r"[^a-z0-9]+", path.lower().rpartition("/")[2])))


def split_of_words(words: set[str]) -> str:
    """`train` or `test`, where one of them is among the words, and the other is not."""
    is_train, is_held_out = bool(words & _TRAIN), bool(words & _HELD_OUT)
    return "" if is_train == is_held_out else "train" if is_train else "test"


def _other_size(name: str, value: str) -> tuple[str, str] | None:
    plain = name.lower().replace("_", " ")
    dotted = re.sub(r"(\d)[_p](?=\d)", r"\1.", name.lower()).replace("_", " ")
    said = {*_SIZE.findall(plain), *_SIZE.findall(dotted)}
    said |= {size.partition(".")[2] for size in said if "." in size}
    held = set(_SIZE.findall(value))
    if len(held) == 1 and said and not said & held:
        return f"`{min(_SIZE.findall(plain) or said)}`", f"`{held.pop()}`"
    return None
