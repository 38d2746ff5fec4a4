"""Variables of a script.

Each variable is set, is read, and contains what its name says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.script import Assignment, Part, Place, Reference
from rl_resources.script.framework import shipped
from rl_resources.script.launch import Override
from rl_resources.script.script_text import ScriptText
from rl_resources.text import is_slip, shown

_FOR_PROGRAMS = re.compile(
    r"_|PATH|IFS|PS[0-4]|LANG|LC_\w+|SECONDS|OPTIND|REPLY|TZ|HOME|TERM|TMPDIR|LD_LIBRARY_PATH"
    r"|PYTHONPATH|BASH_\w+|\w+_proxy"
)
_DEVICES = re.compile(r"(?:CUDA|ASCEND_RT|HIP|ROCR)_VISIBLE_DEVICES")
_READ_BY_PROGRAMS = re.compile(
    r"(?:NCCL|HCCL|ASCEND|HF_HUB|VLLM_USE|TORCH_NCCL)_\w+|PYTORCH\w*_ALLOC_CONF|HYDRA_FULL_ERROR"
    r"|TOKENIZERS_PARALLELISM|WANDB_(?:API_KEY|MODE)|HF_(?:HOME|ENDPOINT)"
    r"|CUDA_(?:DEVICE_MAX_CONNECTIONS|LAUNCH_BLOCKING)"
)
WITH_DEFAULT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_REMOTE = re.compile(r"^[^#\n]*\b(?:ray[\s\\]+job|ssh)\s", re.M)
_COUNTS = r"N?NODES|N?GPUS?_PER_NODE|N_GPUS\w*|NPROC\w*"
_SHARED = re.compile(
    rf"_|\w+_proxy|{_COUNTS}|NODE_\w+|RANK|WORLD_SIZE|LOCAL_\w+|MASTER_\w+|HOSTNAME|HOST|PORT"
    r"|HEAD_\w+|HOME|PATH|PWD|OLDPWD|USER|SHELL|UID|BASH\w*"
    r"|SECONDS|EUID|LINENO|PPID|EPOCH\w+|OSTYPE|HOSTTYPE|MACHTYPE|SRANDOM|LOGNAME|LANG|TERM|VIRTUAL_ENV"
    r"|JAVA_HOME|OPTARG|OPTIND|REPLY|(?:ASCEND|PBS|LSB|OMPI|KUBERNETES|CONDA)_\w+|(?:SLURM|CUDA|NCCL|WANDB|HF|HUGGING|RAY|VLLM|TORCH|PET|MLP|ARNOLD|VC)_\w+|PIPESTATUS|RANDOM"
)
"""Names that come from outside."""
_INDIRECT = re.compile(
    r"\$\{![A-Za-z_]|(?:^|[;&|({\s])(?:source|\.|eval|envsubst|compgen)\s|(?:declare|local)\s+-\w*n",
    re.M,
)


@rule()
def undefined_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is read is set somewhere.

    bash puts nothing in the place of a variable that is not set, and says nothing.

    Bad: `model=Qwen/Qwen3-8B; echo "$modle"`
    Good: `model=Qwen/Qwen3-8B; echo "$model"`
    """
    seen: set[str] = set()
    for reference in target.script.references:
        name = reference.name
        fix = "" if name in seen else _undefined(target, reference)
        if fix:
            seen.add(name)
            without = " without arguments" if name.isdigit() else ""
            message = f"`{shown(reference.raw)}` is not set{without}"
            yield target.mistake(reference.place, message, fix)


def _undefined(target: ScriptText, reference: Reference) -> str:
    """The fix of a name that is not set where it is read; empty where it may come from outside."""
    name = reference.name
    if reference.operator in WITH_DEFAULT:
        return ""
    if re.fullmatch("[1-9]", name):
        wrong = target.ours and not _handles_arguments(target, name)
        return "Write a value, or a default: `${NAME:-VALUE}`." if wrong else ""
    if reference.defined or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return ""
    if _SHARED.fullmatch(name) or _is_indirect(target) or _is_tested(target, name):
        return ""
    stops = reference.reach == "always" and target.sets("nounset", reference.place)
    stops &= re.fullmatch(r"\$\{\w+\[[@*]\]\}", reference.raw) is None  # an empty list
    own = [item.place for item in target.script.assignments if item.name == name]
    if own:
        below = min(own) > reference.place and not name.isupper()
        return f"Move line {min(own).line} above the line that reads it." if below else ""
    if meant := _similar(target, name):
        return f"Did you mean `{meant}`?"
    if name.isupper() and not (target.ours and stops):
        return ""
    return f"Set it, or give a default: `${{{name}:-…}}`."


