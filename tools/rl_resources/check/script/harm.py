"""What a command does that its reader must fear, judged by the words that bash would hand over.

By classes: what deletes or overwrites outside of the work folder, what opens the machine to others
or sends them its files, what takes rights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rl_resources.script.shell import Command, Word
from rl_resources.words import shown

FETCHERS = frozenset(
    {"curl", "wget", "aria2c", "axel", "lynx", "nc", "ncat", "socat", "aws", "gsutil", "gcloud"}
    | {
        "dig",
        "nslookup",
        "ftp",
        "telnet",
        "fetch",
        "lwp-request",
        "GET",
        "http",
        "https",
        "openssl",
        "rclone",
    }
)
INTERPRETERS = re.compile(r"(?:python|pypy|lua)[\d.]*|ipython|perl|ruby|node|php")
_PREFIXES = frozenset(
    {"env", "nohup", "time", "exec", "command", "builtin", "nice", "ionice", "stdbuf", "timeout"}
    | {"setsid", "srun", "xargs", "busybox", "watch", "unbuffer", "parallel", "coproc"}
)
_PREFIX_WORD = re.compile(r"-.*|\w+=.*|\d+[smhd]?")
_HARMLESS = re.compile(r"/(?:tmp|var/tmp|dev/shm)/(?!\.\.)[^/*\s]")
_CACHE = re.compile(
    r"(?:~|\$(?:HOME|\{HOME\}))/(?:\.cache/(?:vllm|torch\w*|triton|flashinfer|sglang|outlines)"
    r"|\.triton)(?:/\w[\w.-]*)*/?"
)
"""What a run has compiled and compiles anew."""
_HOME = re.compile(r"(?:~|\$(?:HOME|\{HOME(?::\?[^}]*)?\}))(?:/\*?|/\.(?!/).*)?")
_SYSTEM = re.compile(
    r"/(?:(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var/spool)\b|dev/(?:sd|nvme|mem|vd))"
)
_KEPT = re.compile(
    r"\.ssh\b|authorized_keys|\.(?:bash|zsh)rc\b|\.(?:bash_)?(?:profile|history)\b"
    r"|\.config/(?:systemd|autostart)/|/cron|sitecustomize|\.pth$|\.git/hooks/"
)
_WRITERS = frozenset({"tee", "cp", "mv", "ln", "install", "sed", "truncate", "rsync", "dd"})
_WRITERS |= {"rm", "unlink"}
_WRITE_ALL = frozenset({"tee", "sed", "dd", "rm", "unlink", "mv"})
_UPLOADS = re.compile(r"(?:-d|--data\S*|-F|--form) *\S*@|(?:^| )(?:-T|--upload-file)\b")
_POSTS = re.compile(r"--(?:post|body)-file\b")
_OF_THIS_MACHINE = re.compile(
    r"[\"']?(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::(?:\d+|\$\{?\w+\}?))?(?:/[^@]*)?"
)
_TAKES_WORD = re.compile(r"-\w*[dXHoF]|--(?:data\S*|request|header|output|form|post-file)")
_PLAIN_FLAG = re.compile(
    r"-[sSfvikN]*[dXHoF]?|--(?:data\S*|request|header|output|form|post-file|silent|fail)"
)
_FINDS_AND_DELETES = re.compile(
    r"(?:^| )(?:-delete|-exec(?:dir)? (?:(?:rm|shred)\b|\w*sh -c .*\brm\b))"
)
_CLOUDS = frozenset({"aws", "gsutil", "gcloud", "hdfs", "hadoop", "kubectl", "hf", "rclone"})
_CLOUDS |= {"huggingface-cli"}
_DELETES_IN_CLOUD = re.compile(
    r"(?:^| )(?:-?rm\b(?=.* -(?:r|-recursive)\b)|rm -r\b|-rm -r\b|purge\b|rb\b|delete-cache\b"
    r"|repo delete\b|delete (?:namespace\b|.*--all\b))"
)
_PRIVATE = re.compile(
    r"(?:\$\(|`)\s*(?:(?:env|printenv)\b|(?:cat|base64|<)\s[^)`]*(?:\.ssh/|\.aws/|\.netrc|\.kube/"
    r"|/etc/(?:passwd|shadow)|id_rsa|credentials))"
)
_PRIVATE_FILE = re.compile(
    r"(?:^|[/ :@=])\.(?:ssh|aws|netrc|kube|gnupg|git-credentials)\b|/etc/shadow\b"
    r"|\bid_(?:rsa|ed25519)\b"
)
_SENDERS = frozenset(
    {"scp", "rsync", "rclone", "aws", "gsutil", "gcloud", "gh", "s3cmd", "azcopy", "hf"}
)
_SENDERS |= {"huggingface-cli"}
_MAILERS = frozenset({"mail", "mailx", "mutt", "sendmail"})
_TOKEN = re.compile(
    r"\$\{?(?P<issuer>WANDB|HF|HUGGING_?FACE|GITHUB|GH|AWS)_\w*(?:KEY|TOKEN|SECRET)"
)
_HOST = re.compile(r"[a-z]+://(?P<host>[\w.-]+)|\$\{?\w+\}?\.(?P<part>[\w-]+\.[\w.-]+)")
_ISSUERS = {"HF": r"hugging|\bhf\b|hf-", "GH": "github", "AWS": "aws"}
_RIGHTS = frozenset(
    {"sudo", "su", "doas", "pkexec", "useradd", "usermod", "passwd", "visudo", "insmod", "modprobe"}
    | {"userdel", "groupadd", "setenforce", "swapoff", "swapon"}
    | {"iptables", "ufw", "nft", "setcap", "chattr", "mount", "nsenter", "chroot"}
)
_RUNS = re.compile(r"(?:^|[\s/])(?:python|ray|vllm|sglang|torchrun)[0-9.]*\b")
_LISTENERS = frozenset(
    {"sshd", "dropbear", "xinetd", "inetd", "rpcapd", "telnetd", "ngrok", "cloudflared", "frpc"}
    | {"bore", "gotty", "ttyd", "wetty", "httpd", "tailscale", "tailscaled", "chisel", "tmate"}
    | {"code-server", "gs-netcat", "vncserver", "x11vnc", "Xvnc"}
)
_LISTENS = re.compile(r"(?:^|\s)-(?:\w*[lec]|-listen|-exec)")
_SERVERS = re.compile(
    r"-m\s*pyftpdlib|\b(?:http\.server|SimpleHTTPServer|socketserver)\b|\bpty\.spawn\b"
    r"|-run\b.*httpd\b|\bTCP(?:Socket|Server)\.(?:new|open)\b|IO::Socket"
)
_MINERS = frozenset({"xmrig", "minerd", "cpuminer", "ethminer", "nbminer", "lolMiner"})
_KEY_USERS = frozenset({"ssh", "scp", "sftp", "sshpass", "autossh", "ssh-copy-id"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_DISK_TOOLS = frozenset({"wipefs", "fdisk", "sfdisk", "sgdisk", "parted", "blkdiscard"})


@dataclass(frozen=True, eq=False)
class Call:
    """A command with those before it in its pipeline, and with the variables that the script sets.

    `away` is whether the script has gone to the root or to the reader's home by then.
    """

    command: Command
    piped: tuple[Command, ...]
    assigned: frozenset[str]
    away: bool = False

    @cached_property
    def words(self) -> Sequence[Word]:
        """The words from the program's name on that is run in the end."""
        return bare(self.command)

    @cached_property
    def name(self) -> str:
        """The program's name without its folder."""
        return name_of(self.words)

    @cached_property
    def texts(self) -> list[str]:
        """Its arguments; what is not known as it is written."""
        return [word.text or word.value.shown for word in self.words[1:]]


