"""Variables of a script.

Every variable is set, is used, and contains what its name says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.script import UNKNOWN_MARK, Assignment, Part, Place, Value
from rl_resources.script.launch import Override
from rl_resources.script.run import Run
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules.shellcheck import UNDEFINED, UNUSED, Comment, comments
from rl_resources.text import shown

_DEVICES = re.compile(r"(?:CUDA|ASCEND_RT|HIP|ROCR)_VISIBLE_DEVICES")
_OUTSIDE = re.compile(
    r"N?NODES|N?GPUS?_PER_NODE|N_GPUS\w*|NPROC\w*|(?:NODE|LOCAL|MASTER|HEAD|SLURM|CUDA|NCCL|WANDB|HF)_\w+"
    r"|(?:RAY|VLLM|TORCH|PET|MLP|ARNOLD|VC|HUGGING|ASCEND|PBS|OMPI|LSB|KUBERNETES|CONDA)_\w+"
    r"|RANK|WORLD_SIZE|HOST|PORT|\w+_proxy|VIRTUAL_ENV|JAVA_HOME"
)
"""Names that come from outside: from a scheduler, a container or the reader."""
_INDIRECT = re.compile(
    r"\$\{![A-Za-z_]|(?:^|[;&|({\s])(?:source|\.|eval|envsubst|compgen)\s"
    r"|(?:declare|local)\s+-\w*n|\bset\s[^\n;]*(?:-[a-z]*a|allexport)",
    re.M,
)
"""Where names may be read or set that the text does not show."""
_COMMENT = re.compile(r"(?m)(?:^|\s)#.*")
_MEANT = re.compile(r"did you mean '(\w+)'")


@rule()
def undefined_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is used is set.

    bash silently replaces an unset variable with nothing.

    Bad: `model=Qwen/Qwen3-8B; echo "$modle"`
    Good: `model=Qwen/Qwen3-8B; echo "$model"`

    A foreign script may read what its author's machine sets, in capitals.
    """
    for name, comment in _comments_by_variable(target, UNDEFINED).items():
        meant = _MEANT.search(comment.message)
        # `model=$MODEL` reads what comes from outside.
        if meant and meant[1].upper() == name:
            meant = None
        if not meant and _may_come_from_outside(target, name):
            continue
        if _is_set_with_a_space(target, name):
            continue
        fix = f"Set it, or write `${{{name}:-…}}`."
        if meant:
            fix = f"Did you mean `{meant[1]}`?"
        yield Mistake(
            target.path,
            comment.line,
            comment.column,
            f"`{shown(name)}` is not set",
            fix,
        )


def _may_come_from_outside(target: ScriptText, name: str) -> bool:
    is_foreign = name.isupper() and not target.ours
    return is_foreign or _OUTSIDE.fullmatch(name) is not None


def _is_set_with_a_space(target: ScriptText, name: str) -> bool:
    """Whether `NAME =` is in the script: that space is the mistake."""
    return re.search(rf"^\s*{name} +=", target.text, re.M) is not None


def _comments_by_variable(target: ScriptText, code: int) -> dict[str, Comment]:
    """ShellCheck's first comment on each variable, unless the script uses names indirectly."""
    found: dict[str, Comment] = {}
    for comment in comments(target):
        if comment.code == code:
            name, _, _ = comment.message.partition(" ")
            found.setdefault(name, comment)
    if found and _INDIRECT.search(_COMMENT.sub("", target.text)):
        return {}
    return found


@rule("warning", style=True)
def unused_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is set is used.

    An unused setting looks as if it had an effect.

    Bad: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`
    Good: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`
    """
    meant = {found.name for found in missing_dollars(target)}
    for comment in _comments_by_variable(target, UNDEFINED).values():
        meant.update(_MEANT.findall(comment.message))
    for name, comment in _comments_by_variable(target, UNUSED).items():
        if name in meant:
            continue
        yield Mistake(
            target.path,
            comment.line,
            comment.column,
            f"`{shown(name)}` is set, but nothing reads it",
            "Use it instead of the literal value, export it for a program that reads it, or "
            "delete it.",
        )


@rule()
def missing_dollar(target: ScriptText) -> Iterator[Mistake]:
    """A variable is referenced with `$` and outside single quotes: `"${NAME}"`.

    Otherwise the program gets the name instead of the value, and looks for a model or a file of
    that name.

    Bad: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path=model_path`
    Good: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path="$model_path"`
    """
    for found in missing_dollars(target):
        yield target.mistake(
            found.place,
            f"`{found.word}` is not the value of the variable: `{found.key}` gets this text",
            f"Write `${{{found.name}}}`, without single quotes around it.",
        )


_NAME = re.compile(
    r"\$?\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*"
    r"|(?<![^\s,\[\]'\"(])[A-Za-z_]\w*(?=[\s,\[\]'\")/]|$)"
)
"""The name of a variable with `$` or in braces, or as a word or as the first folder of a path."""
_WORD = re.compile(r"\w+")
_ELSEWHERE = re.compile(r"\$\{!|^[^#\n]*\b(?:ray[\s\\]+job|ssh)\s", re.M)
"""Where names are read by their text, or by a shell on another machine."""


class MissingDollar(NamedTuple):
    """A variable's name in the value of a key, written as `word`."""

    name: str
    word: str
    key: str
    place: Place