def _handles_arguments(target: ScriptText, number: str) -> bool:
    """Whether a script counts, sets or tests arguments, or has functions with their own.

    One of a record passes overrides on, and reads none by its number.
    """
    handled = rf"\$\{{?#|\bset --|\bshift\b|\(\s*\)|\bfunction\b|\$\{{{number}:?[-+=?]"
    tested = rf"(?:\[|\bcase)\s[^;\n]*\$\{{?{number}\b"
    return re.search(f"{handled}|{tested}", target.text) is not None


def _is_tested(target: ScriptText, name: str) -> bool:
    """Whether the script asks if the name is set, so that it may come from outside, or sets it in
    arithmetic, which is not followed, or with spaces around the `=`.
    """
    alone = rf"""\[\s+["']?\$\{{?{name}\}}?["']?\s+\]"""
    asked = rf"""-[nzv]\s+["']?\$?\{{?{name}\b|\$\{{{name}:?[-+?=]|{alone}"""
    counted = rf"\(\([^()]*\b{name}\s*[-+*/%]?=[^=]"
    spaced = rf"^[ \t]*{name}[ \t]+=\s"  # ShellCheck reports it
    return re.search(f"{asked}|{counted}|{spaced}", target.text, re.M) is not None


def _similar(target: ScriptText, name: str) -> str:
    """An assigned name that differs by one slip of the fingers, or by its case."""
    names = sorted(target.script.names) if len(name) > 3 else []
    same = [known for known in names if known.lower() == name.lower() and known != name]
    slips = [known for known in names if len(known) > 3 and is_slip(known, name)]
    return next(iter(same + slips), "")


@lru_cache(maxsize=64)
def _is_indirect(target: ScriptText) -> bool:
    """Whether names may be read or set where the text does not show it."""
    return not target.script.complete or bool(_INDIRECT.search(without_comments(target)))


@rule("warning")
def unused_variable(target: ScriptText) -> Iterator[Mistake]:
    """Every variable that is set is read.

    A setting that nothing reads looks as if it had an effect.

    Bad: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size=32`
    Good: `batch_size=16; python3 -m verl.trainer.main_ppo data.train_batch_size="$batch_size"`
    """
    if _is_indirect(target) or any(o.name == "allexport" and o.on for o in target.script.options):
        return
    seen = _read_names(target)
    for item in target.script.assignments:
        programs = item.prefix or item.exported or _FOR_PROGRAMS.fullmatch(item.name)
        if item.name in seen or programs:
            continue
        seen.add(item.name)
        message = f"`{item.name}` is set, but nothing reads it"
        fix = "Use it where its value is written out, export it for a program that reads it, or "
        fix = "Delete it." if _DEVICES.fullmatch(item.name) else f"{fix}delete it."
        if _READ_BY_PROGRAMS.fullmatch(item.name):
            message = f"`{item.name}` is set, but not exported: no program sees it"
            fix = f"Write `export {item.name}=…`."
        yield target.mistake(item.place, message, fix)


_OWN_DEFAULT = re.compile(r"(?P<name>[A-Za-z_]\w*)=\"?(?P<read>\$\{(?P=name):?[-=+])")
"""A setting that names itself, which is no use of it: `NAME=${NAME:-VALUE}`."""
_BARE = re.compile(
    r"\(\([\s\S]*?\)\)|\[\[[\s\S]*?\]\]|\b(?:let|(?:declare|local|typeset) -\w*i)\b.*"
    r"|\w+\[[^\]\n]*\]|\$\{@?\w*:[^-+=?}\n][^}\n]*\}|\s-v +\w+"
)
"""Where names are read without a `$`."""


def _own_defaults(target: ScriptText, text: str) -> Iterator[int]:
    """Where settings read themselves; programs may read what is exported outside under the name."""
    for item in target.script.assignments:
        found = _OWN_DEFAULT.match(text, item.place.offset)
        is_own = re.fullmatch(_COUNTS, item.name) or not _SHARED.fullmatch(item.name)
        if found and is_own and not (item.prefix or item.exported):
            yield found.start("read")