def bare(command: Command) -> Sequence[Word]:
    """The words of a command without those that only start it: of `nohup bash x`, `bash x`."""
    words: Sequence[Word] = command.words
    while len(words) > 1 and name_of(words) in _PREFIXES:
        renamed = name_of(words) == "exec" and words[1].text == "-a"
        words = words[3:] if renamed and len(words) > 3 else words[1:]
        while len(words) > 1 and _PREFIX_WORD.fullmatch(words[0].text or ""):
            words = words[1:]
    return words


def name_of(words: Sequence[Word]) -> str:
    return (words[0].text or "").rpartition("/")[2] if words else ""


def ends_other_runs(command: Command) -> bool:
    """Whether it ends programs by a name that other runs on the machine share."""
    words = bare(command)
    line = " ".join(word.text or word.value.shown for word in words[1:])
    by_name = name_of(words) in {"pkill", "killall"} or (
        name_of(words) == "kill" and re.search(r"\b(?:pgrep|pidof)\b", line)
    )
    return bool(by_name) and _RUNS.search(line) is not None


def harm(call: Call) -> str | None:
    """What the command does, in words that fit after it."""
    return _of_deletion(call) or _of_writing(call) or _of_network(call) or _of_rights(call)


def leaves_work_folder(command: Command, assigned: frozenset[str], away: bool) -> bool:
    """Whether the folder after a command is the root or the reader's home; `away` is before it."""
    words = bare(command)
    if name_of(words) not in {"cd", "pushd"}:
        return away
    target = words[1].raw.strip("\"'/") if len(words) > 1 else "~"
    return target in {"", "~", "$HOME", "${HOME}"}


