"""What verl prints: one line a step, between everything that the libraries below it print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rl_resources.contribute.training_log.metrics import Step, Validation, step_number, told_by

Memory = Literal["accelerator", "host"]


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """Something ran out of memory; `line` is what was printed."""

    memory: Memory
    line: str


@dataclass(frozen=True, slots=True)
class Version:
    """A program of the run named its release."""

    program: str
    version: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The run printed its configuration, with this many prompts a step."""

    prompts: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line of a table that is none."""


Event = Unreadable | Step | OutOfMemory | Version | Batch | Validation

MARKS: Sequence[bytes] = (
    b"step:",
    b"ut of memory",
    b"memory for the cache blocks",
    b"KV cache is needed",
    b"stored in KV cache",
    b"--mem-fraction-static",
    b"memory pressure (OOM)",
    b"node running low on memory",
    b"'train_batch_size'",
)
"""What stands in every line that can be an event."""

VERSION_MARKS: Sequence[bytes] = (
    b"LLM engine (v",
    *(
        f"{name}{after}".encode()
        for name in ("vllm", "vLLM", "sglang", "verl", "torch")
        for after in ("==", " version", "  ", ":")
    ),
    b"PyTorch version",
    b"vLLM API server version",
)
"""The same for releases, which are printed when a run starts."""

LONGEST_TOLD = 300

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_STEP = re.compile(r"(?<![\w/.@-])step:\s?(\d{1,12}) - ")
_BATCH = re.compile(r"'train_batch_size': (\d{1,9})\b")
_ACCELERATOR = re.compile(
    r"\b(?:CUDA|HIP|NPU|XPU|MUSA) out of memory\b"
    r"|\b(?:CUDA|HIP|NPU) [Ee]rror: out of memory"
    r"|\bCuda failure (?:\d+ )?'out of memory'"
    r"|\bNo available memory for the cache blocks"
    r"|\bKV cache is needed, which is larger than the available KV cache memory"
    r"|\blarger than the maximum number of tokens that can be stored in KV cache"
    r"|\bNot enough memory\. Please try to increase --mem-fraction-static"
)
_HOST = re.compile(
    r"\bkilled due to memory pressure \(OOM\)"
    r"|\bkilled due to the node running low on memory"
    r"|\bOut of memory: Kill(?:ed)? process"
)
_ENGINE = re.compile(
    r"Initializing an? (?:V\d )?LLM engine \(v([\w.+]+)\)|vLLM API server version v?([\w.+]+)"
)
_RELEASE = re.compile(
    r"^(?:\([^()]*\) ?)*\s*(?P<listed>vllm|sglang|verl|torch)\s*(?:==|:|\s\s)\s*"
    r"(?P<its>\d+(?:\.\d+)+[\w.]*)(?:\+[\w.]+)?\s*$"
    r"|(?<![\w./-])(?P<named>vllm|sglang|verl|torch|pytorch) version\s*[:=]?\s*v?"
    r"(?P<release>\d+(?:\.\d+)+[\w.]*)",
    re.IGNORECASE,
)
_PROGRAMS: Mapping[str, str] = {"pytorch": "torch"}


def events(line: bytes) -> Iterator[Event]:
    """What one line that holds a mark tells."""
    text = plain(line)
    step = _STEP.search(text)
    if step is not None:
        metrics = dict(_pair(word) for word in text[step.end() :].split(" - "))
        told = told_by(step_number(step[1]), metrics)
        if told is not None:
            yield told
    elif (found := _ACCELERATOR.search(text)) is not None:
        yield OutOfMemory("accelerator", text[found.start() :][:LONGEST_TOLD])
    elif (found := _HOST.search(text)) is not None:
        yield OutOfMemory("host", text[: found.end()][-LONGEST_TOLD:])
    elif (batch := _BATCH.search(text)) is not None:
        yield Batch(int(batch[1]))


def versions(line: bytes) -> Iterator[Version]:
    """The releases that a line names."""
    text = plain(line[:2000])
    for match in _ENGINE.finditer(text):
        yield Version("vllm", _release(match[1] or match[2]))
    for match in _RELEASE.finditer(text):
        program = (match["listed"] or match["named"]).lower()
        yield Version(_PROGRAMS.get(program, program), _release(match["its"] or match["release"]))


def _release(text: str) -> str:
    return text.partition("+")[0].rstrip(".")


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.rpartition(":")
    return name.strip(), value


def plain(line: bytes) -> str:
    """The text of a line without what a terminal would obey."""
    return _ANSI.sub(b"", line).replace(b"\x00", b"").decode("utf-8", "replace")