def _read_names(target: ScriptText) -> set[str]:
    """Names that are read or exported, and those that another rule says were meant to be."""
    script, text = target.script, without_comments(target)
    own, names = {*_own_defaults(target, text)}, re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")
    read = {found[1] for found in names.finditer(text) if found.start() not in own}
    read |= {*re.findall(r"[A-Za-z_]\w*", " ".join(_BARE.findall(text)))}
    read |= {item.name for item in script.references if item.place.offset not in own}
    read |= {*re.findall(r"\$\((\w+)\)", text)}  # `$(NAME)` is `${NAME}` with a slip
    read |= {item.name for item in script.assignments if item.exported}
    for command in script.commands:
        if command.name in ("export", "declare", "typeset", "let", "unset", "read"):
            read |= {word.text or "" for word in command.words[1:]}
    read |= {found.name for found in missing_dollars(target)}
    undefined = (item.name for item in script.references if _undefined(target, item))
    return read | {_similar(target, name) for name in undefined}


@rule()
def missing_dollar(target: ScriptText) -> Iterator[Mistake]:
    """A variable's value is written with `$`: `${NAME}`.

    Without it the program gets the name for the value, and looks for a model or a file of that
    name.

    Bad: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path=model_path`
    Good: `model_path=Qwen/Qwen3-8B ⏎ python3 -m verl.trainer.main_ppo
        actor_rollout_ref.model.path="$model_path"`
    """
    for found in missing_dollars(target):
        yield target.mistake(found.place, found.message, found.fix)


_QUOTED = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_LOGIN = frozenset({"HOME", "PWD", "USER"})
"""Set wherever a script starts; what `ray job` starts reads them in a shell of its own."""
_BRACED = re.compile(r"(?<![\w$\\{])\{([A-Za-z_]\w*)\}")
_ITEM = re.compile(r"(?<![^\s,\[\]'\"(])[^\s,\[\]'\"(){}]+")


class MissingDollar(NamedTuple):
    """A variable's name in a value, and what is wrong with it there."""

    name: str
    place: Place
    message: str
    fix: str


@lru_cache(maxsize=64)
def missing_dollars(target: ScriptText) -> tuple[MissingDollar, ...]:
    """Every variable of the script whose `$` is lost in an argument, once for each place."""
    if "${!" in target.text or not target.script.complete:
        return ()
    found: dict[int, MissingDollar] = {}
    for override in (item for launch in target.launches for item in launch.overrides):
        for item in _in_override(target, override):
            found.setdefault(item.place.offset, item)
    return tuple(found.values())


def lacks_dollar(target: ScriptText, override: Override) -> bool:
    """Whether the value of an override has such a name, which explains what else is wrong."""
    return next(_in_override(target, override), None) is not None


def _in_override(target: ScriptText, override: Override) -> Iterator[MissingDollar]:
    names = target.script.names - target.script.functions
    for part in override.content.parts if override.content else ():
        yield from _in_part(target, override, part, names)


def _in_part(
    target: ScriptText, override: Override, part: Part, names: Collection[str]
) -> Iterator[MissingDollar]:
    """Names of variables as words."""
    text, default = part.text or "", shipped(target.framework).default(override.key)
    for match in _QUOTED.finditer(text):
        name = match["plain"] or match["braced"]
        if name in names or (name in _LOGIN and not _is_expanded(target, override)):
            message = f"`{match[0]}` is in single quotes: the program gets this text, not the value"
            fix = "Write the value in double quotes."
            yield MissingDollar(name, target.place_in(part, match.start()), message, fix)
    bare = [(match[1], match) for match in _BRACED.finditer(text)]
    if not (override.key.endswith("_key") or default == text):  # names of columns
        bare += [
            (name, match)
            for match in _ITEM.finditer(text)
            if (name := match[0].partition("/")[0]) in names
            if _is_alone(override, part, match) and _is_telling(target, name, default)
        ]
    for name, match in bare:
        if name in names:
            word = match[0].partition("/")[0]
            message = f"`{word}` lacks its `$`: `{override.key}` gets the name of the variable"
            place = target.place_in(part, match.start())
            yield MissingDollar(name, place, message, f"Write `${{{name}}}`.")


def _is_expanded(target: ScriptText, override: Override) -> bool:
    """Whether Ray expands a name in quotes, or perhaps a shell on another machine.

    Ray does so with `os.path.expandvars` in the variables of `env_vars`: ray-project/ray#36187.
    """
    return ".env_vars." in override.key or _REMOTE.search(target.text) is not None


def _is_alone(override: Override, part: Part, match: re.Match[str]) -> bool:
    """Whether a word is not the rest of one that begins or ends in another part."""
    parts = override.content.parts if override.content else ()
    ends = match.end() < len(match.string) or part is parts[-1] or "/" in match[0]
    return ends and (match.start() > 0 or part is parts[0])


