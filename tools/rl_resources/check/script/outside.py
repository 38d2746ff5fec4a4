"""Which words of a command name a place outside of the work folder."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rl_resources.check.script.calls import spelt
from rl_resources.script.shell import Word

_HARMLESS = re.compile(r"/(?:tmp|var/tmp|dev/shm)/(?!\.\.)[^/*\s]")
_CACHE = re.compile(
    r"(?:~|\$(?:HOME|\{HOME\}))/(?:\.cache/(?:vllm|torch\w*|triton|flashinfer|sglang|outlines)"
    r"|\.triton)(?:/\w[\w.-]*)*/?"
)
"""What a run has compiled and compiles anew."""
_ALL = re.compile(r"/(?:(?:home|root|Users)/?)?\*?")
_HOME = re.compile(r"(?:~|\$(?:HOME|\{HOME(?::\?[^}]*)?\}))(?:/\*?|/\.(?!/).*)?")
_UPWARDS = re.compile(r"/|~|(?:\./)?\.\.(?:/|$)")
_ENDS_ABOVE = re.compile(r"/\.\.(?:/\*?)?$")
_WHOLE_FOLDER = re.compile(r"\$\{?(\d|[A-Za-z_]\w*)\}?/\*?")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?/?\*?")
_EACH = re.compile(r"\"?(?:~|\$(?:HOME|\{HOME\})|/(?:home|root|Users))?\"?/\"?\*/?")
"""What goes through all that is on the machine, or all that is the reader's."""
_SYSTEM = re.compile(
    r"/(?:(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var/(?:lib|spool))\b|dev/(?:sd|nvme|mem|vd)"
    r"|var/log/(?:audit|auth|btmp|journal|lastlog|messages|secure|syslog|wtmp))"
)
_KEPT = re.compile(
    r"\.ssh\b|authorized_keys|\.(?:bash|zsh)rc\b|\.(?:bash_)?(?:profile|history)\b"
    r"|\.bash_(?:aliases|logout)|/\.(?:zshenv|gitconfig|netrc|npmrc|condarc|inputrc|vimrc|pip/|aws/|kube/)"
    r"|\.config/(?:systemd|autostart|fish|git|pip)/|\.ipython/|/cron|(?:site|user)customize"
    r"|(?i:site|packages)\S*\.pth$|\.git/hooks/"
)


def is_root_or_home(word: Word) -> bool:
    """Whether a word is all that is on the machine, or all that is the reader's."""
    raw = word.raw.strip("\"'")
    return _HOME.fullmatch(spelt(word)) is not None or _ALL.fullmatch(raw) is not None


def is_of_reader(path: str) -> bool:
    """Whether a path is one of the system, or one of a reader's settings and keys."""
    return _SYSTEM.match(path) is not None or _KEPT.search(path) is not None


def is_outside(word: Word, assigned: Mapping[str, str]) -> bool:
    """Whether a word leads out of the work folder, or may; `assigned` are variables that are set.

    What is temporary or compiled anew is not meant.
    """
    first, raw = word.value.parts[0] if word.value.parts else None, word.raw.replace('"', "")
    if _CACHE.fullmatch(raw):
        return False
    text = first.source if first and first.reason == "pathname" else word.text
    if text is not None and _UPWARDS.match(text):
        return not _HARMLESS.match(text)
    if first and (first.text or "").startswith("/"):
        return not _HARMLESS.match(spelt(word))
    if _HOME.fullmatch(raw) or _HOME.fullmatch(spelt(word)) or _ENDS_ABOVE.search(raw):
        return True
    whole = _WHOLE_FOLDER.fullmatch(raw)
    if whole is not None and whole[1] not in assigned:
        return True  # the root, where the variable is not set
    loop = _VARIABLE.fullmatch(raw)
    if loop and any(map(_EACH.fullmatch, assigned.get(loop[1], "").split())):
        return True
    unset = first is not None and first.text is None and first.reason == "environment"
    return bool(unset and first and first.name.islower() and "/" in raw and ":?" not in raw)
