"""What is fuzzed: a file of a small valid dataset, or one named on the command line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzzing import mutation
from fuzzing.mutation import ANY, Mutation, mutate, token
from rl_resources import load
from rl_resources.package import read_package
from rl_resources.site.rst import device_tuning
from sample_tree import REPOSITORY, SAMPLE

SCRIPT = "examples/tuning/7b/qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
SHIPPED = sorted((REPOSITORY / "examples/tuning").rglob("*.sh"))
PAGE = "page.rst"


def _words(name: str) -> list[bytes]:
    return (Path(__file__).parent / "words" / f"{name}.txt").read_bytes().split()


SHELL = token(_words("shell"))
PAGE_WORDS = token((*_words("page"), b"    ", b"\t", b"\n\n", b"\n    * - ", b"\n      - "))
LOG_WORDS = token(_words("log"))
ISSUE_WORDS = token(
    (
        *(b"### Script", b"### Log", b"### GPUs", b"### ", b"###", b"```", b"~~~", b"````shell"),
        *(b"\n\n", b"_No response_", b"<!--", b"-->", b"- [x] ", b"<details>"),
        b"\n### Script\n\n```bash\n",
    )
)


@dataclass(frozen=True)
class Example:
    """One file below the dataset with its bytes, and the commands that read it."""

    path: str
    data: bytes
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Target:
    """A kind of file: valid ones by path, what breaks them, and who reads them.

    A command names the file as `{}`.
    """

    seeds: Sequence[tuple[str, bytes]]
    mutations: Sequence[Mutation]
    commands: tuple[tuple[str, ...], ...]

    def example(self, random: Random) -> Example:
        path, data = random.choice(self.seeds)
        return self.made(path, mutate(random, data, self.mutations))

    def made(self, path: str, data: bytes) -> Example:
        commands = tuple(
            tuple(word.replace("{}", path) for word in command) for command in self.commands
        )
        return Example(path, data, commands)


def _tables() -> list[tuple[str, bytes]]:
    held = sorted((SAMPLE / "records").iterdir())
    more = [REPOSITORY / "records" / name for name in ("exemptions.csv", "moved.csv")]
    return [(f"records/{path.name}", path.read_bytes()) for path in [*held, *more] if path.exists()]


def _repository(*paths: str) -> list[tuple[str, bytes]]:
    return [(path, (REPOSITORY / path).read_bytes()) for path in paths]


def _schemas() -> list[str]:
    return [f"schema/{path.name}" for path in sorted((REPOSITORY / "schema").glob("*.json"))]


def _page() -> list[tuple[str, bytes]]:
    return [(PAGE, device_tuning(load(REPOSITORY), "https://example.org/{path}").encode())]


def _scripts() -> list[tuple[str, bytes]]:
    return [(SCRIPT, path.read_bytes()) for path in SHIPPED]


def _console() -> str:
    return "".join(
        f"(TaskRunner pid=1) step:{number} - perf/max_memory_allocated_gb:61.500 - "
        f"timing_s/step:{90 + number} - perf/throughput:1450.000\n"
        for number in range(1, 6)
    )


def _logs() -> list[tuple[str, bytes]]:
    figures = [{"step": number, "timing_s/step": 90.5} for number in range(1, 6)]
    lines = "".join(json.dumps({"step": row["step"], "data": row}) + "\n" for row in figures)
    table = "step,timing_s/step,perf/throughput\n1,90,1450\n2,91,1451\n3,92,1452\n"
    texts = [_console().encode(), lines.encode(), table.encode(), json.dumps(figures).encode()]
    return [
        *(("run.log", text) for text in texts),
        ("run.log.gz", gzip.compress(texts[0], mtime=0)),
    ]


def _issues() -> list[tuple[str, bytes]]:
    schema = read_package(REPOSITORY).resources["tuning"].schema
    answers = "".join(f"### {field.title}\n\n{field.example}\n\n" for field in schema.fields)
    script = SHIPPED[0].read_text(encoding="utf-8")
    form = f"{answers}### Script\n\n```bash\n{script}```\n\n### Log\n\n```text\n{_console()}```\n"
    return [("issue.md", form.encode())]


def targets() -> Mapping[str, Target]:
    """All kinds of files that people hand us, by name."""
    anything, json_too = ANY, (*ANY, *[mutation.value] * len(ANY))
    draft = ("draft", SCRIPT)
    makers: Mapping[str, Callable[[], Target]] = {
        "table": lambda: Target(
            _tables(),
            anything,
            (("check",), ("fmt", "--check"), ("find",), ("coverage", "--format", "json")),
        ),
        "records": lambda: Target(
            [(f"{name}.csv", data) for name, data in [("mine", _tables()[-1][1])]]
            + [("mine.csv", (SAMPLE / "records/tuning.csv").read_bytes())],
            anything,
            (("check", "--resource", "tuning", "{}"),),
        ),
        "schema": lambda: Target(_repository(*_schemas()), json_too, (("check",), ("find",))),
        "descriptor": lambda: Target(
            _repository("datapackage.json"), json_too, (("check",), ("find",))
        ),
        "page": lambda: Target(
            _page(),
            (*anything, *[PAGE_WORDS] * 8),
            (("import-page", "{}", "--scripts", "examples"),),
        ),
        "script": lambda: Target(
            _scripts(),
            (*anything, *[SHELL] * 12),
            (("check", "--ignore", "shellcheck"), ("draft", "{}")),
        ),
        "log": lambda: Target(
            _logs(),
            (*anything, *[LOG_WORDS] * 8, *[mutation.packed] * 3),
            ((*draft, "--log", "{}"),),
        ),
        "issue": lambda: Target(
            _issues(), (*anything, *[ISSUE_WORDS] * 4, SHELL), (("draft", "--issue", "{}"),)
        ),
    }
    return {name: make() for name, make in makers.items()}


def write(root: Path, example: Example) -> None:
    """Put an example's file into the dataset at `root`."""
    (root / example.path).write_bytes(example.data)
