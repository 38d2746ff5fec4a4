"""The reader of training logs: every form that verl and its trackers write, and what is none."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_resources.contribute.training_log import read_excerpt, read_log
from rl_resources.errors import UnusableInput

WriteLog = Callable[..., Path]


@pytest.fixture
def log(tmp_path: Path) -> WriteLog:
    def write(data: str | bytes, name: str = "run.log") -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


def step(number: int, seconds: float = 90.0, **more: object) -> str:
    metrics: dict[str, object] = {
        "global_seqlen/min": "484245.000",
        "perf/max_memory_allocated_gb": "50.125",
        "perf/max_memory_reserved_gb": "61.500",
        "timing_s/gen": "10.000",
        "timing_s/step": f"{seconds:.3f}",
        "perf/throughput": "1450.250",
        **{name.replace("__", "/"): value for name, value in more.items()},
    }
    return f"step:{number} - " + " - ".join(f"{key}:{value}" for key, value in metrics.items())


def steps(seconds: Iterable[float]) -> str:
    return "".join(step(number, value) + "\n" for number, value in enumerate(seconds, 1))


def lines(count: int, form: str) -> str:
    return "".join(form.replace("N", str(number)) + "\n" for number in range(1, count + 1))


PARTS = "timing/gen:50.5 - timing/ref:10 - timing/adv:0.5 - timing/update_actor:30"
SAVED = [step(n, 900, timing_s__testing="700.0") if n % 2 else step(n, 90) for n in range(1, 10)]
MEMORY = [step(n, perf__max_memory_reserved_gb=gb) for n, gb in enumerate([70.5, 61, 62], 1)]
# Name: text, steps, excluded as warm-up, measured, and figures that are wanted of it.
FIGURES: dict[str, tuple[str, int, int, int, dict[str, float | None]]] = {
    "the first of a few steps is warm-up": (
        steps([400, 90, 94, 92]),
        *(4, 1, 3),
        {"step_seconds": 92, "tokens_per_second_per_gpu": 1450.25, "peak_memory_gb": 61.5},
    ),
    "a tenth is warm-up": (steps([500, 500] + [9] * 18), 20, 2, 18, {"step_seconds": 9}),
    "at most ten are warm-up": (steps([9] * 400), 400, 10, 390, {}),
    "one step is warm-up": (steps([400]), 1, 1, 0, {"step_seconds": None, "peak_memory_gb": 61.5}),
    "memory is the most of all steps": ("\n".join(MEMORY), 3, 1, 2, {"peak_memory_gb": 70.5}),
    "allocated memory if no other is logged": (
        lines(2, "step:N - actor/perf/max_memory_allocated_gb:4N.5 - timing_s/step:9"),
        *(2, 1, 1),
        {"peak_memory_gb": 42.5},
    ),
    "steps that validate are excluded": ("\n".join(SAVED), 9, 1, 4, {"step_seconds": 90}),
    "a validation is no step": (
        "step:0 - val-core/openai/gsm8k/acc/mean@1:0.508\n" + steps([9, 9, 9]),
        *(3, 1, 2),
        {},
    ),
    "colours and types of numpy": (
        lines(
            3,
            "step:\x1b[1;36mN\x1b[0m - timing_s/step:\x1b[1;36mnp.float64(9N.5)\x1b[0m - "
            "perf/throughput:np.float32(1.25e3) - perf/max_memory_reserved_gb:tensor(61.)",
        ),
        *(3, 1, 2),
        {"step_seconds": 93, "tokens_per_second_per_gpu": 1250, "peak_memory_gb": 61},
    ),
    "0.2 to 0.4": (lines(3, "step:N - timing_s/step:9N - x:0"), 3, 1, 2, {"step_seconds": 92.5}),
    "0.5": (lines(3, "step:N - perf/time_per_step:9N - x:0"), 3, 1, 2, {"step_seconds": 92.5}),
    "0.1": (lines(3, "step:N - timing/step:9N - x:0.0"), 3, 1, 2, {"step_seconds": 92.5}),
    "parts alone": (
        lines(4, f"step:N - {PARTS}") + f"step:5 - {PARTS} - timing/testing:99\n",
        *(5, 1, 3),
        {"step_seconds": 91},
    ),
    "figures that are none": (
        lines(4, "step:N - timing_s/step:9")
        + "".join(
            f"step:{number} - timing_s/step:9 - perf/throughput:{value}\n"
            for number, value in enumerate(["nan", "inf", "-1", "0", "None", "1.2.3", "x", ""], 5)
        ),
        *(12, 1, 11),
        {"step_seconds": 9, "tokens_per_second_per_gpu": None},
    ),
    "images are no tokens": (
        "\n".join(step(n, perf__total_num_images=64) for n in range(1, 5)),
        *(4, 1, 3),
        {"tokens_per_second_per_gpu": None},
    ),
    "what a model writes": (
        "[response] step:1 - add 3 and 4 - then step:2 - double it\n" + steps([9, 9, 9]),
        *(3, 1, 2),
        {},
    ),
    "every line twice": ("".join(f"{step(n)}\n{step(n)}\n" for n in range(1, 5)), 4, 1, 3, {}),
    "two runs": (steps([50] * 9) + steps([80] * 5), 5, 1, 4, {"step_seconds": 80}),
    "a run that goes on": (
        steps([9, 9]) + "torch.OutOfMemoryError: CUDA out of memory.\n" + step(3),
        *(3, 1, 2),
        {"step_seconds": 50 - 0.5},
    ),
}


@pytest.mark.parametrize("case", FIGURES.values(), ids=FIGURES)
def test_figures_are_those_of_the_steps(
    case: tuple[str, int, int, int, dict[str, float | None]], log: WriteLog
) -> None:
    text, count, warm_up, measured, figures = case
    found = read_log(log(text))
    assert (len(found.steps), found.warm_up, len(found.measured)) == (count, warm_up, measured)
    assert {name: getattr(found, name) for name in figures} == figures


@pytest.mark.parametrize(
    "form",
    [
        "(TaskRunner pid=123, ip=10.0.0.1) {}\n",
        "\x1b[36m(TaskRunner pid=123)\x1b[0m {}\n",
        "(main_task pid=7) {} [repeated 2x across cluster]\n",
        "{}\r\n",
        "Training Progress:   2%|▏  | 2/624 [21:47<114:32:27, 662.94s/it]\r{}\n",
        "2025-06-17 10:11:12,345 INFO {}\n",
        "\x00\udcff\x1b[2J\x1b]0;title\x07\n{}\n",
    ],
)
def test_the_surroundings_of_a_step_do_not_matter(log: WriteLog, form: str) -> None:
    text = "".join(form.format(step(n, 80 + n)) for n in range(1, 5))
    found = read_log(log(text.encode(errors="surrogateescape")))
    assert (len(found.steps), found.step_seconds) == (4, 83)
    assert found.tokens_per_second_per_gpu == 1450.25


@pytest.mark.parametrize(
    ("memory", "line"),
    [
        ("accelerator", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB."),
        ("accelerator", "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20 MiB"),
        ("accelerator", "RuntimeError: NPU out of memory. Tried to allocate 138.00 MiB (NPU 0; 61"),
        (
            "accelerator",
            "RuntimeError: CUDA Error: out of memory at /x/csrc/cumem_allocator.cpp:62",
        ),
        ("accelerator", "ncclUnhandledCudaError: Cuda failure 2 'out of memory'"),
        ("accelerator", "ValueError: No available memory for the cache blocks. Try increasing it."),
        ("accelerator", "Not enough memory. Please try to increase --mem-fraction-static."),
        ("host", "OutOfMemoryError: Task was killed due to the node running low on memory."),
        ("host", "1 Workers (tasks / actors) killed due to memory pressure (OOM), 0"),
        ("host", "Out of memory: Killed process 4100606 (ray::WorkerDict)"),
    ],
)
def test_a_run_that_ends_out_of_memory_has_no_figures(
    log: WriteLog, memory: str, line: str
) -> None:
    text = steps([9, 9, 9]) + f"(WorkerDict pid=1) \x1b[31m{line}\x1b[0m\nTraceback\n"
    found = read_log(log(text))
    assert found.out_of_memory is not None
    assert found.out_of_memory.memory == memory
    assert len(found.steps) == 3
    assert found.step_seconds is found.peak_memory_gb is found.tokens_per_second_per_gpu is None


def test_the_batch_of_the_printed_configuration_and_printed_releases_are_read() -> None:
    text = (
        "INFO 06-16 [core.py:75] Initializing a V1 LLM engine (v0.8.5.post1+cu124) with config\n"
        "(TaskRunner pid=9)           'train_batch_size': 128,\n"
        "PyTorch version 2.6.0 available.\nverl         : 0.5.0\n(x) sglang==0.4.6.post5\n"
        "ERROR: somepkg 1.0 requires vllm==0.7.0, but you have vllm 0.8.5.post1\nverl==0.6\n"
    )
    found = read_excerpt(text + steps([9, 9]), "`Log`")
    assert found.batch == 128
    assert found.versions == {
        "vllm": {"0.8.5.post1"},
        "torch": {"2.6.0"},
        "verl": {"0.5.0", "0.6"},
        "sglang": {"0.4.6.post5"},
    }


METRICS = {
    "timing_s/step": 92.0,
    "perf/throughput": 1000.5,
    "actor/perf/max_memory_allocated_gb": 40.0,
}
TABLE = "_step,timing_s/step,perf/throughput,perf/max_memory_reserved_gb\n"


def json_lines(entry: dict[str, object]) -> str:
    """Five lines, with the number of the step for `"N"`."""
    return lines(5, json.dumps(entry).replace('"N"', "N"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", json_lines({"step": "N", "data": METRICS})),
        ("a.jsonl", json_lines({"_step": "N", **METRICS})),
        ("a.jsonl", json_lines({**METRICS, "training/global_step": "N", "a": None})),
        ("a.jsonl", json_lines({"step": "N", **METRICS}) + '{"step": 6, "d'),
        ("a.jsonl", json_lines({"step": "N", **METRICS}) + "[" * 100_000),
        ("a.csv", TABLE + lines(5, 'N,"92.0",1000.5,40')),
        ("a.csv", "\ufeff" + TABLE.replace(",", ";") + lines(5, "N;92;1000.5;40")),
    ],
    ids=range(7),
)
def test_files_of_metrics_are_read(log: WriteLog, name: str, text: str) -> None:
    found = read_log(log(text, name))
    assert (len(found.steps), found.step_seconds) == (5, 92)
    assert (found.tokens_per_second_per_gpu, found.peak_memory_gb) == (1000.5, 40)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "wandb.csv",
            '"Step","qwen - grpo - timing_s/step","qwen - grpo - timing_s/step__MIN"\n'
            + lines(4, '"N","92.5","90"'),
        ),
        ("run-tag-timing_s_step.csv", "Wall time,Step,Value\n" + lines(4, "175.1,N,92.5")),
    ],
)
def test_an_export_of_one_metric_is_read(log: WriteLog, name: str, text: str) -> None:
    assert read_log(log(text, name)).step_seconds == 92.5


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_log_is_unpacked_as_far_as_it_goes(
    log: WriteLog, pack: Callable[[bytes], bytes]
) -> None:
    noise = "".join(f"{n * 7919 % 10007} {n * n % 9973} noise\n" for n in range(300_000))
    packed = pack((steps([9] * 5) + noise).encode())
    assert len(read_log(log(packed)).steps) == 5
    cut = read_log(log(packed[: len(packed) * 9 // 10]))
    assert (len(cut.steps), bool(cut.broken)) == (5, True)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "holds no training step"),
        (b"\x00" * 5000, "holds no training step"),
        (b"step:0 - val-core/x/acc:0.5\n", "holds no training step"),
        (b"step:1 - timing/gen:50\n", "holds no training step"),
        (b"\x1f\x8b not gzip", "breaks off"),
        (
            b'"Step","a - timing_s/step","b - timing_s/step"\n1,2,3\n',
            "2 columns of `timing_s/step`",
        ),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(
    log: WriteLog, data: bytes | None, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UnusableInput) as refused:
        read_log(tmp_path if data is None else log(data))
    assert problem in str(refused.value)


PIECES = [
    b"step:",
    b"step:1 - timing_s/step:",
    b"\r",
    b"\n",
    b" - ",
    b'{"step":1,"data":{"timing_s/',
]
PIECES += [b"_step,timing_s/step\n1,", b"CUDA out of memory.", b"'train_batch_size': ", b"vllm=="]
PIECES += [b"np.float64(", b"\x1b[31m", b"9" * 30, b"1e999", b'"', b"\x1f\x8b", b"BZh9"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(PIECES)), max_size=40))
def test_whatever_a_file_holds_it_is_refused_or_gives_finite_figures(parts: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        path.write_bytes(b"".join(parts))
        try:
            found = read_log(path)
        except UnusableInput:
            return
    for figure in (found.step_seconds, found.tokens_per_second_per_gpu, found.peak_memory_gb):
        assert figure is None or 0 < figure < float("inf")


STREAM = """
import os, resource, sys, threading
from pathlib import Path
from tempfile import TemporaryDirectory
from rl_resources.contribute.training_log import read_log

step = b"(TaskRunner pid=1) step:%d - timing_s/step:90.5 - perf/throughput:1000.5\\n"
noise = {"lines": b"(WorkerDict pid=2) INFO nothing to see here\\n" * 5000, "one": b"x" * 250_000}

def write(handle):
    with os.fdopen(handle, "wb") as file:
        for number in range(200):
            file.write(noise[sys.argv[1]])
        file.write(b"\\n" + step % 1 + step % 2)

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
source, sink = os.pipe()
threading.Thread(target=write, args=(sink,)).start()
found = read_log(Path(f"/dev/fd/{source}"))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found.steps), (after - before) // 1024)
"""


@pytest.mark.parametrize("kind", ["lines", "one"])
def test_fifty_megabytes_from_a_pipe_take_a_few_of_memory(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STREAM, kind], capture_output=True, text=True, check=True
    )
    found, megabytes = map(int, done.stdout.split())
    assert found == 2
    assert megabytes < 24
