"""Rules about what a script tells of its author, and does to its reader's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rl_resources.check.registry import Mistake, rule
from rl_resources.check.script.calls import calls
from rl_resources.check.script.danger import fears
from rl_resources.check.script.harm import ends_other_runs as ends_others
from rl_resources.check.script.naming import contradiction, split_of
from rl_resources.check.script.tokens import LONGEST_LINE, Secret, first_secret
from rl_resources.check.script.undollared import is_undollared
from rl_resources.check.subject import ScriptText
from rl_resources.schema.letters import unseen_places
from rl_resources.script.launch import Launch, Override
from rl_resources.script.shell import Part, Place, Value
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
_FORK_BOMB = re.compile(r"([\w:.]{1,40})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;?\s*\1")
_NO_USES = frozenset({"echo", "printf", "export", "declare", "typeset", "local", "readonly"})
"""Commands whose words are only shown, or are assignments, which are looked at as such."""

_DATA_KEYS = ("data.train_files", "data.val_files")


def _words(subject: ScriptText) -> Iterator[Value]:
    """Every value that the script sets or hands to a program."""
    for item in subject.script.assignments:
        if item.reach != "never" and item.elements is None:
            yield item.value
    for command in subject.script.commands:
        if command.reach != "never" and command.name not in _NO_USES:
            for word in command.words:
                yield word.value


def _in_value(pattern: re.Pattern[str], value: Value) -> Iterator[tuple[str, Part, int]]:
    """Where a pattern matches: the text, and the part and the offset in it.

    What is not known stands as NUL.
    """
    text = "".join("\0" if part.text is None else part.text for part in value.parts)
    for match in pattern.finditer(text):
        at = match.start()
        for part in value.parts:
            length = 1 if part.text is None else len(part.text)
            if at < length:
                yield match[0].partition("\0")[0], part, at
                break
            at -= length


@rule(
    summary="A script names no path that only its author has.",
    reason="Nobody else has `/home/ann` or `/mnt/team`; the run stops, or trains on other data.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo data.train_files=/home/ann/gsm8k/train.parquet`",
    good='`DATA_DIR=${DATA_DIR:-"$HOME/data"} ⏎ python3 -m verl.trainer.main_ppo '
    'data.train_files="$DATA_DIR/gsm8k/train.parquet"`',
)
def private_path(subject: ScriptText) -> Iterator[Mistake]:
    told: set[int] = set()
    for value in _words(subject):
        for path, part, at in _in_value(_PRIVATE, value):
            place = subject.place_in(part, at)
            if (part.default and not _HOME.match(path)) or place.offset in told:
                continue
            told.add(place.offset)
            message = f"`{shown(path)}` is a path of its author's machine"
            mend = (
                'Make it a setting with a default that everybody has: `${DATA_DIR:-"$HOME/data"}`.'
            )
            if own := _OWN_HOME.match(path):
                mend = f"Write `${{HOME}}{shown(path[own.end() :])}`."
            yield subject.mistake(place, message, mend)


@rule(
    summary="A script names no host, proxy or account that only its author has.",
    reason="A reader's run waits for a machine that it cannot reach, or is refused by an account.",
    severity="warning",
    bad="`export http_proxy=http://10.1.2.3:3128`",
    good='`export http_proxy="${http_proxy:-}"`',
)
def private_service(subject: ScriptText) -> Iterator[Mistake]:
    told: set[int] = set()
    for place, what in (*_private_settings(subject), *_private_hosts(subject)):
        if place.line not in told:
            told.add(place.line)
            mend = "Take it away, or make it a setting that is read from the environment."
            yield subject.mistake(place, what, mend)


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
    for value in _words(subject):
        for host, part, at in _in_value(_PRIVATE_HOST, value) if id(value) not in open_to else ():
            if not part.default and "no_proxy" not in (part.text or "").lower():
                place = subject.place_in(part, at)
                yield place, f"`{shown(host)}` is an address in its author's network"


@rule(
    summary="Data files are found from wherever a script is started.",
    reason="A relative path counts from the folder that the reader happens to be in.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo data.train_files=data/gsm8k/train.parquet`",
    good='`python3 -m verl.trainer.main_ppo data.train_files="$HOME/data/gsm8k/train.parquet"`',
)
def relative_path(subject: ScriptText) -> Iterator[Mistake]:
    if any(command.name in ("cd", "pushd") for command in subject.script.commands):
        return
    told: set[int] = set()
    for _, override in _data_files(subject):
        parts = override.content.parts if override.content else ()
        if override.content is None or override.content.default or is_undollared(subject, override):
            continue
        pattern = re.compile(r"(?:^|(?<=[\[,'\" ]))(?:\.\.?/)?[\w-][\w.-]*(?:/[\w.-]+)+")
        for path, part, at in _in_value(pattern, Value(parts)):
            place = subject.place_in(part, at)
            if place.offset not in told and part.text is not None:
                told.add(place.offset)
                message = f"`{shown(path)}` counts from the folder that the script is started in"
                mend = f'Begin it with a folder that everybody has: `"$HOME/{shown(path)}"`.'
                yield subject.mistake(place, message, mend)


def _data_files(subject: ScriptText) -> Iterator[tuple[Launch, Override]]:
    for launch in subject.launches:
        for override in launch.overrides:
            if override.key in _DATA_KEYS:
                yield launch, override


@rule(
    summary="A script trains on training data and validates on other data.",
    reason="Scores on the data of the training say nothing; training on test data spoils them.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo "
    'data.train_files="$HOME/a.parquet" data.val_files="$HOME/a.parquet"`',
    good="`python3 -m verl.trainer.main_ppo "
    'data.train_files="$HOME/a/train.parquet" data.val_files="$HOME/a/test.parquet"`',
)
def data_split(subject: ScriptText) -> Iterator[Mistake]:
    for launch in subject.launches:
        files = {item.key: item for item in launch.overrides if item.key in _DATA_KEYS}
        train, held_out = (files.get(key) for key in _DATA_KEYS)
        wrong = [item for item in (train, held_out) if item and _is_other_split(subject, item)]
        if train and held_out and not wrong and _same(train, held_out):
            message = f"`{held_out.key}` is the file that `{train.key}` is"
            yield subject.mistake(held_out.place, message, "Name the held-out file.")
        for item in wrong:
            shown_value = shown(item.content.shown) if item.content else ""
            message = f"`{item.key}` is `{shown_value}`, a file of the other split"
            yield subject.mistake(item.origin, message, "Name the file of the split.")


def _same(train: Override, held_out: Override) -> bool:
    first = train.content.shown if train.content else ""
    second = held_out.content.shown if held_out.content else ""
    plain = not re.search(r"\$\(|\$[\d@*]", first)
    return bool(first) and first == second and plain and split_of(first) == ""


def _is_other_split(subject: ScriptText, override: Override) -> bool:
    """Whether the file's name says the other split, and no variable's name is to blame."""
    text = override.content.shown if override.content else ""
    files = re.findall(r"[^\s,'\"\[\]]+\.(?:parquet|jsonl?)", text)
    splits = {split_of(file) for file in files}
    wanted = "train" if override.key == "data.train_files" else "test"
    if not files or "" in splits or wanted in splits:
        return False
    names = set(override.content.names) if override.content else set()
    blamed = (item for item in subject.script.assignments if item.name in names)
    return not any(contradiction(item) for item in blamed)


@rule(
    summary="A script holds no password, token or key.",
    reason="What was published once is read by programs within minutes; it must be revoked.",
    bad="`export HF_TOKEN=hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3g`",
    good="`export HF_TOKEN=${HF_TOKEN:-}`",
)
def secret(subject: ScriptText) -> Iterator[Mistake]:
    for number, line in enumerate(subject.script.lines, 1):
        if found := first_secret(line):
            yield _told_secret(subject, number, found.at + 1, found)
    for value in _words(subject):
        joined = value.text
        if joined and joined not in subject.text and (found := first_secret(joined)):
            place = value.parts[0].origin
            yield _told_secret(subject, place.line, place.column, found)


def _told_secret(subject: ScriptText, line: int, column: int, found: Secret) -> Mistake:
    message = f"this looks like a {found.kind}: `{shown(found.text[:4])}…`"
    mend = "Revoke it, take it away, and read it from the environment."
    return Mistake(subject.path, line, column, message, mend)


@rule(
    summary="A script holds no e-mail address.",
    reason="Addresses in public files are collected; the author is in the history.",
    severity="warning",
    bad="`# written by ann.lee@university.edu`",
    good="`# written by Ann Lee`",
)
def mail_address(subject: ScriptText) -> Iterator[Mistake]:
    for number, line in enumerate(subject.script.lines, 1):
        for match in _MAIL.finditer(line[:LONGEST_LINE]):
            if not _NO_MAIL.search(match[0]):
                message = f"`{shown(match[0])}` is an e-mail address"
                yield Mistake(subject.path, number, match.start() + 1, message, "Take it away.")


@rule(
    summary="Every sign of a script can be seen.",
    reason="A sign that turns the order of others shows a reader another script than bash runs.",
    bad="`rm x # ⟨U+202E⟩txet`",
    good="`rm x # text`",
)
def unseen_sign(subject: ScriptText) -> Iterator[Mistake]:
    for number, line in enumerate(subject.text.split("\n"), 1):
        at = next((at for at in unseen_places(line) if line[at] not in "\t\r"), None)
        if at is not None:
            message = f"U+{ord(line[at]):04X} stands here, which nobody sees"
            mend = "Take it away, or write it as an escape such as `\\x1b`."
            yield Mistake(subject.path, number, at + 1, message, mend)


@rule(
    summary="A script ends no program that it has not started.",
    reason="On a shared machine the runs of others have the same names. A reader who has the "
    "machine alone loses nothing, so this is no error.",
    bad="`pkill -9 -f ray`",
    good="`ray stop`",
    severity="warning",
)
def ends_other_runs(subject: ScriptText) -> Iterator[Mistake]:
    for call in calls(subject.script):
        command = call.command
        if command.reach != "never" and ends_others(call):
            raw = shown(command.raw.strip(), 80)
            message = f"`{raw}` ends every such program on the machine, also those of other runs"
            mend = "Take it away, or end the process by the id that the script has kept of it."
            yield subject.mistake(command.place, message, mend)


@rule(
    summary="A script does nothing that its reader must fear.",
    reason="Readers run it on machines with their data, keys and colleagues.",
    bad='`curl -s "$URL" | bash`',
    good='`curl -sO "$URL"`',
)
def dangerous_command(subject: ScriptText) -> Iterator[Mistake]:
    told: set[int] = set()
    for command, fear in fears(subject.script):
        if command.place.line not in told:
            told.add(command.place.line)
            raw = shown(command.raw.strip(), 80)
            mend = "Take it away; say in a comment what a reader has to prepare."
            yield subject.mistake(command.place, f"`{raw}` {fear}", mend)
    for function in subject.script.functions:
        bomb = _FORK_BOMB.match(subject.text, function.place.offset)
        if bomb and function.place.line not in told:
            message = f"`{shown(bomb[0])}` starts processes without end"
            yield subject.mistake(function.place, message, "Take it away.")
