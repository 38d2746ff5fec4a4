"""Variables of a script.

Each variable is set, is read, and contains what its name says.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.script import Part, Place, Value
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
_MEANT = re.compile(r"did you mean '(\w+)'")


@rule()
def undefined_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is read is set somewhere.

    bash puts nothing in the place of a variable that is not set, and says nothing.

    Bad: `model=Qwen/Qwen3-8B; echo "$modle"`
    Good: `model=Qwen/Qwen3-8B; echo "$model"`

    A foreign script may read what its author's machine sets, in capitals.
    """
    seen: set[str] = set()
    for name, comment in _named(target, UNDEFINED):
        meant = _MEANT.search(comment.message)
        outside = _OUTSIDE.fullmatch(name) or (name.isupper() and not target.ours)
        spaced = re.search(rf"^\s*{name} +=", target.text, re.M)  # that space is the mistake
        if name not in seen and (meant or not outside) and not spaced:
            seen.add(name)
            fix = f"Did you mean `{meant[1]}`?" if meant else f"Set it, or write `${{{name}:-…}}`."
            message = f"`{shown(name)}` is not set"
            yield Mistake(target.path, comment.line, comment.column, message, fix)


def _named(target: ScriptText, code: int) -> Iterator[tuple[str, Comment]]:
    """What ShellCheck says of variables, where their names are not used in hidden ways."""
    if not _INDIRECT.search(re.sub(r"(?m)(?:^|\s)#.*", "", target.text)):
        for comment in comments(target):
            if comment.code == code:
                yield comment.message.partition(" ")[0], comment


