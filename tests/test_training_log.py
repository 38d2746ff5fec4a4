"""The reader of training logs: every form that verl and its trackers write, and what is none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_resources.contribute.training_log import TrainingLog, read_log
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
        "actor/pg_loss": "-0.001",
        "perf/max_memory_allocated_gb": "50.125",
        "perf/max_memory_reserved_gb": "61.500",
        "critic/score/mean": "0.558",
        "timing_s/gen": "10.000",
        "timing_s/step": f"{seconds:.3f}",
        "perf/throughput": "1450.250",
        **{name.replace("__", "/"): value for name, value in more.items()},
    }
    return f"step:{number} - " + " - ".join(f"{key}:{value}" for key, value in metrics.items())


def steps(seconds: Iterable[float]) -> str:
    return "".join(step(number, value) + "\n" for number, value in enumerate(seconds, 1))


def test_medians_leave_out_the_first_step_of_a_short_run(log: WriteLog) -> None:
    found = read_log(log(steps([400, 90, 94, 92])))
    assert (found.steps, found.warm_up, found.measured) == (4, 1, 3)
    assert found.step_seconds == 92
    assert found.tokens_per_second_per_gpu == 1450.25


def test_warm_up_is_a_tenth_of_the_steps_and_at_most_ten(log: WriteLog) -> None:
    assert read_log(log(steps([9] * 40))).warm_up == 4
    assert read_log(log(steps([9] * 400))).warm_up == 10
    assert read_log(log(steps([500, 500] + [9] * 18))).step_seconds == 9


def test_one_step_alone_is_warm_up_and_gives_no_speed(log: WriteLog) -> None:
    found = read_log(log(steps([400])))
    assert found.step_seconds is None
    assert found.peak_memory_gb == 61.5


def test_peak_memory_is_the_largest_of_all_steps(log: WriteLog) -> None:
    text = "\n".join(
        step(number, perf__max_memory_reserved_gb=memory)
        for number, memory in enumerate([70.5, 61, 62], 1)
    )
    assert read_log(log(text)).peak_memory_gb == 70.5


def test_peak_memory_is_what_was_allocated_where_nothing_else_is_told(log: WriteLog) -> None:
    lines = (
        f"step:{n} - actor/perf/max_memory_allocated_gb:4{n}.5 - timing_s/step:9\n" for n in (1, 2)
    )
    assert read_log(log("".join(lines))).peak_memory_gb == 42.5


def test_steps_that_validate_or_save_are_left_out(log: WriteLog) -> None:
    text = "\n".join(
        step(number, 900, timing_s__testing="700.0")
        if number % 2
        else step(number, 950, timing_s__save_checkpoint="1.5")
        if number % 3 == 0
        else step(number, 90)
        for number in range(1, 10)
    )
    found = read_log(log(text))
    assert found.step_seconds == 90
    assert (found.interrupted, found.measured) == (5, 3)


def test_a_validation_before_the_first_step_is_no_step(log: WriteLog) -> None:
    text = "step:0 - val-core/openai/gsm8k/acc/mean@1:0.508\n" + steps([9, 9, 9])
    found = read_log(log(text))
    assert (found.steps, found.validations) == (3, 1)


@pytest.mark.parametrize(
    "form",
    [
        "(TaskRunner pid=123) {}\n",
        "(TaskRunner pid=123, ip=10.0.0.1) {}\n",
        "\x1b[36m(TaskRunner pid=123)\x1b[0m {}\n",
        "(main_task pid=7) {} [repeated 2x across cluster]\n",
        "{}\r\n",
        "Training Progress:   2%|▏  | 2/624 [21:47<114:32:27, 662.94s/it]\r{}\n",
        "Training Progress:   2%|▏  | 2/624 [21:47<114:32:27, 662.94s/it] {}\n",
        "2025-06-17 10:11:12,345 INFO {}\n",
    ],
)
def test_the_surroundings_of_a_step_do_not_matter(log: WriteLog, form: str) -> None:
    found = read_log(log("".join(form.format(step(n, 80 + n)) for n in range(1, 5))))
    assert (found.steps, found.step_seconds) == (4, 83)
    assert found.tokens_per_second_per_gpu == 1450.25


def test_coloured_figures_and_numpy_figures_are_read(log: WriteLog) -> None:
    text = "".join(
        f"step:\x1b[1;36m{n}\x1b[0m - timing_s/step:\x1b[1;36mnp.float64(9{n}.5)\x1b[0m"
        f" - perf/throughput:np.float32(1.25e3) - perf/max_memory_reserved_gb:tensor(61.)\n"
        for n in range(1, 4)
    )
    found = read_log(log(text))
    assert (found.step_seconds, found.tokens_per_second_per_gpu) == (93.0, 1250)
    assert found.peak_memory_gb == 61


def test_old_and_new_names_of_the_step_time_are_known(log: WriteLog) -> None:
    for name in ("timing_s/step", "perf/time_per_step", "timing/step"):
        text = "".join(f"step:{n} - {name}:9{n} - actor/lr:0.0\n" for n in range(1, 4))
        assert read_log(log(text)).step_seconds == 92.5, name


def test_the_parts_of_a_step_are_summed_where_a_log_times_no_whole_step(log: WriteLog) -> None:
    parts = "timing/gen:50.5 - timing/ref:10 - timing/adv:0.5 - timing/update_actor:30"
    text = "".join(f"step:{n} - {parts} - actor/lr:0.0\n" for n in range(4))
    found = read_log(log(text + f"step:4 - {parts} - timing/testing:99\n"))
    assert (found.step_seconds, found.summed, found.interrupted) == (91, True, 1)
    assert not read_log(log(text.replace("timing/adv", "timing/step"))).summed
    with pytest.raises(UnusableInput):
        read_log(log("step:1 - timing/gen:50\n"))


def test_figures_that_are_none_are_not_taken(log: WriteLog) -> None:
    bad = ["nan", "inf", "-1", "0", "None", "1.2.3", "twelve", ""]
    text = "".join(
        f"step:{n} - timing_s/step:9 - perf/throughput:{value}\n" for n, value in enumerate(bad, 1)
    )
    found = read_log(log(text))
    assert found.step_seconds == 9
    assert found.tokens_per_second_per_gpu is None


def test_images_are_no_tokens(log: WriteLog) -> None:
    text = "\n".join(step(n, perf__total_num_images=64) for n in range(1, 5))
    assert read_log(log(text)).tokens_per_second_per_gpu is None


def test_what_a_model_writes_is_no_step(log: WriteLog) -> None:
    text = "[response] step:1 - add 3 and 4 - then step:2 - double it\n" + steps([9, 9, 9])
    found = read_log(log(text))
    assert (found.steps, found.validations) == (3, 0)


def test_a_log_that_was_written_twice_counts_once(log: WriteLog) -> None:
    twice = "".join(step(n) + "\n" + step(n) + "\n" for n in range(1, 5))
    assert read_log(log(twice)).steps == 4


def test_of_two_runs_in_one_log_the_last_is_told(log: WriteLog) -> None:
    found = read_log(log(steps([50] * 9) + steps([80] * 5)))
    assert (found.steps, found.earlier_runs, found.step_seconds) == (5, 1, 80)


def test_very_many_steps_keep_their_median(log: WriteLog) -> None:
    text = "".join(f"step:{n} - timing_s/step:{n % 101 + 1}.0\n" for n in range(1, 70_001))
    found = read_log(log(text))
    assert found.steps == 70_000
    assert found.step_seconds is not None
    assert abs(found.step_seconds - 51) <= 1


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB. GPU 0 has",
        "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: NPU out of memory. Tried to allocate 138.00 MiB (NPU 0; 61.27 GiB total",
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
        "ncclUnhandledCudaError: Cuda failure 2 'out of memory'",
        "ValueError: No available memory for the cache blocks. Try increasing it.",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ],
)
def test_a_run_that_ends_for_want_of_accelerator_memory_has_no_figures(
    log: WriteLog, line: str
) -> None:
    text = steps([9, 9, 9]) + f"(WorkerDict pid=1) \x1b[31m{line}\x1b[0m\nTraceback\n"
    found = read_log(log(text))
    assert found.out_of_memory is not None
    assert found.out_of_memory.memory == "accelerator"
    assert found.steps == 3
    assert found.step_seconds is found.peak_memory_gb is found.tokens_per_second_per_gpu is None


@pytest.mark.parametrize(
    "line",
    [
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0",
        "Out of memory: Killed process 4100606 (ray::WorkerDict)",
    ],
)
def test_host_memory_is_told_apart(log: WriteLog, line: str) -> None:
    found = read_log(log(f"(raylet) {line}\n")).out_of_memory
    assert found is not None
    assert found.memory == "host"


def test_a_run_that_goes_on_has_not_run_out_of_memory(log: WriteLog) -> None:
    text = steps([9, 9]) + "torch.OutOfMemoryError: CUDA out of memory.\n" + step(3) + step(4)
    assert read_log(log(text)).out_of_memory is None


def test_the_batch_of_the_printed_configuration_is_told(log: WriteLog) -> None:
    text = "(TaskRunner pid=9)           'train_batch_size': 128,\n" + steps([9, 9])
    assert read_log(log(text)).batch == 128


def test_releases_are_those_that_programs_print(log: WriteLog) -> None:
    text = (
        "INFO 06-16 [core.py:75] Initializing a V1 LLM engine (v0.8.5.post1+cu124) with config\n"
        "PyTorch version 2.6.0 available.\nverl         : 0.5.0\nsglang==0.4.6.post5\n"
        "ERROR: somepkg 1.0 requires vllm==0.7.0, but you have vllm 0.8.5.post1\n"
    )
    found = read_log(log(text + steps([9, 9])))
    assert found.versions == {
        "vllm": "0.8.5.post1",
        "torch": "2.6.0",
        "verl": "0.5.0",
        "sglang": "0.4.6.post5",
    }


def test_two_releases_of_one_program_are_none(log: WriteLog) -> None:
    found = read_log(log("vllm==0.8.2\nvllm==0.8.3\n" + steps([9])))
    assert (found.versions, found.unsure) == ({}, ("vllm",))


METRICS = {
    "timing_s/step": 92.0,
    "perf/throughput": 1000.5,
    "actor/perf/max_memory_allocated_gb": 40.0,
}


@pytest.mark.parametrize(
    "entry",
    [
        lambda n: {"step": n, "data": METRICS},
        lambda n: {"_step": n, **METRICS},
        lambda n: {**METRICS, "training/global_step": float(n), "note": "x", "a": None},
    ],
)
def test_json_lines_are_read(log: WriteLog, entry: Callable[[int], object]) -> None:
    text = "".join(json.dumps(entry(n)) + "\n" for n in range(1, 6))
    found = read_log(log(text, "metrics.jsonl"))
    assert (found.steps, found.step_seconds) == (5, 92)
    assert (found.tokens_per_second_per_gpu, found.peak_memory_gb) == (1000.5, 40)


def test_json_lines_that_break_off_are_counted(log: WriteLog) -> None:
    text = "".join(json.dumps({"step": n, "data": METRICS}) + "\n" for n in range(1, 6))
    found = read_log(log(text + '{"step": 6, "da'))
    assert (found.steps, found.unreadable) == (5, 1)


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"step":' + "9" * 50_000 + "}", '{"a":NaN}'])
def test_json_that_no_reader_should_meet_is_no_step(log: WriteLog, deep: str) -> None:
    text = json.dumps({"step": 1, "data": METRICS}) + "\n" + deep + "\n"
    assert read_log(log(text)).steps == 1


def test_the_csv_export_of_a_tracker_is_read(log: WriteLog) -> None:
    rows = "".join(f'{n},"9{n}.5",1000,{60 + n}\n' for n in range(1, 5))
    head = "_step,timing_s/step,perf/throughput,perf/max_memory_reserved_gb\n"
    found = read_log(log(head + rows, "export.csv"))
    assert (found.steps, found.step_seconds, found.peak_memory_gb) == (4, 93.5, 64)


def test_a_csv_export_with_the_run_in_its_columns_is_read(log: WriteLog) -> None:
    name = "qwen - grpo - timing_s/step"
    head = f'"Step","{name}","{name}__MIN","{name}__MAX"\n'
    rows = "".join(f'"{n}","92.5","90","95"\n' for n in range(1, 5))
    assert read_log(log("\ufeff" + head + rows, "wandb.csv")).step_seconds == 92.5


def test_a_csv_export_of_several_runs_is_refused(log: WriteLog) -> None:
    text = '"Step","a - timing_s/step","b - timing_s/step"\n1,2,3\n'
    with pytest.raises(UnusableInput, match="2 columns of `timing_s/step`"):
        read_log(log(text, "wandb.csv"))


def test_the_metric_of_a_tensorboard_export_is_in_its_file_name(log: WriteLog) -> None:
    rows = "".join(f"1750000000.1,{n},9{n}\n" for n in range(1, 4))
    path = log("Wall time,Step,Value\n" + rows, "run-x-tag-timing_s_step.csv")
    assert read_log(path).step_seconds == 92.5


def test_a_packed_log_is_unpacked(log: WriteLog) -> None:
    assert read_log(log(gzip.compress(steps([9] * 5).encode()), "run.log.gz")).steps == 5


def test_a_packed_log_that_breaks_off_is_read_as_far_as_it_goes(log: WriteLog) -> None:
    lines = "".join(f"{n * 7919 % 10007} noise\n" for n in range(50_000))
    packed = gzip.compress((steps([9] * 5) + lines).encode())
    found = read_log(log(packed[: len(packed) // 2], "run.log.gz"))
    assert found.steps == 5
    assert found.damage.broken_at


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "holds no training step"),
        (b"\x00" * 5000, "holds no training step"),
        (b"hello\n", "holds no training step"),
        (b"step:0 - val-core/x/acc:0.5\n", "holds validations (1), but no training step"),
        (b"\x28\xb5\x2f\xfd rest", "Zstandard"),
        (b"PK\x03\x04 rest", "ZIP"),
        ("step:1".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b not gzip", "breaks off"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(
    log: WriteLog, data: bytes, problem: str
) -> None:
    with pytest.raises(UnusableInput) as refused:
        read_log(log(data))
    assert problem in str(refused.value)


def test_a_missing_log_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.log"):
        with pytest.raises(UnusableInput, match="cannot be read"):
            read_log(path)


def test_nul_bytes_and_broken_text_beside_a_step_do_no_harm(log: WriteLog) -> None:
    noise = b"\x00\xff\xfe\x1b[2J\x1b]0;title\x07\n"
    data = b"".join(noise + line.encode() + b"\n" for line in steps([9] * 4).splitlines())
    assert read_log(log(data)).steps == 4


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [
                    b"step:",
                    b"step:1 - timing_s/step:",
                    b"\r",
                    b"\n",
                    b" - ",
                    b'{"step":1,"data":{"timing_s/step":',
                    b"_step,timing_s/step\n1,",
                    b"CUDA out of memory.",
                    b"'train_batch_size': ",
                    b"vllm==",
                    b"np.float64(",
                    b"\x1b[31m",
                    b"9" * 30,
                    b"1e999",
                    b'"',
                ]
            ),
        ),
        max_size=12,
    ).map(b"".join)
)
def test_no_bytes_make_the_reader_stumble(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.getbasetemp() / "any.log"
    path.write_bytes(data)
    try:
        found = read_log(path)
    except UnusableInput:
        return
    assert isinstance(found, TrainingLog)
    for figure in (found.step_seconds, found.tokens_per_second_per_gpu, found.peak_memory_gb):
        assert figure is None or 0 < figure < float("inf")


STREAM = """
import itertools, os, resource, sys, threading
from pathlib import Path
from rl_resources.contribute.training_log import read_log

