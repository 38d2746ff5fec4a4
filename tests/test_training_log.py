"""The reader of training logs: the forms that verl and its trackers write, and what is none."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from rl_resources.contribute.training_log import TrainingLog, read_excerpt, read_log
from rl_resources.errors import UnusableInput


def step(number: int, seconds: float = 90.0, **more: object) -> str:
    metrics: dict[str, object] = {
        "global_seqlen/min": "484245.000",
        "perf/max_memory_allocated_gb": "50.125",
        "perf/max_memory_reserved_gb": "61.500",
        "timing_s/step": f"{seconds:.3f}",
        "perf/throughput": "1450.250",
        **{name.replace("__", "/"): value for name, value in more.items()},
    }
    return f"step:{number} - " + " - ".join(f"{key}:{value}" for key, value in metrics.items())


def steps(seconds: Iterable[float]) -> str:
    return "".join(step(number, value) + "\n" for number, value in enumerate(seconds, 1))


def lines(count: int, form: str) -> str:
    return "".join(form.replace("N", str(number)) + "\n" for number in range(1, count + 1))


def read(tmp_path: Path, data: bytes) -> TrainingLog:
    path = tmp_path / "run.log"
    path.write_bytes(data)
    return read_log(path)


SAVED = [step(n, 900, timing_s__testing="700.0") if n % 2 else step(n, 90) for n in range(1, 10)]
MEMORY = [step(n, perf__max_memory_reserved_gb=gb) for n, gb in enumerate([70.5, 61, 62], 1)]
NUMPY = (
    "step:\x1b[1;36mN\x1b[0m - timing_s/step:\x1b[1;36mnp.float64(9N.5)\x1b[0m - "
    "perf/throughput:np.float32(1.25e3) - perf/max_memory_reserved_gb:tensor(61.)"
)
NO_FIGURES = "".join(
    f"step:{number} - timing_s/step:9 - perf/throughput:{value}\n"
    for number, value in enumerate(["nan", "inf", "-1", "0", "None", "1.2.3", "1e999", ""], 1)
)
# Name: text, and what counts of the numbers of steps and of the figures.
FIGURES: dict[str, tuple[str, dict[str, float | None]]] = {
    "the first of a few steps is warm-up": (
        steps([400, 90, 94, 92]),
        {"step_seconds": 92, "tokens_per_second_per_gpu": 1450.25, "peak_memory_gb": 61.5},
    ),
    "a tenth is warm-up": (steps([500, 500] + [9] * 18), {"warm-up": 2, "step_seconds": 9}),
    "at most ten are warm-up": (steps([9] * 400), {"warm-up": 10, "measured": 390}),
    "one step is warm-up": (steps([400]), {"step_seconds": None, "peak_memory_gb": 61.5}),
    "memory is the most of all steps": ("\n".join(MEMORY), {"peak_memory_gb": 70.5}),
    "allocated memory if no other is logged": (
        lines(2, "step:N - actor/perf/max_memory_allocated_gb:4N.5 - timing_s/step:9"),
        {"peak_memory_gb": 42.5},
    ),
    "steps that validate are excluded": ("\n".join(SAVED), {"measured": 4, "step_seconds": 90}),
    "a validation is no step": (f"step:0 - val-core/x/acc:0.508\n{steps([9, 9, 9])}", {"steps": 3}),
    "colors and types of numpy": (
        lines(3, NUMPY),
        {"step_seconds": 93, "tokens_per_second_per_gpu": 1250, "peak_memory_gb": 61},
    ),
    "verl 0.5": (lines(3, "step:N - perf/time_per_step:9N"), {"step_seconds": 92.5}),
    "verl 0.2.0.dev": (
        lines(3, "step:N - timing_s/step:9N - Tokens/Sec/GPU:144N.5"),
        {"tokens_per_second_per_gpu": 1443},
    ),
    "verl 0.1": (lines(3, "step:N - timing/step:9N - x:0.0"), {"step_seconds": 92.5}),
    "figures that are none": (NO_FIGURES, {"steps": 8, "tokens_per_second_per_gpu": None}),
    "images are no tokens": (
        "\n".join(step(n, perf__total_num_images=64) for n in range(1, 5)),
        {"steps": 4, "tokens_per_second_per_gpu": None},
    ),
    "what a model writes": (f"[response] step:1 - add 3\n{steps([9, 9, 9])}", {"steps": 3}),
    "every line twice": ("".join(f"{step(n)}\n{step(n)}\n" for n in range(1, 5)), {"steps": 4}),
    "two runs": (steps([50] * 9) + steps([80] * 5), {"steps": 5, "step_seconds": 80}),
    "a run that goes on": (
        f"{steps([9, 9])}torch.OutOfMemoryError: CUDA out of memory.\n{step(3)}",
        {"steps": 3, "step_seconds": 49.5},
    ),
}


@pytest.mark.parametrize(("text", "expected"), FIGURES.values(), ids=FIGURES)
def test_figures_are_those_of_the_steps(text, expected):
    log = read_excerpt(text, "`Log`")
    counts = {"steps": log.steps, "measured": log.measured}
    found = {name: len(steps) for name, steps in counts.items()} | {"warm-up": log.warm_up}
    assert {name: (found | dict(log.figures)).get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "form",
    [
        "(TaskRunner pid=123, ip=10.0.0.1) {}\n",
        "\x1b[36m(TaskRunner pid=123)\x1b[0m {}\n",
        "Training Progress:   2%|▏  | 2/624 [21:47<114:32:27, 662.94s/it]\r{}\r\n",
        "\x00\udcff\x1b[2J\x1b]0;title\x07\n{}\n",
    ],
)
def test_the_surroundings_of_a_step_do_not_matter(tmp_path, form):
    text = "".join(form.format(step(n, 80 + n)) for n in range(1, 5))
    found = read(tmp_path, text.encode(errors="surrogateescape"))
    assert (len(found.steps), found.figures["step_seconds"]) == (4, 83)
    assert found.figures["tokens_per_second_per_gpu"] == 1450.25


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB.",
        "RuntimeError: CUDA Error: out of memory at /x/cumem_allocator.cpp:62",
        "ValueError: No available memory for the cache blocks. Try increasing it.",
        "Not enough memory. Please try to increase --mem-fraction-static.",
    ],
)
def test_a_run_that_ends_out_of_memory_has_no_figures(line):
    text = steps([9, 9, 9]) + f"(WorkerDict pid=1) \x1b[31m{line}\x1b[0m\nTraceback\n"
    found = read_excerpt(text, "`Log`")
    assert (len(found.steps), found.figures) == (3, {})
    assert "memory" in found.out_of_memory


def test_the_batch_of_the_printed_configuration_and_printed_releases_are_read():
    text = (
        "INFO 06-16 [core.py:75] Initializing a V1 LLM engine (v0.8.5.post1+cu124) with config\n"
        "(TaskRunner pid=9)           'train_batch_size': 128,\n"
        "verl         : 0.5.0\n(x) sglang==0.4.6.post5\nverl version: 0.6.\n"
        "ERROR: somepkg 1.0 requires vllm==0.7.0, but you have vllm 0.8.5.post1\n"
    )
    found = read_excerpt(text + steps([9, 9]), "`Log`")
    assert found.batch == 128
    assert found.releases == {
        "vllm": {"0.8.5.post1"},
        "verl": {"0.5.0", "0.6"},
        "sglang": {"0.4.6.post5"},
    }


METRICS = {
    "timing_s/step": 92.0,
    "perf/throughput": 1000.5,
    "actor/perf/max_memory_allocated_gb": 40.0,
}
TABLE = "_step,timing_s/step,perf/throughput,perf/max_memory_reserved_gb\n"
WANDB = '"Step","qwen - grpo - timing_s/step","qwen - grpo - timing_s/step__MIN"\n'


def json_lines(entry: dict[str, object]) -> str:
    """Five lines, with the number of the step for `"N"`."""
    return lines(5, json.dumps(entry).replace('"N"', "N"))


@pytest.mark.parametrize(
    "text",
    [
        json_lines({"step": "N", "data": METRICS}),
        json_lines({**METRICS, "training/global_step": "N", "a": None}),
        json_lines({"step": "N", **METRICS}) + '{"step": 6, "d',
        json_lines({"step": "N", **METRICS}) + "[" * 100_000,
        TABLE + lines(5, 'N,"92.0",1000.5,40'),
        "\ufeff" + TABLE.replace(",", ";") + lines(5, "N;92;1000.5;40"),
    ],
    ids=range(6),
)
def test_files_of_metrics_are_read(tmp_path, text):
    found = read(tmp_path, text.encode())
    assert (len(found.steps), found.figures["step_seconds"]) == (5, 92)
    assert found.figures["tokens_per_second_per_gpu"] == 1000.5
    assert found.figures["peak_memory_gb"] == 40


def test_an_export_of_one_metric_is_read():
    found = read_excerpt(WANDB + lines(4, '"N","92.5","90"'), "`Log`")
    assert found.figures == {"step_seconds": 92.5}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "has no training step"),
        (b"step:0 - val-core/x/acc:0.5\n", "has no training step"),
        (b"\x1f\x8b gzip", "has no training step"),
        (b'"Step","a - timing_s/step","b - timing_s/step"\n1,2,3\n', "2 columns of `timing_s/"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(data, problem, tmp_path):
    with pytest.raises(UnusableInput, match=problem):
        read(tmp_path, data)
    with pytest.raises(UnusableInput, match="cannot be read"):
        read_log(tmp_path)
