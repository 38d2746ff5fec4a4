"""What a command deletes or overwrites that is not the script's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from rl_resources.check.script.calls import Call, bare, name_of, names
from rl_resources.check.script.outside import is_of_reader, is_outside, is_root_or_home
from rl_resources.script.shell import Word
from rl_resources.words import shown

CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_CLOUDS = names("aws gcloud gsutil hadoop hdfs hf huggingface-cli kubectl rclone")
_DISK_TOOLS = frozenset({"wipefs", "fdisk", "sfdisk", "sgdisk", "parted", "blkdiscard"})
_WRITE_ALL = frozenset({"tee", "dd", "rm", "unlink", "mv"})
_WRITE_LAST = frozenset({"cp", "ln", "install", "truncate", "rsync"})

_IN_PLACE = re.compile(r"-[nErsz]*i|--in-place")
_RECURSIVE = re.compile(r"-\w*[rR]|--recursive")
_ALL_THAT_LIES_HERE = re.compile(r"(?:\./)?\.?\*|\.")
_FINDS_AND_DELETES = re.compile(
    r"(?:^| )(?:-delete|-exec(?:dir)? (?:(?:rm|shred)\b|\w*sh -c .*\brm\b))"
)
_CLEANS = re.compile(r"\bclean\b.* -\w*[fdx]")
_DELETES_IN_CLOUD = re.compile(
    r"(?:^| )(?:-?rm\b(?=.* -(?:r|-recursive)\b)|rm -r\b|-rm -r\b|purge\b|rb\b|delete-cache\b"
    r"|repo delete\b|delete (?:namespace\b|.*--all\b))"
)
_REMOVES_CONTAINERS = re.compile(
    r"^(?:system|volume|image|container) prune\b|^(?:rm|rmi|kill|stop)\b.*(?:\$\(|`)\w+ "
)
_UNPACKS_AT_ROOT = {
    "tar": re.compile(r"(?:^| )(?:-C|--directory)[ =]?/(?: |$)"),
    "unzip": re.compile(r"(?:^| )-d */(?: |$)"),
}


def of_deletion(call: Call) -> str | None:
    """What a command deletes, in words that fit after it."""
    if listed := _deleted(call):
        return listed
    if call.name == "git" and _CLEANS.search(call.line):
        return "deletes what the reader has not committed"
    if call.name == "mv" and (
        any(map(is_root_or_home, call.words[1:-1])) or call.texts[-1:] == ["/dev/null"]
    ):
        return "moves all that is the reader's away"
    if call.name in _CLOUDS and _DELETES_IN_CLOUD.search(call.line) and "$" not in call.line:
        return "deletes what does not lie on this machine"
    if call.name in CONTAINERS and _REMOVES_CONTAINERS.search(" ".join(call.raws)):
        return "removes containers that the script has not started"
    return None


def of_writing(call: Call) -> str | None:
    """What of the reader's a command changes or overwrites, in words that fit after it."""
    targets = [item.target for item in call.command.redirections if ">" in item.operator]
    if call.name in _WRITE_ALL or (call.name == "sed" and any(map(_IN_PLACE.match, call.texts))):
        targets += call.words[1:]
    elif call.name in _WRITE_LAST:
        targets += call.words[-1:]
    for word in targets:
        path = (word.text or word.value.shown).removeprefix("of=")
        if is_of_reader(path):
            return f"changes `{shown(path)}`, which is the reader's own"
    if call.name.startswith("mkfs") or call.name in _DISK_TOOLS:
        return "overwrites a disk"
    at_root = _UNPACKS_AT_ROOT.get(call.name)
    return "unpacks over the reader's system" if at_root and at_root.search(call.line) else None


def _deleted(call: Call) -> str | None:
    """What of the words of a command, or of those before it, it deletes."""
    listed = name_of(call.command.words) == "xargs"
    recursive = any(map(_RECURSIVE.match, call.texts))
    if call.name == "shred" or (call.name == "rm" and (recursive or listed)):
        return _of_rm(call, listed)
    if call.name == "rsync" and "--delete" in call.line:
        return _outside(call.words[-1:], call.assigned)
    if call.name == "find" and _FINDS_AND_DELETES.search(call.line):
        return _outside(call.words[1:2], call.assigned)
    if call.name == "tar" and "--remove-files" in call.texts:
        return _outside(call.words[1:], call.assigned)
    return None


def _of_rm(call: Call, listed: bool) -> str | None:
    targets = [*call.words[1:]]
    if _is_away(call) and any(_ALL_THAT_LIES_HERE.fullmatch(word.raw) for word in targets):
        return "deletes all that lies in the folder that the script has gone to"
    if listed:
        if "/{}" not in call.line and not call.written.issuperset(_lists(call)):
            return "deletes what a file names that the script does not write"
        targets += [word for one in call.piped for word in bare(one)[1:]]
    return _outside(targets, call.assigned)


def _lists(call: Call) -> Iterator[str]:
    """The files that tell `xargs` what there is to delete."""
    first = next(iter(call.piped), call.command)
    yield from (item.target.raw for item in first.redirections if item.operator == "<")
    told, given = first.name == "cat", first is call.command
    words = pairwise(first.words)
    yield from (word.raw for flag, word in words if told or (given and flag.text == "-a"))


def _is_away(call: Call) -> bool:
    """Whether the script has gone out of the work folder."""
    gone = bare(call.gone) if call.gone else ()
    if name_of(gone) not in {"cd", "pushd"}:
        return False
    return len(gone) == 1 or is_outside(gone[1], call.assigned)


def _outside(words: Iterable[Word], assigned: Mapping[str, str]) -> str | None:
    target = next((word for word in words if is_outside(word, assigned)), None)
    return f"deletes `{shown(target.raw)}`, outside of the work folder" if target else None