@rule("warning")
def unused_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is set is read.

    A setting that nothing reads looks as if it had an effect.

    Bad: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`
    Good: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`
    """
    for name, comment in _unused(target).items():
        message = f"`{shown(name)}` is set, but nothing reads it"
        fix = "Use it where its value is written out, export it for a program that reads it, or "
        yield Mistake(target.path, comment.line, comment.column, message, f"{fix}delete it.")


@lru_cache(maxsize=64)
def _unused(target: ScriptText) -> dict[str, Comment]:
    """Variables that nothing reads, but for those that another rule says were meant to be."""
    undefined = " ".join(comment.message for _, comment in _named(target, UNDEFINED))
    meant = {*_MEANT.findall(undefined), *(found.name for found in missing_dollars(target))}
    return {name: item for name, item in _named(target, UNUSED) if name not in meant}


@rule()
def missing_dollar(target: ScriptText) -> Iterator[Mistake]:
    """A variable's value is written with `$`, and not in single quotes: `"${NAME}"`.

    Otherwise the program gets the name for the value, and looks for a model or a file of that
    name.

    Bad: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path=model_path`
    Good: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path="$model_path"`
    """
    for found in missing_dollars(target):
        message = f"`{found.word}` is not the value of the variable: `{found.key}` gets this text"
        fix = f"Write `${{{found.name}}}`, without single quotes around it."
        yield target.mistake(found.place, message, fix)


_NAME = re.compile(
    r"\$?\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*"
    r"|(?<![^\s,\[\]'\"(])[A-Za-z_]\w*(?=[\s,\[\]'\")/]|$)"
)
"""The name of a variable with `$` or in braces, or as a word or as the first folder of a path."""
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
    overrides = (item for launch in target.launches for item in launch.overrides)
    found = (item for override in overrides for item in dollars_missing(target, override))
    return {item.place: item for item in found}.values()


def dollars_missing(target: ScriptText, override: Override) -> Iterator[MissingDollar]:
    """Every such name in the value of an override, which explains what else is wrong with it."""
    key, content = override.key, override.content
    values = [content] if content and ".env_vars." not in key else []  # where Ray expands names
    for word, _, place in places(target, _NAME, values):
        name = word.strip("${}")
        is_meant = word == name and (key.endswith("_key") or not _is_telling(target, name))
        if name in _names(target) and not is_meant:
            yield MissingDollar(name, word, key, place)


@lru_cache(maxsize=64)
def _names(target: ScriptText) -> frozenset[str]:
    """The variables of a script and `HOME`; none where they are read elsewhere."""
    own = target.script.names - target.script.functions
    return frozenset() if _ELSEWHERE.search(target.text) else own | {"HOME"}


def _is_telling(target: ScriptText, name: str) -> bool:
    """Whether a word can hardly be meant as it is written."""
    long = "_" in name.strip("_") or (name.isupper() and len(name) > 1)
    return long and all(
        item.name != name or item.value.text != name for item in target.script.assignments
    )


def places(
    target: ScriptText, pattern: re.Pattern[str], values: Iterable[Value]
) -> Iterator[tuple[str, Part, Place]]:
    """Where a pattern matches in values: the text, and the part and place where it begins, once.

    What is not known is NUL.
    """
    seen: set[Place] = set()
    for value in values:
        texts = ["\0" if part.text is None else part.text for part in value.parts]
        ends = [*accumulate(map(len, texts))]
        for match in pattern.finditer("".join(texts)):
            at = bisect_right(ends, match.start())
            place = target.place_in(value.parts[at], match.start() - ends[at] + len(texts[at]))
            if place not in seen:
                seen.add(place)
                yield match[0].partition("\0")[0], value.parts[at], place


_WHOLE_NODES = {",".join(map(str, range(count))) for count in (8, 16)}


@rule("warning")
def visible_devices(target: ScriptText) -> Iterator[Mistake]:
    """A script does not choose the devices of the machine that it runs on.

    The numbers are those of its author's machine; elsewhere they are taken or missing, and the
    framework stops or waits for ever.

    Bad: `export CUDA_VISIBLE_DEVICES=4,5 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`
    """
    for item in target.script.assignments:
        seen, text = item.exported or item.prefix, item.value.text or ""
        whole = text in _WHOLE_NODES and _uses_whole_node(target.run)
        chosen = re.match(r"(?!-1)[^,\s]", text) and not whole
        if seen and chosen and not item.value.default and _DEVICES.fullmatch(item.name):
            message = f"`{shown(item.raw)}` chooses devices of its author's machine"
            yield target.mistake(item.place, message, "Delete it.")


def _uses_whole_node(run: Run | None) -> bool:
    """Whether a run uses eight devices of each machine, or that is not known."""
    counts = run.gpu_counts[1::2] if run else []
    known = [count.number for count in counts if run and not run.may_change(count.key)]
    return not known or sum(number or 8 for number in known) >= 8


@rule("warning")
def misleading_name(target: ScriptText) -> Iterator[Mistake]:
    """A variable is the data set that its name says.

    A reader believes the name, and copies the line.

    Bad: `math_test_path=$HOME/data/gsm8k/test.parquet; echo "$math_test_path"`
    Good: `gsm8k_test_path=$HOME/data/gsm8k/test.parquet; echo "$gsm8k_test_path"`

    A variable that nothing reads is reported for that alone.
    """
    for item in target.script.assignments:
        value = item.value.shown.lower()
        said, held = _words(item.name.lower()) & _SETS, _words(value) & _SETS
        is_path = item.elements is None and ("/" in value or "." in value)
        if is_path and said and held and not said & held and item.name not in _unused(target):
            names = f"`{item.name}` says `{min(said)}`"
            message = f"{names}, its value `{shown(item.value.shown)}` says `{min(held)}`"
            yield target.mistake(item.place, message, "Correct the one that is wrong.")


_SETS = frozenset({"gsm8k", "math", "geo3k", "hellaswag"})
_TRAIN = frozenset({"train", "training"})
_HELD_OUT = frozenset({"test", "val", "valid", "validation", "eval"})


def _words(text: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", text))


def split_of(path: str) -> str:
    """`train` or `test`, where the name of a data file says one of them; else nothing."""
    words = _words(path.lower().rpartition("/")[2])
    is_train, is_held_out = bool(words & _TRAIN), bool(words & _HELD_OUT)
    return "" if is_train == is_held_out else "train" if is_train else "test"