def _of_deletion(call: Call) -> str | None:
    line = " ".join(call.texts)
    recursive = any(re.match(r"-\w*[rR]|--recursive", text) for text in call.texts)
    listed = name_of(call.command.words) == "xargs"
    if (call.name == "rm" and (recursive or listed)) or call.name == "shred":
        targets = [*call.words[1:]]
        if call.away and any(re.fullmatch(r"(?:\./)?\.?\*|\.", word.raw) for word in targets):
            return "deletes all that lies in the folder that the script has gone to"
        if listed:
            targets += [word for one in call.piped for word in bare(one)[1:]]
        return _deletes(targets, call.assigned)
    if call.name == "rsync" and "--delete" in line:
        return _deletes(call.words[-1:], call.assigned)
    if call.name == "find" and _FINDS_AND_DELETES.search(line):
        return _deletes(call.words[1:2], call.assigned)
    if call.name == "git" and re.search(r"\bclean\b.* -\w*[fdx]", line):
        return "deletes what the reader has not committed"
    if call.name == "mv" and (
        any(_is_root_or_home(word) for word in call.words[1:-1]) or call.texts[-1:] == ["/dev/null"]
    ):
        return "moves all that is the reader's away"
    if call.name in _CLOUDS and _DELETES_IN_CLOUD.search(line) and "$" not in line:
        return "deletes what does not lie on this machine"
    if call.name == "tar" and "--remove-files" in call.texts:
        return _deletes(call.words[1:], call.assigned)
    raws = " ".join(word.raw for word in call.words[1:])
    if call.name in _CONTAINERS and re.search(
        r"^(?:system|volume|image|container) prune\b|^(?:rm|rmi|kill|stop)\b.*(?:\$\(|`)\w+ ", raws
    ):
        return "removes containers that the script has not started"
    return None


def _is_root_or_home(word: Word) -> bool:
    return _HOME.fullmatch(_spelt(word)) is not None or word.raw.strip("\"'") in {"/", "/*"}


def _spelt(word: Word) -> str:
    """A word with what it knows of its variables, and as written what they take from outside."""
    parts = word.value.parts
    return "".join(part.source if part.text is None else part.text for part in parts)


def _deletes(words: Sequence[Word], assigned: frozenset[str]) -> str | None:
    target = next((word for word in words if _is_outside(word, assigned)), None)
    return f"deletes `{shown(target.raw)}`, outside of the work folder" if target else None


