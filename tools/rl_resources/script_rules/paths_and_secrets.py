"""Rules about what a script names: paths, hosts, data files, secrets and e-mail addresses.

Secrets are found by their forms alone, as their issuers document them: nothing asks how random a
word is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.script import Value
from rl_resources.script.launch import Override
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules.data import FILES
from rl_resources.script_rules.variables import dollars_missing, places
from rl_resources.text import shown

_TABLE = table_beside(__file__)
_PRIVATE = re.compile(
    r"/(?<![\w./~}\0$@%+-]/)(?:(?:home|Users)/[\w.-]+"
    r"|(?:root|mnt|nfs\w*|cpfs\w*|lustre|gpfs|fsx|scratch|shared?|data\d*|datasets?|ssd\d*"
    r"|nvme\d*|efs|ceph\w*|jfs|juicefs|user|users|apdcephfs\w*|ossfs|storage|projects?|work(?:space)?"
    r"|public|models?|ckpts?|checkpoints?|pfs|afs|vepfs\w*|dfs|nas\w*|oss|hdfs|mlx"
    r"|opt/(?!(?:amazon|bitnami|conda|cuda|homebrew|hpcx|intel|mellanox|miniconda3?|miniforge3?|ml"
    r"|nvidia|pytorch|ray|rocm\S*|slurm|venv|verl)/)[\w.-]+)(?=/))[^\s,'\"\]);:]*"
)
_HOME = re.compile(
    r"/(?:home|Users)/(?!user\b|username\b|you\b|your\w*)", re.IGNORECASE
)
"""A directory that nobody else has, also no default; others may be usual somewhere."""
_TESTED = re.compile(r"\s-[defrsx]\s+[\"']?(?:\$\{?(\w+)|(/[^\s\"'\]]+))")
"""A path that a script uses only where it exists, or the variable that has it."""
_OWN_HOME = re.compile(r"/(?:(?:home|Users)/[^/]+|root)(?=/)")
_PRIVATE_HOST = re.compile(
    r"(?:hdfs|viewfs)://[^\s'\"]+"
    r"|(?<![\w.])(?<![=<>~!]=)(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})"
    r"(?![\w./])(?:(?=/)/(?!\d))?"
    r"|(?<=://)(?!host\.docker\.internal)[\w.-]+\.(?:internal|corp|intra|intranet|lan)\b"
)

_NOBODYS = re.compile(rf"(?i)x{{3}}|your|<|{_PRIVATE_HOST.pattern}")
"""What an account has that is to be filled in, or is reported as a private host."""
_OF_ITS_AUTHOR = re.compile(r"(?:https?|all|ftp)_proxy|WANDB_ENTITY", re.IGNORECASE)


@rule("warning")
def private_path(target: ScriptText) -> Iterator[Mistake]:
    """A script contains no path, host, proxy or account that only its author has.

    Nobody else has `/home/ann` or `/mnt/team`: the run stops, trains on other data, or waits for a
    machine that it cannot reach.

    Bad: `python3 -m verl.trainer.main_ppo data.train_files=/home/ann/gsm8k/train.parquet`
    Good: `DATA_DIR=${DATA_DIR:-"$HOME/data"} ⏎ python3 -m verl.trainer.main_ppo
        data.train_files="$DATA_DIR/gsm8k/train.parquet"`
    """
    yield from _private_paths(target)
    yield from _private_hosts(target)
    yield from _private_accounts(target)


def _private_paths(target: ScriptText) -> Iterator[Mistake]:
    """The first private path in each line: a search path may have many."""
    seen = set()
    tested = set(chain.from_iterable(_TESTED.findall(target.text)))
    tested.update(
        item.value.text for item in target.script.assignments if item.name in tested
    )
    for text, part, place in places(target, _PRIVATE, values(target)):
        if text in tested or (part.default and not _HOME.match(text)):
            continue
        if place.line in seen:
            continue
        seen.add(place.line)
        fix = 'Leave it out, or make it a setting that works for everyone: `${NAME:-"$HOME/…"}`.'
        own = _OWN_HOME.match(text)
        if own:
            fix = f"Write `${{HOME}}{shown(text[own.end() :])}`."
        yield target.mistake(
            place, f"`{shown(text)}` is a path on the author's machine", fix
        )


def _private_hosts(target: ScriptText) -> Iterator[Mistake]:
    """The first private address in each line that does not name `no_proxy`."""
    seen = {
        number
        for number, line in enumerate(target.script.lines, 1)
        if "no_proxy" in line.lower()
    }
    for text, part, place in places(target, _PRIVATE_HOST, values(target)):
        if place.line in seen or part.default:
            continue
        seen.add(place.line)
        yield target.mistake(
            place,
            f"`{shown(text)}` is an address in the author's network",
            "Leave it out, or let the reader set it: `${NAME:?}`.",
        )


def _private_accounts(target: ScriptText) -> Iterator[Mistake]:
    for item in target.script.assignments:
        text = item.value.text
        is_own = text and not item.value.default and not _NOBODYS.search(text)
        if is_own and _OF_ITS_AUTHOR.fullmatch(item.name):
            yield target.mistake(
                item.place,
                f"`{shown(item.raw)}` belongs to the author's network or account",
                "Leave it out; readers have their own.",
            )


@rule("warning", style=True)
def relative_path(target: ScriptText) -> Iterator[Mistake]:
    """Data files are found from any working directory.

    A relative path depends on the directory in which the script is started.

    Bad: `python3 -m verl.trainer.main_ppo data.train_files=data/gsm8k/train.parquet`
    Good: `python3 -m verl.trainer.main_ppo data.train_files="$HOME/data/gsm8k/train.parquet"`
    """
    if any(command.name in ("cd", "pushd") for command in target.script.commands):
        return
    for launch in target.launches:
        for override in launch.overrides:
            if override.key in FILES:
                yield from _relative_paths(target, override)


def _relative_paths(target: ScriptText, override: Override) -> Iterator[Mistake]:
    if override.content is None or any(dollars_missing(target, override)):
        return
    for path, part, place in places(target, _RELATIVE, [override.content]):
        if not part.default:
            yield target.mistake(
                place,
                f"`{shown(path)}` is relative to the directory in which the script is started",
                'Start it with a directory that everybody has, such as `"$HOME/…"`.',
            )


_RELATIVE = re.compile(r"(?:^|(?<=[\[,'\" ]))(?:\.\.?/)?[\w-][\w.-]*(?:/[\w.-]+)+")


def values(target: ScriptText) -> Iterator[Value]:
    """Every value that the script sets or passes to a program."""
    for item in target.script.assignments:
        if item.elements is None:
            yield item.value
    for command in target.script.commands:
        if command.name not in _TABLE["no_uses"]:
            yield from (word.value for word in command.words)


_LONGEST_LINE = 4096
"""What follows on a line is not searched: some patterns take its square in time."""
_SECRETS = [re.compile(pattern) for pattern in _TABLE["secrets"]]
_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|your|(?<![a-z0-9])example|placeholder|change.?me|<|>|\.\.\.|\*{3,}|dummy|fake"
)
_COUNTING = re.compile(r"(?i)0?1234567(?:89)?0?|abcdef(?:ghijklmnopqrstuvwxyz)?")
"""What people type who make a token up; one that has little else is made up."""
_LEAST_REST = 12
_MAIL = re.compile(
    r"(?<![\w.%+/:-])(?:mailto:)?(?P<address>(?!git@)[\w.%+-]+"
    r"@(?>(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}))(?![\w.-]*(?:[:/](?!\s)|=))"
)
"""An address of a person: `git@` is the account of a server."""
_NO_MAIL = re.compile(
    r"(?i)example\.|noreply|\.local$|^(?:you|user|name|email|someone)@"
)


@lru_cache(maxsize=4096)
def _first_secret(line: str) -> tuple[int, str] | None:
    """Where the first secret in a line begins, from 0, and itself. Scripts have most in common."""
    line = line[:_LONGEST_LINE]
    for pattern in _SECRETS:
        for match in pattern.finditer(line):
            group = match.lastgroup or 0
            if not _is_made_up(match[group]):
                return match.start(group), match[group]
    return None


def _is_made_up(text: str) -> bool:
    if _PLACEHOLDER.search(text) or len(set(text)) <= 3:
        return True
    rest = _COUNTING.sub("", text)
    return rest != text and len(rest) < _LEAST_REST


@rule()
def secret(target: ScriptText) -> Iterator[Mistake]:
    """A script contains no password, token or key.

    Bots find a published secret within minutes; it must be revoked.

    Bad: `export HF_TOKEN=hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3g`
    Good: `export HF_TOKEN=${HF_TOKEN:-}`
    """
    lines = [*enumerate(target.script.lines, 1)]
    for value in values(target):
        text = value.text or ""
        if text not in target.text:
            lines.append((value.parts[0].origin.line, text))
    for number, line in lines:
        found = _first_secret(line)
        if found:
            start, word = found
            yield Mistake(
                target.path,
                number,
                start + 1,
                f"this looks like a secret: `{shown(word[:4])}…`",
                "Revoke it, delete it, and read it from the environment.",
            )


@rule("warning")
def script_email_address(target: ScriptText) -> Iterator[Mistake]:
    """A script contains no email address.

    Addresses in public files are harvested; the Git history names the author.

    Bad: `# written by ann.lee@university.edu`
    Good: `# written by Ann Lee`
    """
    for line, column, address in mail_addresses(target.script.lines):
        if not _NO_MAIL.search(address):
            yield Mistake(
                target.path,
                line,
                column,
                f"`{address[0]}…@…` is an e-mail address",
                "Delete it.",
            )


def mail_addresses(lines: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of each address of a person."""
    for number, line in enumerate(lines, 1):
        if "@" in line:
            for match in _MAIL.finditer(line):
                yield number, match.start() + 1, match["address"]
