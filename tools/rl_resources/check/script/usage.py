"""Where a script uses its variables, as far as its text shows it."""

from __future__ import annotations

import re
from functools import lru_cache

from rl_resources.check.script.content import without_comments
from rl_resources.check.script.undollared import undollared
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Reference
from rl_resources.words import is_slip

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


@lru_cache(maxsize=64)
def is_indirect(subject: ScriptText) -> bool:
    """Whether names may be read or set where the text does not show it."""
    return not subject.script.complete or bool(_INDIRECT.search(without_comments(subject)))


def undefined(subject: ScriptText, reference: Reference) -> str | None:
    """What may be meant by a name that is not set; `None` where nothing is wrong with it."""
    name = reference.name
    unset = reference.defined == "no" and reference.reach != "never"
    if not unset or reference.operator in _WITH_DEFAULT or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return None
    if name in _OUTSIDE or is_indirect(subject) or _is_tested(subject, name):
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
def used_names(subject: ScriptText) -> frozenset[str]:
    """Names that are read or exported, and those that another rule says were meant to be."""
    meant = (undefined(subject, reference) for reference in subject.script.references)
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
