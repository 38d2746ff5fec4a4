"""The reader of training logs: the forms that verl and its trackers write, and what is none."""

import io

import pytest

from cases import each, read_cases
from rl_resources.contribute.training_log import TrainingLog, read_log
from rl_resources.errors import UnusableInput

CASES = read_cases("training_log")
STEP = (
    "step:N - global_seqlen/min:484245.000 - perf/max_memory_reserved_gb:61.500 - "
    "timing_s/step:8N.000 - perf/throughput:1450.250"
)


def lines(count: int, form: str) -> str:
    text = ""
    for number in range(1, count + 1):
        line = form.replace("N", str(number))
        text += f"{line}\n"
    return text


def read(text: str) -> TrainingLog:
    return read_log(io.StringIO(text, newline=None), "run.log")


@each(CASES["figures"], "text line times expected absent")
def test_figures_are_those_of_the_steps(text, line, times, expected, absent):
    log = read(text or lines(times, line))
    counts = {
        "steps": len(log.steps),
        "measured": len(log.measured),
        "warm-up": log.warm_up,
    }
    found = counts | log.figures
    assert {name: found.get(name) for name in expected} == expected
    assert found.keys().isdisjoint(absent or ())


@pytest.mark.parametrize(
    "form",
    [
        "(TaskRunner pid=123, ip=10.0.0.1) {}",
        "\x1b[36m(TaskRunner pid=123)\x1b[0m {}",
        "Training Progress:   2%|▏  | 2/624 [21:47<114:32:27, 662.94s/it]\r{}\r",
        "\x00\udcff\x1b[2J\x1b]0;title\x07\n{}",
    ],
)
def test_the_surroundings_of_a_step_do_not_matter(form):
    text = lines(4, form.format(STEP))
    found = read(text)
    assert len(found.steps) == 4
    assert found.figures["step_seconds"] == 83
    assert found.figures["tokens_per_second_per_gpu"] == 1450.25


@pytest.mark.parametrize("line", CASES["out_of_memory"]["lines"])
def test_a_run_ends_out_of_memory(line):
    text = lines(3, STEP) + f"(WorkerDict pid=1) \x1b[31m{line}\x1b[0m\nTraceback\n"
    found = read(text)
    assert len(found.steps) == 3
    assert "memory" in found.out_of_memory


def test_the_batch_of_the_printed_configuration_and_printed_releases_are_read():
    printed = CASES["printed"]
    found = read(printed["text"] + lines(2, STEP))
    assert found.settings["train_batch_size"] == printed["batch"]
    assert found.releases == printed["releases"]


@each(CASES["files"], "line after brackets")
def test_files_of_metrics_are_read(line, after, brackets):
    text = lines(5, line) + (after or "[" * (brackets or 0))
    found = read(text)
    assert len(found.steps) == 5
    assert found.figures["step_seconds"] == 92
    assert found.figures["tokens_per_second_per_gpu"] == 1000.5
    assert found.figures["peak_memory_gb"] == 42.95


@each(CASES["refused"], "text problem")
def test_what_is_no_log_is_refused_with_the_reason(text, problem):
    with pytest.raises(UnusableInput, match=problem):
        read(text)
