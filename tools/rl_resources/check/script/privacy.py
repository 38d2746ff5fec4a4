"""Rules about what a script reveals of its author."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.tokens import LONGEST_LINE, Secret, first_secret
from rl_resources.check.script.values import places, values
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Place
from rl_resources.words import shown

_PRIVATE = re.compile(
    r"(?<![\w./~}\0$@%+-])(?:/(?:home|Users)/[\w.-]+"
    r"|/(?:root|mnt|nfs\w*|cpfs\w*|lustre|gpfs|fsx|scratch|shared?|data\d*|datasets?|ssd\d*"
    r"|nvme\d*|efs|ceph\w*|jfs|juicefs|user|users|apdcephfs\w*|ossfs|storage|projects?|work"
    r"|public|models?|ckpts?|checkpoints?|pfs|afs|vepfs\w*|dfs|nas\w*|oss|hdfs|mlx"
    r"|opt/(?!(?:amazon|bitnami|conda|cuda|homebrew|hpcx|intel|mellanox|miniconda3?|miniforge3?|ml"
    r"|nvidia|pytorch|ray|rocm\S*|slurm|venv|verl)/)[\w.-]+)(?=/))[^\s,'\"\]);:]*"
)
_HOME = re.compile(r"/(?:home|Users)/(?!user\b|username\b|you\b|your\w*)", re.IGNORECASE)
"""A folder that nobody else has, so that it is no default either; others may be usual somewhere."""
_OWN_HOME = re.compile(r"/(?:(?:home|Users)/[^/]+|root)(?=/)")
_PRIVATE_HOST = re.compile(
    r"(?:hdfs|viewfs)://[^\s'\"]+"
    r"|(?<![\w.])(?<![=<>~!]=)(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})"
    r"(?![\w./])(?:(?=/)/(?!\d))?"
    r"|(?<=://)(?!host\.docker\.internal)[\w.-]+\.(?:internal|corp|intra|intranet|lan)\b"
)
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"})
_ACCOUNTS: Mapping[str, re.Pattern[str]] = {
    "WANDB_ENTITY": re.compile(r".+"),
    "HF_ENDPOINT": re.compile(r"(?!https://(?:huggingface\.co|hf-mirror\.com)/?$)https?://.+"),
    "WANDB_BASE_URL": re.compile(r"(?!https?://(?:api\.)?wandb\.ai)https?://.+"),
    "SWANLAB_WORKSPACE": re.compile(r".+"),
}
_INTERFACES = frozenset({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"})
_COMMON_INTERFACE = re.compile(r"\^.*|=?(?:eth\d*|lo|en|ib)(?:,(?:eth\d*|lo|en|ib))*")
_MAIL = re.compile(
    r"(?<![\w/:.+@-])[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9-]+\.)+"
    r"(?:com|org|net|edu|io|ai|cn|de|uk|fr|jp|kr|ru|in|ch|ca|gov|me|dev|info)\b(?![\w=.@/:-]*=)"
)
_NO_MAIL = re.compile(r"(?i)^git@|example\.|noreply|^(?:you|user|name|email|someone)@")


@rule("warning")
def private_path(subject: ScriptText) -> Iterator[Mistake]:
    """A script names no path, host, proxy or account that only its author has.

    Nobody else has `/home/ann` or `/mnt/team`; the run stops, or trains on other data. It waits for
    a machine that it cannot reach, or an account refuses it.

    Bad: `python3 -m verl.trainer.main_ppo data.train_files=/home/ann/gsm8k/train.parquet`
    Good: `DATA_DIR=${DATA_DIR:-"$HOME/data"} ⏎ python3 -m verl.trainer.main_ppo
        data.train_files="$DATA_DIR/gsm8k/train.parquet"`
    """
    seen: set[int] = set()
    for place, path in _private_paths(subject):
        if place.offset not in seen:
            seen.add(place.offset)
            fix = (
                'Make it a setting with a default that everybody has: `${DATA_DIR:-"$HOME/data"}`.'
            )
            if own := _OWN_HOME.match(path):
                fix = f"Write `${{HOME}}{shown(path[own.end() :])}`."
            message = f"`{shown(path)}` is a path of its author's machine"
            yield subject.mistake(place, message, fix)
    lines: set[int] = set()
    for place, message in (*_private_settings(subject), *_private_hosts(subject)):
        if place.line not in lines:
            lines.add(place.line)
            fix = "Delete it, or make it a setting that is read from the environment."
            yield subject.mistake(place, message, fix)


def _private_paths(subject: ScriptText) -> Iterator[tuple[Place, str]]:
    for value in values(subject):
        for path, part, at in places(_PRIVATE, value):
            if not part.default or _HOME.match(path):
                yield subject.place_in(part, at), path


def _private_settings(subject: ScriptText) -> Iterator[tuple[Place, str]]:
    for item in subject.script.assignments:
        text = item.value.text
        if not text or item.default or item.reach == "never":
            continue
        if item.name.lower() in _PROXIES:
            yield item.place, f"`{shown(item.raw)}` names the proxy of its author's network"
        elif item.name in _ACCOUNTS and _ACCOUNTS[item.name].fullmatch(text):
            yield item.place, f"`{shown(item.raw)}` names an account of its author"
        elif item.name in _INTERFACES and not _COMMON_INTERFACE.fullmatch(text):
            yield item.place, f"`{shown(item.raw)}` names a network card of its author's machine"


def _private_hosts(subject: ScriptText) -> Iterator[tuple[Place, str]]:
    open_to = {
        id(item.value) for item in subject.script.assignments if item.name.lower() == "no_proxy"
    }
    for value in values(subject):
        for host, part, at in places(_PRIVATE_HOST, value) if id(value) not in open_to else ():
            if not part.default and "no_proxy" not in (part.text or "").lower():
                place = subject.place_in(part, at)
                yield place, f"`{shown(host)}` is an address in its author's network"


@rule()
def secret(subject: ScriptText) -> Iterator[Mistake]:
    """A script holds no password, token or key.

    What was published once is read by programs within minutes; it must be revoked.

    Bad: `export HF_TOKEN=hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3g`
    Good: `export HF_TOKEN=${HF_TOKEN:-}`
    """
    for number, line in enumerate(subject.script.lines, 1):
        if found := first_secret(line):
            yield _secret_mistake(subject, number, found.at + 1, found)
    for value in values(subject):
        joined = value.text
        if joined and joined not in subject.text and (found := first_secret(joined)):
            place = value.parts[0].origin
            yield _secret_mistake(subject, place.line, place.column, found)


def _secret_mistake(subject: ScriptText, line: int, column: int, found: Secret) -> Mistake:
    message = f"this looks like a {found.kind}: `{shown(found.text[:4])}…`"
    fix = "Revoke it, delete it, and read it from the environment."
    return Mistake(subject.path, line, column, message, fix)


@rule("warning")
def mail_address(subject: ScriptText) -> Iterator[Mistake]:
    """A script holds no e-mail address.

    Addresses in public files are collected; the author is in the history.

    Bad: `# written by ann.lee@university.edu`
    Good: `# written by Ann Lee`
    """
    for number, line in enumerate(subject.script.lines, 1):
        for match in _MAIL.finditer(line[:LONGEST_LINE]):
            if not _NO_MAIL.search(match[0]):
                message = f"`{shown(match[0])}` is an e-mail address"
                yield Mistake(subject.path, number, match.start() + 1, message, "Delete it.")
