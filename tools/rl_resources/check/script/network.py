"""What a command opens to other machines, and what of the reader's it sends to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rl_resources.check.script.calls import (
    FETCHERS,
    INTERPRETERS,
    SAYERS,
    Call,
    bare,
    name_of,
    names,
    spelt,
)
from rl_resources.check.script.outside import is_root_or_home
from rl_resources.script.shell import Word

_NETCATS = frozenset({"nc", "ncat", "netcat"})
_KEY_USERS = frozenset({"ssh", "scp", "sftp", "sshpass", "autossh", "ssh-copy-id"})
_MAILERS = frozenset({"mail", "mailx", "mutt", "sendmail"})
_ASKERS = names("dig drill host nslookup ping")
"""What tells another machine its words by asking for them."""
_CARRIERS = FETCHERS | _ASKERS | {"logger"}
_SENDERS = names("aws azcopy gcloud gh gsutil hf huggingface-cli rclone rsync s3cmd scp wandb")
_LISTENERS = names("""
    Xvnc bore chisel cloudflared code-server dropbear frpc gotty gs-netcat httpd inetd ngrok rpcapd
    sshd tailscale tailscaled telnetd tmate ttyd vncserver wetty x11vnc xinetd zrok
    """)

_LISTENS = re.compile(r"(?:^|\s)-(?:\w*[lec]|-listen|-exec)")
_SERVERS = re.compile(
    r"-m\s*pyftpdlib|\b(?:http\.server|SimpleHTTPServer|socketserver)\b|\bpty\.spawn\b"
    r"|-run\b.*httpd\b|\bTCP(?:Socket|Server)\.(?:new|open)\b|IO::Socket"
)
_FOR_EVERYBODY = re.compile(r"ip[= ]'?(?:0\.0\.0\.0|\*)")
_ENDS_OF_SOCAT = re.compile(r"LISTEN|EXEC|SYSTEM", re.IGNORECASE)
_JOINS = re.compile(r"\b(?:TCP|UDP|SCTP|OPENSSL|SSL|SOCKS|PROXY)[\w-]{0,16}:", re.IGNORECASE)
_DEVICE = re.compile(r"(?:[io]f=)?/dev/(?:tcp|udp)/")
_ONLY_TRIES = re.compile(r"(?:^| )-\w*z")

_SENDING_OPTIONS = {
    "curl": re.compile(r"(?:-d|--data\S*|-F|--form) *\S*@|(?:^| )(?:-T|--upload-file)\b"),
    "wget": re.compile(r"--(?:post|body)-file\b"),
}
_OF_READER = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\$\{?\w+\}?)"
    r"(?::(?:\d+|\$\{?\w+\}?))?(?:/[^@]*)?"
)
_TAKES_WORD = re.compile(r"-\w*[dXHoF]|--(?:data\S*|request|header|output|form|post-file)")
_PLAIN_FLAG = re.compile(
    r"-[sSfvikN]*[dXHoF]?|--(?:data\S*|request|header|output|form|post-file|silent|fail)"
)
_PRIVATE_FILE = re.compile(
    r"(?:^|[/ :@=])\.(?:ssh|aws|netrc|kube|gnupg|docker|pypirc|git-credentials|config/gcloud)\b"
    r"|/etc/(?:passwd|shadow)\b|\bid_(?:rsa|ed25519)\b|\.(?:bash|zsh)_history\b"
)
_PRIVATE = re.compile(
    r"(?:\$\(|`)\s*(?:(?:env|printenv|whoami|history|id(?=[ )`]))\b"
    rf"|(?:cat|base64|head|tail|tar|<)\s[^)`]{{0,400}}(?:{_PRIVATE_FILE.pattern}|credentials))"
)

_TOKEN = re.compile(
    r"\$\{?(?P<issuer>WANDB|OPENAI|ANTHROPIC|HF|HUGGING_?FACE|GITHUB|GH|AWS)_\w*(?:KEY|TOKEN|SECRET)"
    r"|/huggingface/(?:stored_)?tokens?\b"
)
_HOST = re.compile(r"\b[a-z]+://(?P<host>[\w.-]+)")
_ISSUERS = {"HF": r"hugging|\bhf\b|hf-", "HUGGINGFACE": r"hugging|\bhf\b|hf-"}
_ISSUERS |= {"HUGGING_FACE": _ISSUERS["HF"], "GH": "github", "AWS": "aws"}

_NAME = re.compile(r"\$\{?(\w+)")
_NODE = re.compile(r"(?:[\w${}-]+@)?(?:\$\{?\w+\}?|\{\})")
_OTHER_HOST = re.compile(r"[.@]")
_ON_NODE = re.compile(r"\$\{?\w+\}?:")
_TAKES_NEXT = re.compile(r"-\w*[BbcDEeFIiJLlmOopQRSWw]")
_LEADS_AWAY = re.compile(r"-\w*[RLDw]|(?:-o ?)?(?:Proxy|Local|Remote)\w*=", re.IGNORECASE)
_STARTS_RUN = re.compile(r"\b(?:ray|python[\d.]*|torchrun|nvidia-smi)\b")


def of_network(call: Call) -> str | None:
    """What a command does with other machines that is to fear, in words that fit after it."""
    if _listens(call):
        return "opens the machine to the network"
    if _connects(call):
        return "opens a connection to another machine"
    if call.name == "git" and call.texts[:1] == ["push"]:
        return "publishes from the reader's machine"
    if call.name in _KEY_USERS and not (_is_own_node(call) or _copies_of_own_node(call)):
        return "uses the reader's keys on another machine"
    if _sends(call):
        return "sends files or settings of the reader to another machine"
    return None


def _connects(call: Call) -> bool:
    """Whether it speaks with another machine without a protocol of its own.

    To try whether something listens there, and to say nothing, is what scripts wait with.
    """
    name, line = call.name, call.line
    reads_nothing = any(item.target.text == "/dev/null" for item in call.command.redirections)
    if name in _NETCATS:
        return not (reads_nothing or _ONLY_TRIES.search(line))
    if name == "socat":
        return _JOINS.search(line) is not None
    if any(_DEVICE.match(item.target.value.shown) for item in call.command.redirections):
        says = any(not text.startswith("-") for text in call.texts)
        return not reads_nothing and (says or name not in SAYERS)
    if name in SAYERS:
        return False
    return any(map(_DEVICE.match, call.texts)) or (name.endswith("awk") and "/inet/" in line)


def _listens(call: Call) -> bool:
    name, line = call.name, call.line
    if INTERPRETERS.fullmatch(name) and _SERVERS.search(line):
        return True
    return (
        name in _LISTENERS
        or (name in _NETCATS and _LISTENS.search(line) is not None)
        or (name == "socat" and _ENDS_OF_SOCAT.search(line) is not None)
        or (name == "code" and call.texts[:1] == ["tunnel"])
        or (name == "php" and "-S" in call.texts)
        or (name.startswith("jupyter") and _FOR_EVERYBODY.search(line) is not None)
        or (name == "openssl" and "s_server" in call.texts)
        or (name == "rsync" and "--daemon" in call.texts)
        or (name == "redis-server" and "--protected-mode no" in line)
    )


def _is_own_node(call: Call) -> bool:
    """Whether `ssh` starts a command on a machine that the script is told, as a node of the run."""
    words = ssh_words(call)
    options = call.raws[: -len(words)]
    if len(words) < 2 or any(map(_LEADS_AWAY.match, options)):
        return False
    if not _NODE.fullmatch(words[0].raw.replace('"', "")):
        return False
    starts = _STARTS_RUN.search(" ".join(word.raw for word in words[1:]))
    return starts is not None or not _OTHER_HOST.search(words[0].text or "")


def ssh_words(call: Call) -> Sequence[Word]:
    """Of a call of `ssh` the machine and the command that runs there."""
    if call.name != "ssh":
        return ()
    at = 1
    while at < len(call.words) and call.words[at].raw.startswith("-"):
        at += 2 if _TAKES_NEXT.fullmatch(call.words[at].raw) else 1
    return call.words[at:]


def _copies_of_own_node(call: Call) -> bool:
    """Whether `scp` fetches from a machine that the script is told."""
    raws = [word.raw.replace('"', "") for word in call.words[1:] if not word.raw.startswith("-")]
    return call.name == "scp" and all(map(_ON_NODE.match, raws[:-1]))


def _sends(call: Call) -> bool:
    """Whether a command sends files or settings of the reader."""
    if _sends_private_file(call):
        return True
    if call.name not in _CARRIERS:
        return False
    if any(name_of(bare(one)) in {"env", "printenv"} for one in call.piped):
        return True
    raws = " ".join(call.raws)
    held = (call.assigned.get(name, "") for name in _NAME.findall(raws))
    if _sends_token(call) or any(map(_PRIVATE.search, [raws, *held])):
        return True
    options = _SENDING_OPTIONS.get(call.name)
    return bool(options and options.search(call.line) and not _is_to_reader(call))


def _is_to_reader(call: Call) -> bool:
    """Whether all that is sent goes to a server that the reader names, and no option leads away.

    That is one on the same machine, or one that the script is told.
    """
    flags = [raw for raw in call.raws if raw.startswith("-")]
    targets = [
        spelt(word).strip("\"'")
        for before, word in pairwise(call.words)
        if not (word.raw.startswith("-") or _TAKES_WORD.fullmatch(before.raw))
    ]
    alone = all(map(_OF_READER.fullmatch, targets)) and bool(targets)
    return alone and all(map(_PLAIN_FLAG.fullmatch, flags))


def _sends_private_file(call: Call) -> bool:
    """Whether it sends what only the reader has; what `curl` is to log in with is named so."""
    read: list[Word] = []
    if call.name in FETCHERS | _MAILERS:
        read += (word for one in call.piped for word in bare(one)[1:])
        read += (item.target for item in call.command.redirections)
    if call.name in _SENDERS:
        if any(map(is_root_or_home, call.words[1:-1])):
            return True
        read += call.words[1:]
    return any(_PRIVATE_FILE.search(word.raw) for word in read)


def _sends_token(call: Call) -> bool:
    """Whether a token goes to a host of others than who issued it, and not to log in there."""
    raws = " ".join(call.raws)
    token = _TOKEN.search(raws)
    if token and call.name in _ASKERS:
        return True
    hosts = [match["host"] for match in _HOST.finditer(raws)]
    if not token or not hosts or "authorization:" in raws.lower():
        return False
    issuer = token["issuer"] or "HF"
    own = rf"{_ISSUERS.get(issuer, issuer.lower())}|^localhost$|^127\."
    return not any(re.search(own, host, re.IGNORECASE) for host in hosts)
