"""What a script says in words: its file name and its comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from rl_resources.check.subject import ScriptText
from rl_resources.contribute.fact import Fact, Facts, cell, plain_text
from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.script.name import ScriptName, parsed

NOT_IN_COMMENTS = frozenset({"script", "framework", "status", "notes"})
_TITLED = re.compile(r"#+\s*([A-Za-z][A-Za-z ]{1,30}?)\s*:\s*(\S.*)")
_MEMORY = re.compile(r"(\d+)\s*G(?:i?B)?\b", re.IGNORECASE)
_OWN_MEMORY = re.compile(r"-\d+g$")
_RELEASE = re.compile(
    r"(?<![\w/.-])(vllm|sglang|verl)\s*(?:==|[=@:\s])\s*v?(\d++\.\d++[\w.]*+)"
    r"(?!\s*(?:[+-]|or\b|and (?:above|later|newer|up)))",
    re.IGNORECASE,
)
_HARDWARE = re.compile(
    r"#+\s*(?:hardware|devices?|gpus?|resources?|accelerators?)\b", re.IGNORECASE
)
_NOT_RUN_WITH = re.compile(
    r"requires?|needs?|at least|since|minimum|>|<|~|\bfor (?:vllm|sglang|verl)\b", re.IGNORECASE
)


def name_facts(named: ScriptName | None, dataset: Dataset) -> Facts:
    """The cells that a name of the right form states, each where its word is known."""
    if named is None:
        return {}
    models = {str(row["slug"]): str(key) for key, row in dataset.by_key["models"].items()}
    known: Mapping[str, str | None] = {
        "model": models.get(named.model),
        "task": _keys(dataset, "tasks").get(named.task),
        "gpus": str(named.gpus),
        "device": _keys(dataset, "devices").get(named.device),
        "train": _keys(dataset, "backends").get(named.train),
        "infer": _keys(dataset, "backends").get(named.infer),
    }
    return {column: Fact(word) for column, word in known.items() if word}


def _keys(dataset: Dataset, resource: str) -> dict[str, str]:
    return {str(key).lower(): str(key) for key in dataset.by_key[resource]}


def named_parts(path: str) -> ScriptName | None:
    """The parts of a script's name, where it has the right form."""
    return parsed(PurePosixPath(path).name)


def titled_facts(script: ScriptText, dataset: Dataset) -> Facts:
    """The cells of comments such as `# Tag: MIN`, titled as the columns are."""
    schema = dataset.package.resources["tuning"].schema
    columns = {field.title.lower(): field for field in schema.fields}
    found: dict[str, Fact] = {}
    for comment in script.script.comments:
        match = _TITLED.fullmatch(comment.text.strip())
        field = columns.get(match[1].lower()) if match else None
        if match is None or field is None or field.name in NOT_IN_COMMENTS | {"device"}:
            continue
        whole, word = cell(field, match[2]), cell(field, match[2].split()[0])
        known = {key.field for key in schema.foreign_keys}
        fact = word if field.constraints.get("enum") or field.name in known else whole
        if fact.text:
            found.setdefault(field.name, fact)
    return found


def comment_facts(script: ScriptText, infer: str, dataset: Dataset) -> Facts:
    """Device and releases, where comments and file name mention exactly one of each."""
    texts = [plain_text(comment.text) for comment in script.script.comments]
    stem = PurePosixPath(script.path).stem.replace("_", " ")
    engine = infer.partition("-")[0]
    devices = Devices(dataset)
    told = devices.the_one(text for text in texts if _HARDWARE.match(text))
    return {
        "device": told if told.text else devices.the_one([*texts, stem]),
        "infer_version": _the_release(engine, texts, dataset, "infer_version"),
        "framework_version": _the_release(script.framework, texts, dataset, "framework_version"),
    }


def _the_release(program: str, texts: Iterable[str], dataset: Dataset, column: str) -> Fact:
    field = dataset.package.resources["tuning"].schema.field(column)
    found = {
        match[2].rstrip(".")
        for text in texts
        if not _NOT_RUN_WITH.search(text)
        for match in _RELEASE.finditer(text)
        if match[1].lower() == program
    }
    if len(found) > 1:
        return Fact(doubt=f"its comments name {', '.join(sorted(found))}")
    return cell(field, found.pop()) if found else Fact()


class Devices:
    """Accelerators as people write them: key, name, alias, or key without its memory."""

    def __init__(self, dataset: Dataset) -> None:
        self._rows: Mapping[str, Record] = {
            str(key): row for key, row in dataset.by_key["devices"].items()
        }

    def the_one(self, texts: Iterable[str]) -> Fact:
        """The device that texts mention, where it is one."""
        found = {device for text in texts for device in self._mentioned(text)}
        if len(found) > 1:
            return Fact(doubt=f"it can be {' or '.join(sorted(found))}")
        return Fact(found.pop()) if found else Fact(doubt="nothing in the script names it")

    def _mentioned(self, text: str) -> Iterator[str]:
        memories = {float(match) for match in _MEMORY.findall(text)}
        for match in self._pattern.finditer(text.lower()):
            spelling = _spelled(match[1])
            fits = self._spellings[spelling]
            sized = [key for key in fits if self._rows[key]["memory_gb"] in memories]
            exact = [key for key in fits if key == spelling]
            yield from (sized if len(sized) == 1 else exact or fits)

    @cached_property
    def _spellings(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, row in self._rows.items():
            aliases = row["aliases"] if isinstance(row["aliases"], tuple) else ()
            words = {key, _OWN_MEMORY.sub("", key), str(row["name"]), *aliases}
            for word in map(_spelled, words):
                if re.search(r"[a-z]", word) and re.search(r"\d", word):
                    found.setdefault(word, []).append(key)
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._spellings, key=len, reverse=True)
        words = "|".join(re.escape(word).replace(r"\-", "[- ]?") for word in longest_first)
        return re.compile(rf"(?<![a-z0-9.])(?:\d+ ?[x*\u00d7] ?)?({words})(?![a-z0-9])")


def _spelled(text: str) -> str:
    """One spelling for the many: lower case, words joined by `-`."""
    return "-".join(text.lower().split())