def _is_outside(word: Word, assigned: frozenset[str]) -> bool:
    first, raw = word.value.parts[0] if word.value.parts else None, word.raw.replace('"', "")
    if _CACHE.fullmatch(raw):
        return False
    text = first.source if first and first.reason == "pathname" else word.text
    if text is not None and re.match(r"/|~|(?:\./)?\.\.(?:/|$)", text):
        return not _HARMLESS.match(text)
    if first and (first.text or "").startswith("/"):
        return not _HARMLESS.match(_spelt(word))
    if _HOME.fullmatch(raw) or _HOME.fullmatch(_spelt(word)) or re.search(r"/\.\.(?:/\*?)?$", raw):
        return True
    whole = re.fullmatch(r"\$\{?([A-Za-z_]\w*)\}?/\*?", raw)
    if whole is not None and whole[1] not in assigned:
        return True  # the root, where the variable is not set
    unset = first is not None and first.text is None and first.reason == "environment"
    return bool(unset and first and first.name.islower() and "/" in raw and ":?" not in raw)


def _of_writing(call: Call) -> str | None:
    redirected = call.command.redirections
    if any(re.match(r"/dev/(?:tcp|udp)/", item.target.value.shown) for item in redirected):
        return "opens a connection to another machine"
    targets = [item.target for item in redirected if ">" in item.operator]
    if call.name in _WRITERS:
        targets += call.words[1:] if call.name in _WRITE_ALL else call.words[-1:]
    for word in targets:
        text = (word.text or word.value.shown).removeprefix("of=")
        if _SYSTEM.match(text) or _KEPT.search(text):
            return f"changes `{shown(text)}`, which is the reader's own"
    if call.name.startswith("mkfs") or call.name in _DISK_TOOLS:
        return "overwrites a disk"
    line = " ".join(call.texts)
    unpacks = {"tar": r"(?:^| )(?:-C|--directory)[ =]?/(?: |$)", "unzip": r"(?:^| )-d */(?: |$)"}
    if call.name in unpacks and re.search(unpacks[call.name], line):
        return "unpacks over the reader's system"
    return None


def _of_network(call: Call) -> str | None:
    line = " ".join(call.texts)
    listens = (
        (call.name in {"nc", "ncat", "netcat"} and _LISTENS.search(line))
        or (call.name == "socat" and re.search(r"LISTEN|EXEC|SYSTEM", line, re.IGNORECASE))
        or (INTERPRETERS.fullmatch(call.name) and _SERVERS.search(line))
        or (call.name == "php" and "-S" in call.texts)
        or (call.name.startswith("jupyter") and re.search(r"ip[= ]'?(?:0\.0\.0\.0|\*)", line))
        or call.name in _LISTENERS
        or (call.name == "openssl" and "s_server" in call.texts)
        or (call.name == "rsync" and "--daemon" in call.texts)
        or (call.name == "redis-server" and "--protected-mode no" in line)
    )
    if listens:
        return "opens the machine to the network"
    if call.name == "git" and re.match(r"push\b", line):
        return "publishes from the reader's machine"
    if re.fullmatch(r"\w*awk", call.name) and "/inet/" in line:
        return "opens a connection to another machine"
    if call.name in _KEY_USERS and not (_is_own_node(call) or _copies_of_own_node(call)):
        return "uses the reader's keys on another machine"
    if _sends(call, line):
        return "sends files or settings of the reader to another machine"
    return None


def _is_own_node(call: Call) -> bool:
    """Whether `ssh` starts a command on a machine that the script is told, as a node of the run."""
    raws = [word.raw.strip("\"'") for word in call.words[1:]]
    at = next((at for at, raw in enumerate(raws) if not raw.startswith("-")), 0)
    forwards = any(re.match(r"-\w*[RLDw]", raw) for raw in raws[:at])
    named = bool(raws) and re.fullmatch(r"(?:\$\{?\w+\}?@)?\$\{?\w+\}?", raws[at]) is not None
    starts = re.search(r"\b(?:ray|python[\d.]*|torchrun|nvidia-smi)\b", " ".join(raws[at + 1 :]))
    return call.name == "ssh" and named and not forwards and starts is not None


def _copies_of_own_node(call: Call) -> bool:
    """Whether `scp` fetches from a machine that the script is told."""
    raws = [word.raw.replace('"', "") for word in call.words[1:] if not word.raw.startswith("-")]
    return call.name == "scp" and all(re.match(r"\$\{?\w+\}?:", raw) for raw in raws[:-1])


