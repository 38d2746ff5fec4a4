"""Rules about the variables of a script: set, used, and called what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.naming import contradiction
from rl_resources.check.script.undollared import undollared
from rl_resources.check.script.usage import (
    is_indirect,
    undefined,
    used_names,
)
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Assignment
from rl_resources.script.framework import UNKNOWN
from rl_resources.words import shown

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


@rule()
def undefined_variable(subject: ScriptText) -> Iterator[Mistake]:
    """Every variable that is read is set somewhere.

    bash puts nothing in the place of a variable that is not set, and says nothing.

    Bad: `model=Qwen/Qwen3-8B; echo "$modle"`
    Good: `model=Qwen/Qwen3-8B; echo "$model"`
    """
    told: set[str] = set()
    for reference in subject.script.references:
        meant = undefined(subject, reference)
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
        yield subject.mistake(reference.place, message, mend)


@rule("warning")
def unused_variable(subject: ScriptText) -> Iterator[Mistake]:
    """Every variable that is set is read.

    A setting that nothing reads looks as if it had an effect.

    Bad: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`
    Good: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`
    """
    if is_indirect(subject) or any(o.name == "allexport" and o.on for o in subject.script.options):
        return
    used = used_names(subject)
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
        yield subject.mistake(item.place, message, mend)


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
        yield subject.mistake(found.place, found.message, found.mend)


@rule()
def too_few_visible_devices(subject: ScriptText) -> Iterator[Mistake]:
    """The devices that a script leaves visible are enough for its run.

    The framework asks for more GPUs than it can see, and stops or waits for ever.

    Bad: `export CUDA_VISIBLE_DEVICES=0,1 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=8`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`
    """
    for item, count, needed in _visible_devices(subject):
        if needed is not None and count < needed and item.reach == "always":
            message = (
                f"`{shown(item.raw)}` leaves {count} of the {needed} GPUs per node that the run "
                "asks for"
            )
            mend = f"Take the line away, or set `trainer.n_gpus_per_node={count}`."
            yield subject.mistake(item.place, message, mend)


@rule("warning")
def visible_devices(subject: ScriptText) -> Iterator[Mistake]:
    """A script does not choose the devices of the machine that it runs on.

    The numbers are those of its author's machine; elsewhere they are taken or missing.

    Bad: `export CUDA_VISIBLE_DEVICES=4,5 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`
    """
    for item, count, needed in _visible_devices(subject):
        if needed is None or count >= needed or item.reach != "always":
            message = f"`{shown(item.raw)}` chooses devices of its author's machine"
            yield subject.mistake(item.place, message, "Take the line away.")


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

    Of a variable that nothing reads that alone is told.
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
            yield subject.mistake(item.place, message, "Mend whichever of the two is wrong.")