def _is_telling(target: ScriptText, name: str, default: object) -> bool:
    """Whether a word can hardly be meant as it is written."""
    if any(item.name == name and item.value.text == name for item in target.script.assignments):
        return False
    long = "_" in name.strip("_") or (name.isupper() and len(name) > 1)
    return long or isinstance(default, int | float)


_GPUS_OF_A_NODE = 8


@rule("warning")
def visible_devices(target: ScriptText) -> Iterator[Mistake]:
    """A script does not choose the devices of the machine that it runs on.

    The numbers are those of its author's machine; elsewhere they are taken or missing, and the
    framework stops or waits for ever.

    Bad: `export CUDA_VISIBLE_DEVICES=4,5 ⏎ python3 -m verl.trainer.main_ppo
        trainer.n_gpus_per_node=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2`
    """
    usual, run = _whole_node(target), target.run
    wanted = (run.gpus_per_node.number if run else 0) or 0
    for item in target.script.assignments:
        seen, text = item.exported or item.prefix, item.value.text or ""
        chosen = re.match(r"(?!-1)[^,\s]", text) and not item.value.default
        if seen and chosen and text != usual and _DEVICES.fullmatch(item.name):
            message = f"`{shown(item.raw)}` chooses devices of its author's machine"
            of_run = item.exported or (run and run.starts_with(item.place))
            if of_run and wanted > (count := len(text.split(","))):
                message += f": {count}, and the run asks for {wanted}"
            yield target.mistake(item.place, message, "Delete it.")


def _whole_node(target: ScriptText) -> str:
    """The devices of a node of which a run uses all; empty where it uses less than eight."""
    run = target.run
    counts = run.gpu_counts[1::2] if run else []
    fixed = run is not None and not any(run.may_change(count.key) for count in counts)
    used = sum(count.number or _GPUS_OF_A_NODE for count in counts) if fixed else _GPUS_OF_A_NODE
    return ",".join(map(str, range(used))) if used >= _GPUS_OF_A_NODE else ""


@rule("warning")
def misleading_name(target: ScriptText) -> Iterator[Mistake]:
    """A variable is what its name says: data set, split.

    A reader believes the name, and copies the line.

    Bad: `math_test_path=$HOME/data/gsm8k/test.parquet; echo "$math_test_path"`
    Good: `gsm8k_test_path=$HOME/data/gsm8k/test.parquet; echo "$gsm8k_test_path"`

    A variable that nothing reads is reported for that alone.
    """
    wrong = [(item, two) for item in target.script.assignments if (two := _contradiction(item))]
    if not wrong:
        return  # what follows takes long
    names, read = {item.name for item, _ in wrong}, _read_names(target)
    for item, (said, held) in wrong:
        if item.name in read and names.isdisjoint(item.value.names):
            value = shown(item.value.shown)
            message = f"`{item.name}` says `{said}`, its value `{value}` says `{held}`"
            yield target.mistake(item.place, message, "Correct the one that is wrong.")


def without_comments(target: ScriptText) -> str:
    """The text with spaces in place of every comment."""
    text = target.text
    for comment in target.script.comments:
        start = comment.place.offset
        end = start + len(comment.text)
        text = text[:start] + " " * (end - start) + text[end:]
    return text


_SETS = frozenset({"gsm8k", "math", "geo3k", "hellaswag"})
_TRAIN = frozenset({"train", "training"})
_HELD_OUT = frozenset({"test", "val", "valid", "validation", "eval"})


def _contradiction(item: Assignment) -> tuple[str, str] | None:
    """What a name says, and what the value is instead; `None` where they agree."""
    if item.elements is not None:
        return None
    value = item.value.shown.lower()
    if "/" not in value and "." not in value:
        return None
    words = set(re.split(r"[^a-z0-9]+", item.name.lower()))
    held = set(re.split(r"[^a-z0-9]+", value))
    said, others = words & _SETS, held & {*_SETS, "aime"}
    if "math" in said:
        others -= {"aime"}  # which is mathematics too
    return (min(said), min(others)) if said and others and not said & others else None


def split_of(path: str) -> str:
    """`train` or `test`, where the name of a data file says one of them; else nothing."""
    words = set(re.split(r"[^a-z0-9]+", path.lower().rpartition("/")[2]))
    is_train, is_held_out = bool(words & _TRAIN), bool(words & _HELD_OUT)
    return "" if is_train == is_held_out else "train" if is_train else "test"