def _sends(call: Call, line: str) -> bool:
    """Whether a command sends files or settings of the reader."""
    if call.name in {"nc", "ncat", "netcat"} and call.piped and "-z" not in call.texts:
        return True
    if _sends_private_file(call) or _sends_token(call):
        return True
    if call.name not in FETCHERS:
        return False
    told = any(name_of(bare(one)) in {"env", "printenv"} for one in call.piped)
    raws = " ".join(word.raw for word in call.words[1:])
    options = {"curl": _UPLOADS, "wget": _POSTS}.get(call.name)
    if told or _PRIVATE.search(raws):
        return True
    return bool(options and options.search(line) and not _is_to_this_machine(call))


def _is_to_this_machine(call: Call) -> bool:
    """Whether all that is sent goes to a server on the same machine, and no option leads away."""
    raws = [word.raw for word in call.words[1:]]
    flags = [raw for raw in raws if raw.startswith("-")]
    targets = [
        raw
        for before, raw in pairwise(["", *raws])
        if raw not in flags and not _TAKES_WORD.fullmatch(before)
    ]
    alone = all(map(_OF_THIS_MACHINE.fullmatch, targets)) and bool(targets)
    return alone and all(map(_PLAIN_FLAG.fullmatch, flags))


def _sends_private_file(call: Call) -> bool:
    """Whether it sends what only the reader has; what `curl` is to log in with is named so."""
    read = [word for one in call.piped for word in bare(one)[1:]]
    read = read if call.name in FETCHERS | _MAILERS else []
    read = [*read, *call.words[1:]] if call.name in _SENDERS else read
    whole = call.name in _SENDERS and any(map(_is_root_or_home, call.words[1:-1]))
    return whole or any(_PRIVATE_FILE.search(word.raw) for word in read)


def _sends_token(call: Call) -> bool:
    """Whether a token goes to a host of others than who issued it, and not to log in there."""
    raws = " ".join(word.raw for word in call.words[1:])
    token = _TOKEN.search(raws)
    hosts = [match["host"] or match["part"] for match in _HOST.finditer(raws)]
    if call.name not in FETCHERS or not token or not hosts or "authorization:" in raws.lower():
        return False
    issuer = "HF" if token["issuer"].startswith("HUGG") else token["issuer"]
    own = rf"{_ISSUERS.get(issuer, issuer.lower())}|^localhost$|^127\."
    return not any(re.search(own, host, re.IGNORECASE) for host in hosts)


def _of_rights(call: Call) -> str | None:
    line = " ".join(call.texts)
    if call.name in _RIGHTS or (call.name == "sysctl" and "-w" in call.texts):
        return "needs the rights of the administrator"
    if call.name in {"chmod", "chown"} and re.search(
        r"(?:^| )(?:\+?s|[ugo]+\+\w*s|[2-7][0-7]{3})\b|(?:777|a\+rwx|-R\b.*) /(?!tmp/|dev/shm/)",
        line,
    ):
        return "opens files of the system to everybody"
    if (
        call.name in {"chmod", "chown"}
        and "-R" in call.texts
        and any(map(_is_root_or_home, call.words))
    ):
        return "opens or closes all that is the reader's"
    if call.name in {"crontab", "at", "batch", "systemctl", "service", "launchctl"}:
        return "stays on the reader's machine after the run"
    if call.name in _CONTAINERS and re.search(
        r"--privileged|(?:-v|--volume)[ =]/(?:var/run/docker\.sock)?:", line
    ):
        return "gives a container the whole machine"
    of_reader = call.name in {"pkill", "killall", "scancel"} and re.fullmatch(
        r"(?:-\w+ )*-[uU] ?\S+", line
    )
    if of_reader or (call.name == "kill" and len(call.texts) > 1 and call.texts[-1] in {"1", "-1"}):
        return "ends every program of the reader"
    if call.name in _MINERS or "stratum+tcp:" in line:
        return "works for somebody else than the reader"
    if call.name in {"shutdown", "reboot", "poweroff", "halt", "killall5"} or (
        call.name in {"init", "telinit"} and call.texts in (["0"], ["6"])
    ):
        return "stops the machine"
    return None