step = b"(TaskRunner pid=1) step:%d - " + b"actor/x:0.000 - " * 80
step += b"timing_s/step:90.5 - perf/throughput:1000.5\\n"
noise = b"(WorkerDict pid=2) INFO nothing to see here, step by step\\n" * 4000
parts = {"lines": noise, "one-line": b"x" * 250_000, "nul": bytes(250_000)}

def write(handle):
    with os.fdopen(handle, "wb") as file:
        for number in range(1, 1 + 200_000_000 // 250_000):
            file.write(parts[sys.argv[1]])
            if sys.argv[1] == "lines":
                file.write(step % number)
        file.write(b"\\n" + step % 10**6 + step % (10**6 + 1))

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
source, sink = os.pipe()
threading.Thread(target=write, args=(sink,)).start()
found = read_log(Path(f"/dev/fd/{source}"))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(found.steps, (after - before) // 1024)
"""


@pytest.mark.parametrize(("kind", "steps_of_it"), [("lines", 802), ("one-line", 2), ("nul", 2)])
def test_two_hundred_megabytes_take_a_few_of_memory(kind: str, steps_of_it: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STREAM, kind], capture_output=True, text=True, check=True
    )
    found, megabytes = map(int, done.stdout.split())
    assert found == steps_of_it
    assert megabytes < 24


def test_one_endless_line_is_cut_and_the_next_is_read(log: WriteLog) -> None:
    found = read_log(log(b"x" * 5_000_000 + b"\n" + steps([9] * 3).encode()))
    assert (found.steps, found.damage.cut_lines) == (3, 1)


def test_progress_is_told_up_to_the_whole_size(log: WriteLog) -> None:
    told: list[tuple[int, int]] = []
    path = log(steps([9] * 2000))
    read_log(path, lambda done, size: told.append((done, size)))
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert len(told) > 1
