"""Rules about the variables of a script: set, used, and called what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.content import without_comments
from rl_resources.check.script.missing_dollar import undollared
from rl_resources.check.script.naming import contradiction
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Assignment, Reference
from rl_resources.script.framework import UNKNOWN
from rl_resources.words import is_slip, shown

_FOR_PROGRAMS = re.compile(
    r"_|PATH|IFS|PS[0-4]|LANG|LC_\w+|HIST\w+|SECONDS|RANDOM|OPTIND|OPTERR|REPLY|TZ|SHELL|HOME|TERM"
    r"|TMPDIR|EDITOR|PWD|OLDPWD|TIMEFORMAT|LD_LIBRARY_PATH|PYTHONPATH|BASH_\w+|COLUMNS|LINES"
    r"|PROMPT_COMMAND|FUNCNEST|GLOBIGNORE|MAIL\w*|http_proxy|https_proxy|no_proxy|all_proxy"
)
_UNUSED_KINDS = frozenset({"plain", "declare", "local", "readonly", "default"})
_DEVICES = frozenset(
    {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
    | {"ROCR_VISIBLE_DEVICES"}
)


_WITH_DEFAULT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_OUTSIDE = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy", "_"})
_SHARED = re.compile(
    r"(?:NNODES|NODES|NODE_RANK|NODE_LIST|RANK|WORLD_SIZE|LOCAL_\w+|MASTER_\w+|HOSTNAME|HOST|PORT"
    r"|N?GPUS?_PER_NODE|N_GPUS\w*|NPROC\w*|HEAD_\w+|SLURM_\w+|CUDA_\w+|NCCL_\w+|WANDB_\w+|HF_\w+"
    r"|HUGGING\w+|RAY_\w+|VLLM_\w+|TORCH_\w+|PET_\w+|MLP_\w+|ARNOLD_\w+|VC_\w+|BASH\w*|PIPESTATUS"
    r"|FUNCNAME|RANDOM|SECONDS|OPTARG|OPTIND|REPLY|UID|EUID|PPID|HOME|PATH|PWD|OLDPWD|USER|SHELL)"
)
_INDIRECT = re.compile(
    r"\$\{![A-Za-z_]|(?:^|[;&|({\s])(?:source|\.|eval|envsubst|compgen)\s|(?:declare|local)\s+-\w*n",
    re.M,
)


@rule()
def undefined_variable(subject: ScriptText) -> Iterator[Mistake]:
    """Every variable that is read is set somewhere.

    bash puts nothing in the place of a variable that is not set, and says nothing.

    Bad: `model=Qwen/Qwen3-8B; echo "$modle"`
    Good: `model=Qwen/Qwen3-8B; echo "$model"`
    """
    seen: set[str] = set()
    for reference in subject.script.references:
        meant = _meant(subject, reference)
        if meant is None or reference.name in seen:
            continue
        seen.add(reference.name)
        message = f"`{shown(reference.raw)}` is not set"
        if reference.name in subject.script.names:
            first = next(a for a in subject.script.assignments if a.name == reference.name)
            message += f" before line {first.place.line}"
            fix = "Set it above the line that reads it."
        elif meant:
            fix = f"Did you mean `{meant}`?"
        else:
            fix = f"Set it, or give a default: `${{{reference.name}:-…}}`."
        yield subject.mistake(reference.place, message, fix)


@rule("warning")
def unused_variable(subject: ScriptText) -> Iterator[Mistake]:
    """Every variable that is set is read.

    A setting that nothing reads looks as if it had an effect.

    Bad: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`
    Good: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`
    """
    if _is_indirect(subject) or any(o.name == "allexport" and o.on for o in subject.script.options):
        return
    used = _used_names(subject)
    seen: set[str] = set()
    for item in subject.script.assignments:
        if item.name in used or item.name in seen or not _should_be_used(item):
            continue
        seen.add(item.name)
        message = f"`{item.name}` is set, but nothing reads it"
        fix = "Use it where its value is written out, or delete it."
        if re.fullmatch(r"(?:CUDA|NCCL|VLLM|RAY|HYDRA|TORCH|TOKENIZERS|WANDB|HF)_\w+", item.name):
            message = f"`{item.name}` is set, but not exported: no program sees it"
            fix = f"Write `export {item.name}=…`."
        yield subject.mistake(item.place, message, fix)


def _should_be_used(item: Assignment) -> bool:
    known = item.kind in _UNUSED_KINDS and not item.exported
    return known and not _FOR_PROGRAMS.fullmatch(item.name)


@rule()
def missing_dollar(subject: ScriptText) -> Iterator[Mistake]:
    """A variable's value is written with `$`: `${NAME}`.

    Without it the program gets the name for the value, and looks for a model or a file of that
    name.

    Bad: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path=model_path`
    Good: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path="$model_path"`
    """
    for found in undollared(subject):
        yield subject.mistake(found.place, found.message, found.fix)


@rule("warning")
def visible_devices(subject: ScriptText) -> Iterator[Mistake]:
    """A script does not choose the devices of the machine that it runs on.

    The numbers are those of its author's machine; elsewhere they are taken or missing. Where they
    are fewer than the run asks for, the framework stops or waits for ever.

    Bad: `export CUDA_VISIBLE_DEVICES=4,5 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`
    """
    for item, count, needed in _visible_devices(subject):
        message = f"`{shown(item.raw)}` chooses devices of its author's machine"
        fix = "Delete the line."
        if needed is not None and count < needed and item.reach == "always":
            message = (
                f"`{shown(item.raw)}` leaves {count} of the {needed} GPUs per node that the run "
                "asks for"
            )
            fix = f"Delete the line, or set `trainer.n_gpus_per_node={count}`."
        yield subject.mistake(item.place, message, fix)


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


@rule("warning")
def misleading_name(subject: ScriptText) -> Iterator[Mistake]:
    """A variable holds what its name says: data set, split, model size.

    A reader believes the name, and so does whoever copies the line.

    Bad: `math_test_path=$HOME/data/gsm8k/test.parquet; echo "$math_test_path"`
    Good: `gsm8k_test_path=$HOME/data/gsm8k/test.parquet; echo "$gsm8k_test_path"`

    A variable that nothing reads is reported for that alone.
    """
    unread = {(item.line, item.column) for item in unused_variable.mistakes(subject)}
    wrong = {item.name for item in subject.script.assignments if contradiction(item)}
    for item in subject.script.assignments:
        found = contradiction(item)
        place = item.place.line, item.place.column
        if found is not None and place not in unread and not wrong & set(item.value.names):
            said, holds = found
            value = shown(item.value.shown)
            message = f"`{item.name}` says {said}, its value `{value}` says {holds}"
            yield subject.mistake(item.place, message, "Correct the one that is wrong.")


# Where a script uses its variables, as far as its text shows it


@lru_cache(maxsize=64)
def _is_indirect(subject: ScriptText) -> bool:
    """Whether names may be read or set where the text does not show it."""
    return not subject.script.complete or bool(_INDIRECT.search(without_comments(subject)))


def _meant(subject: ScriptText, reference: Reference) -> str | None:
    """What may be meant by a name that is not set; `None` where nothing is wrong with it."""
    name = reference.name
    unset = reference.defined == "no" and reference.reach != "never"
    if not unset or reference.operator in _WITH_DEFAULT or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return None
    if name in _OUTSIDE or _is_indirect(subject) or _is_tested(subject, name):
        return None
    if _is_set_below(subject, reference):
        return ""
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


def _is_set_below(subject: ScriptText, reference: Reference) -> bool:
    """Whether `set -u` stops at the name, which the script itself sets only below."""
    if _SHARED.fullmatch(reference.name):
        return False
    start = reference.place.offset
    stops = [o.on for o in subject.script.options if o.name == "nounset" and o.place.offset < start]
    own = [item for item in subject.script.assignments if item.name == reference.name]
    below = all(item.place.offset > start and item.reach == "always" for item in own)
    return bool(own) and below and stops[-1:] == [True]


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


@lru_cache(maxsize=64)
def _used_names(subject: ScriptText) -> frozenset[str]:
    """Names that are read or exported, and those that another rule says were meant to be."""
    meant = (_meant(subject, reference) for reference in subject.script.references)
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