@lru_cache(maxsize=64)
def missing_dollars(target: ScriptText) -> Collection[MissingDollar]:
    """Every variable of the script whose `$` is lost in an argument, once for each place."""
    found: dict[Place, MissingDollar] = {}
    for launch in target.launches:
        for override in launch.overrides:
            for missing in dollars_missing(target, override):
                found[missing.place] = missing
    return found.values()


def dollars_missing(target: ScriptText, override: Override) -> Iterator[MissingDollar]:
    """Every variable name in the value of an override that lacks its `$`."""
    key = override.key
    # Ray expands the names in an environment.
    if override.content is None or ".env_vars." in key:
        return
    names = _names(target)
    if names.isdisjoint(_WORD.findall(override.content.marked)):
        return  # nearly always, and places take time
    for word, _, place in places(target, _NAME, [override.content]):
        name = word.strip("${}")
        if name not in names:
            continue
        is_bare = word == name
        if is_bare and (key.endswith("_key") or not _is_telling(target, name)):
            continue
        yield MissingDollar(name, word, key, place)


@lru_cache(maxsize=64)
def _names(target: ScriptText) -> frozenset[str]:
    """The variables of a script and `HOME`; none if other programs read them."""
    if _ELSEWHERE.search(target.text):
        return frozenset()
    return target.script.names - target.script.functions | {"HOME"}


def _is_telling(target: ScriptText, name: str) -> bool:
    """Whether a word can hardly be meant as it is written."""
    is_constant = name.isupper() and len(name) > 1
    if not is_constant and "_" not in name.strip("_"):
        return False
    # `low_var_kl=low_var_kl` makes no difference.
    return not any(
        item.name == item.value.text == name for item in target.script.assignments
    )


def places(
    target: ScriptText, pattern: re.Pattern[str], values: Iterable[Value]
) -> Iterator[tuple[str, Part, Place]]:
    """Where a pattern matches in values: the text, and the part and place where it begins, once.

    What is not known is NUL.
    """
    seen: set[Place] = set()
    for value in values:
        for match in pattern.finditer(value.marked):
            index, at = value.locate(match.start())
            part = value.parts[index]
            place = target.script.source.place_in(part, at)
            if place not in seen:
                seen.add(place)
                text, _, _ = match[0].partition(UNKNOWN_MARK)
                yield text, part, place


_WHOLE_NODES = ("0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15")


@rule("warning")
def visible_devices(target: ScriptText) -> Iterator[Mistake]:
    """A script does not select devices of the machine.

    The numbers belong to the author's machine. Elsewhere those devices are busy or missing, and the
    framework stops or hangs.

    Bad: `export CUDA_VISIBLE_DEVICES=4,5 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`
    """
    for item in _devices_of_training(target):
        if item.value.default:
            continue
        if _chooses_devices(target, item.value.text or ""):
            yield target.mistake(
                item.place,
                f"`{shown(item.raw)}` selects devices of the author's machine",
                "Leave it to the reader, or to a scheduler.",
            )


def _devices_of_training(target: ScriptText) -> Iterable[Assignment]:
    """The last choice of devices for the run, not for a server next to it, by name.

    There is none where the command of a server has its own: they share the machine.
    """
    found: dict[str, Assignment] = {}
    if target.run is None:
        return ()
    command = target.run.launch.command
    for item in target.script.assignments:
        if not _DEVICES.fullmatch(item.name):
            continue
        is_before = item.exported and item.place < command.place
        is_its_own = item.prefix and command.place <= item.place <= command.end
        if item.prefix and not is_its_own:
            return ()
        if is_before or is_its_own:
            found[item.name] = item
    return found.values()


def _chooses_devices(target: ScriptText, numbers: str) -> bool:
    """Whether these are some devices of a machine, neither all nor none."""
    if not re.match(r"(?!-1)[^,\s]", numbers):
        return False
    return numbers not in _WHOLE_NODES or not _uses_whole_node(target.run)


def _uses_whole_node(run: Run | None) -> bool:
    """Whether a run uses eight devices per machine, or may do so."""
    if run is None:
        return True
    fixed = [
        pool.gpus_per_node.number or 8
        for pool in run.pools.values()
        if not run.may_change(pool.gpus_per_node.key)
    ]
    return not fixed or sum(fixed) >= 8


@rule("warning", follows=["unused-variable"])
def misleading_name(target: ScriptText) -> Iterator[Mistake]:
    """A variable named after a dataset contains that dataset.

    Readers trust the name and copy the line.

    Bad: `math_test_path=$HOME/data/gsm8k/test.parquet; echo "$math_test_path"`
    Good: `gsm8k_test_path=$HOME/data/gsm8k/test.parquet; echo "$gsm8k_test_path"`
    """
    for item in target.script.assignments:
        value = item.value.shown
        is_path = "/" in value or "." in value
        if item.elements is not None or not is_path:
            continue
        said = _sets_in(item.name)
        held = _sets_in(value)
        if not said or not held or said & held:
            continue
        yield target.mistake(
            item.place,
            f"`{item.name}` says `{min(said)}`, its value `{shown(value)}` says `{min(held)}`",
            "Correct the one that is wrong.",
        )


def _sets_in(text: str) -> frozenset[str]:
    """The datasets that appear in a name or a path."""
    return _SETS.intersection(re.split(r"[^a-z0-9]+", text.lower()))


_SETS = frozenset({"gsm8k", "math", "geo3k", "hellaswag"})
