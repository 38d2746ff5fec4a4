"""What runs on this hardware: the rules on literal configurations, then questions to the data."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rl_resources import UnusableInput, load
from rl_resources.cli import main
from rl_resources.dataset import Dataset
from rl_resources.query.ask import ask
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import ORDER, RELAXATIONS, Found, find
from rl_resources.query.question import Question, Words, understand
from rl_resources.query.sentences import series, start
from rl_resources.query.series import in_series
from rl_resources.site.find import as_text

_MEMORY = {"h100": 80.0, "a100-80g": 80.0, "a100-40g": 40.0, "t4": 16.0, "mi300x": 192.0}
_POSITIONS = {"1.5B": 2, "3B": 3, "7B": 4, "14B": 5}
_BLANK: dict[str, Any] = {
    name: {"str": "", "int": 0, "float": 0.0}.get(str(kind.__forward_arg__), ())
    for name, kind in Configuration.__annotations__.items()
}
H100 = Question(device="h100", vendor="NVIDIA", memory_gb=80)


def _report(id_: str = "r", *, gpus: int = 1, device: str = "h100", **more: Any) -> Configuration:
    cells = {
        "kind": "report",
        "outcome": "ran",
        "evidence_level": "stated-run",
        "statement": "stated-run",
        "conditions": ("full fine-tuning",),
        "size": "7B",
        "model_label": "7B",
        "task": "GRPO",
        "task_label": "GRPO",
        "device_label": device,
        "possible_devices": (device,),
        "vendor": "AMD" if device.startswith("mi") else "NVIDIA",
        "memory_gb": _MEMORY.get(device, 0.0),
    }
    cells |= more
    cells.setdefault("position", _POSITIONS[cells["size"]])
    return Configuration(**(_BLANK | {"id": id_, "gpus": gpus, "device": device} | cells))


def _record(id_: str = "s", **more: Any) -> Configuration:
    known = {
        "kind": "record",
        "evidence_level": "reported",
        "script": f"examples/tuning/7b/{id_}.sh",
    }
    return _report(id_, **(known | more))


def _fits(question: Question, *rows: Configuration) -> dict[str, str]:
    found = find(rows, question)
    told = [*found.answers, *found.unclear, *found.failures]
    return {item.configuration.id: item.fit for item in told}


def test_a_run_on_that_device_within_the_gpus_is_tested() -> None:
    asked = replace(H100, gpus=8)
    rows = (_report("less", gpus=4), _report("same", gpus=8), _report("more", gpus=16))
    assert _fits(asked, *rows) == {"less": "tested", "same": "tested"}


def test_a_run_on_no_more_memory_of_the_same_vendor_should_fit_and_says_not_tested() -> None:
    asked = replace(H100, gpus=8)
    found = find([_report(device="a100-80g", gpus=8)], asked)
    (answer,) = found.answers
    assert answer.fit == "should-fit"
    assert answer.reason.startswith("Should fit, not tested on 8 x h100: ")


def test_more_memory_each_or_more_gpus_never_fits() -> None:
    asked = Question(device="a100-40g", vendor="NVIDIA", memory_gb=40, gpus=4)
    assert _fits(asked, _report(gpus=1), _report(device="t4", gpus=8)) == {}


def test_another_vendors_run_never_fits_a_device() -> None:
    asked = Question(device="mi300x", vendor="AMD", memory_gb=192, gpus=8)
    assert _fits(asked, _report(device="h100", gpus=1)) == {}


def test_memory_without_a_device_takes_any_vendor() -> None:
    asked = Question(memory_gb=192, gpus=1)
    rows = (_report("amd", device="mi300x"), _report("nvidia", device="h100"))
    assert _fits(asked, *rows) == {"amd": "tested", "nvidia": "should-fit"}


def test_without_a_number_of_gpus_any_number_is_enough() -> None:
    assert _fits(H100, _report(gpus=512)) == {"r": "tested"}


def test_a_run_of_a_device_with_unknown_memory_fits_only_that_device() -> None:
    row = _report(device="ascend-910b", vendor="Huawei", memory_gb=0.0)
    own = Question(device="ascend-910b", vendor="Huawei")
    other = Question(device="ascend-910c", vendor="Huawei", memory_gb=64)
    assert _fits(own, row) == {"r": "tested"}
    assert _fits(other, row) == {}


def test_a_report_without_a_device_should_fit_where_its_memory_is_known() -> None:
    row = _report(device="", device_label="H100/A100", memory_gb=80.0)
    assert _fits(replace(H100, gpus=1), row) == {"r": "should-fit"}
    assert _fits(Question(memory_gb=80, gpus=1), row) == {"r": "tested"}


def test_a_device_of_which_the_memory_is_not_told_is_unclear_for_the_smaller_one() -> None:
    row = _report(device="", device_label="A100", memory_gb=80.0)
    row = row._replace(possible_devices=("a100-40g", "a100-80g"))
    smaller = Question(device="a100-40g", vendor="NVIDIA", memory_gb=40)
    assert _fits(smaller, row) == {"r": "unclear"}
    assert _fits(replace(smaller, device="a100-80g", memory_gb=80), row) == {"r": "should-fit"}


def test_of_a_range_of_gpus_the_lower_end_counts_and_the_range_is_told() -> None:
    (answer,) = find([_report(gpus=8, gpus_maximum=32)], replace(H100, gpus=8)).answers
    assert "8 to 32 x h100" in answer.reason


@pytest.mark.parametrize("evidence_level", ["untested", "guess"])
def test_what_nobody_ran_is_unclear_and_no_answer(evidence_level: str) -> None:
    found = find([_report(evidence_level=evidence_level)], H100)
    assert found.answers == ()
    assert [item.fit for item in found.unclear] == ["unclear"]


def test_a_word_that_was_asked_is_not_matched_by_a_blank() -> None:
    row = _report(train="fsdp", infer="vllm", tag="MIN", model="a/b")
    for name in ("train", "infer", "tag", "model", "task"):
        asked = replace(H100, **{name: getattr(row, name)})
        assert _fits(asked, row) == {"r": "tested"}
        assert _fits(asked, row._replace(**{name: ""})) == {}


def test_records_come_before_reports_and_tested_before_should_fit() -> None:
    rows = (
        _report("report-a100", device="a100-80g"),
        _report("report-h100"),
        _record("record-a100", device="a100-80g"),
        _record("record-h100"),
    )
    answers = find(rows, replace(H100, gpus=1)).answers
    ids = [item.configuration.id for item in answers]
    assert ids == ["record-h100", "record-a100", "report-h100", "report-a100"]


def test_the_undisputed_and_the_nearest_hardware_come_first() -> None:
    rows = (
        _record("disputed", gpus=8, evidence_level="disputed"),
        _record("one", gpus=1),
        _record("eight", gpus=8),
        _record("old", gpus=8, remarks=("older than a year",)),
    )
    ids = [item.configuration.id for item in find(rows, replace(H100, gpus=8)).answers]
    assert ids == ["eight", "old", "one", "disputed"]


def test_with_the_hardware_open_the_smallest_comes_first_and_unknown_memory_last() -> None:
    rows = (
        _report("eight", gpus=8),
        _report("unknown", device="x"),
        _report("one"),
        _report("t4", device="t4"),
    )
    ids = [item.configuration.id for item in find(rows, Question(size="7B")).answers]
    assert ids == ["t4", "one", "unknown", "eight"]


def test_nothing_fits_tells_the_smallest_and_what_is_missing() -> None:
    rows = (_report("big", gpus=8), _report("small", gpus=2))
    found = find(rows, Question(size="7B", position=4, memory_gb=24, gpus=1))
    assert [item.kind for item in found.nearest] == ["smallest-tested"]
    (nearest,) = found.nearest
    assert nearest.answer.configuration.id == "small"
    assert nearest.reason == "The smallest known run took 2 x 80 GB, you have 1 x 24 GB."


def test_nothing_fits_offers_adapters_and_the_largest_smaller_size() -> None:
    rows = (
        _report("full"),
        _report("adapters", task="GRPO-LoRA", device="t4"),
        _report("tiny", size="1.5B", device="t4"),
        _report("smaller", size="3B", device="t4"),
    )
    asked = Question(
        size="7B", position=4, task="GRPO", adapter_task="GRPO-LoRA", memory_gb=16, gpus=1
    )
    nearest = {item.kind: item.answer.configuration.id for item in find(rows, asked).nearest}
    assert nearest == {
        "smallest-tested": "full",
        "adapters": "adapters",
        "smaller-size": "smaller",
    }


def test_a_length_that_was_asked_is_matched_by_no_less_and_by_no_blank() -> None:
    rows = (
        _report("long", max_total_length=32768),
        _report("exact", max_prompt_length=1024, max_response_length=15360),
        _report("short", max_total_length=8192),
        _report("untold"),
        _report("failed", max_total_length=8192, outcome="out-of-memory"),
    )
    told = _fits(replace(H100, gpus=1, length=16384), *rows)
    assert told == {"long": "tested", "exact": "tested", "failed": "out-of-memory"}


def test_where_nothing_is_so_long_the_longest_that_fits_is_offered() -> None:
    rows = (
        _report("short", max_total_length=1024),
        _report("longer", max_total_length=8192),
        _report("long-on-more", gpus=8, max_total_length=32768),
    )
    asked = replace(H100, size="7B", position=4, gpus=1, length=16000)
    first, second = find(rows, asked).nearest
    assert first.reason == "The smallest known run took 8 x 80 GB, you have 1 x 80 GB."
    assert second.answer.configuration.id == "longer"
    assert second.reason.startswith("With a shorter context (8192 tokens) 7B is tested on")


def test_a_context_that_is_not_told_is_offered_without_a_figure() -> None:
    (nearest,) = find([_report()], replace(H100, gpus=1, length=16000)).nearest
    assert nearest.reason.startswith("With a context that its source does not tell 7B is tested")


def test_a_model_that_is_known_on_much_alone_leads_to_the_least_of_its_size() -> None:
    rows = (
        _report("own", gpus=32, model="a/own"),
        _report("other", gpus=2, model="a/other"),
        _report("amd", gpus=1, model="a/amd", device="mi300x"),
    )
    asked = replace(H100, model="a/own", size="7B", position=4, gpus=1)
    least = find(rows, asked).nearest[1]
    assert (least.kind, least.answer.configuration.id) == ("smallest-of-size", "other")
    assert least.reason == "The smallest known run of the size 7B took 2 x 80 GB: 7B."


def test_of_a_size_the_longest_context_is_told_and_whether_it_is_tested() -> None:
    rows = (_record(max_total_length=1024), _report("long", max_total_length=4096))
    asked = replace(H100, size="7B", position=4)
    tested = "The longest context: 4096 tokens on 1 x h100 (80 GB), 7B, GRPO (report, long)."
    assert tested in _text(find(rows, asked))
    elsewhere = replace(asked, device="a100-80g")
    assert "The longest context that should fit: 4096" in _text(find(rows, elsewhere))
    assert "The longest context" not in _text(find(rows[:1], asked))


def test_with_the_number_open_what_is_missing_reads_as_a_sentence() -> None:
    (by_memory,) = find([_report()], Question(size="7B", memory_gb=24)).nearest
    assert by_memory.reason.endswith("took 1 x 80 GB, you have any number of devices of 24 GB.")
    own = Question(size="7B", device="t4", vendor="NVIDIA", memory_gb=16)
    assert find([_report()], own).nearest[0].reason.endswith("you have any number of t4.")


def test_an_estimate_is_never_the_smallest_tested() -> None:
    rows = (_report("guess", gpus=2, evidence_level="guess"), _report("ran", gpus=4))
    (nearest,) = find(rows, replace(H100, size="7B", position=4, gpus=1)).nearest
    assert nearest.answer.configuration.id == "ran"


def test_of_the_same_hardware_the_smallest_tested_is_the_record_for_it_has_a_script() -> None:
    rows = (_report("a-report", gpus=2), _record("record", gpus=2))
    (nearest,) = find(rows, replace(H100, size="7B", position=4, gpus=1)).nearest
    assert nearest.answer.configuration.id == "record"


def test_where_no_smaller_size_has_the_task_another_task_is_offered() -> None:
    rows = (_report("ppo", task="PPO", gpus=8), _report("grpo", size="3B"))
    asked = replace(H100, size="7B", position=4, task="PPO", gpus=1)
    nearest = {item.kind: item.answer.configuration.id for item in find(rows, asked).nearest}
    assert nearest == {"smallest-tested": "ppo", "smaller-anything": "grpo"}


def test_where_no_smaller_size_has_the_backends_the_task_is_kept_with_others() -> None:
    rows = (
        _report("own", train="megatron", gpus=8),
        _report("ppo", size="3B", task="PPO", train="fsdp", gpus=1),
        _report("grpo", size="1.5B", train="fsdp", gpus=1),
    )
    asked = replace(H100, size="7B", position=4, task="GRPO", train="megatron", gpus=1)
    nearest = {item.kind: item.answer.configuration.id for item in find(rows, asked).nearest}
    assert nearest == {"smallest-tested": "own", "smaller-other-backends": "grpo"}


def test_the_smallest_hardware_is_told_where_a_record_of_more_comes_first() -> None:
    found = find([_record(gpus=8), _report("small", gpus=2)], Question(size="7B", position=4))
    assert "The least memory in all: 7B, GRPO, 2 x h100 (80 GB), full fine-tuning" in _text(found)


def test_nothing_of_the_own_vendor_says_so_and_not_that_memory_is_missing() -> None:
    asked = Question(size="7B", position=4, device="mi300x", vendor="AMD", memory_gb=192, gpus=8)
    (nearest,) = find([_report()], asked).nearest
    assert nearest.reason == (
        "The smallest tested one is 1 x h100 (80 GB) of NVIDIA; "
        "on AMD nothing is tested, and the software is another."
    )


def test_a_model_that_does_not_fit_leads_to_another_of_its_size() -> None:
    rows = (_report("own", gpus=8, model="a/own"), _report("other", gpus=1, model="a/other"))
    asked = replace(H100, model="a/own", size="7B", position=4, gpus=1)
    kinds = [item.kind for item in find(rows, asked).nearest]
    assert kinds == ["smallest-tested", "other-model"]


def test_a_failure_is_told_on_the_device_and_on_no_less_and_never_as_an_answer() -> None:
    rows = (
        _report("fewer", gpus=1, outcome="out-of-memory"),
        _report("same", gpus=4, outcome="out-of-memory"),
        _report("more", gpus=8, device="a100-80g", outcome="out-of-memory"),
        _report("weaker", gpus=8, device="t4", outcome="out-of-memory"),
        _report("other-vendor", gpus=8, device="mi300x", outcome="out-of-memory"),
    )
    found = find(rows, replace(H100, gpus=4))
    assert found.answers == ()
    assert [item.configuration.id for item in found.failures] == ["same", "more", "fewer"]
    assert "fewer accelerators than you have" in found.failures[-1].reason


def test_reports_that_contradict_each_other_are_told_together() -> None:
    rows = (
        _report("says-yes", contradicts=("says-no",)),
        _report("says-no", device="t4", outcome="out-of-memory", contradicts=("says-yes",)),
    )
    found = find(rows, H100)
    assert {name: [row.id for row in others] for name, others in found.contradictions.items()} == {
        "says-yes": ["says-no"]
    }
    assert "Contradicted: 7B GRPO on 1 x t4 (16 GB): out of memory" in _text(found)


def test_trials_that_failed_are_told_beside_their_record() -> None:
    found = find([_record(failed_batches=(101, 128))], H100)
    assert "Trials failed at a batch of 101, 128 prompts." in _text(found)


def test_the_reverse_question_tells_the_largest_size_and_longest_context_of_each_task() -> None:
    rows = (
        _report("small", size="3B", max_total_length=99_999),
        _report("large", size="14B", max_prompt_length=1000, max_response_length=24),
        _report("long", size="14B", max_total_length=4096),
        _report("ppo", task="PPO"),
        _report("too-large", size="14B", task="PPO", gpus=8),
    )
    found = find(rows, replace(H100, gpus=1))
    told = {
        item.task: (item.size, item.longest.configuration.id, item.longest.configuration.length)
        for item in found.largest
    }
    assert told == {"GRPO": ("14B", "long", 4096), "PPO": ("7B", "ppo", 0)}


def test_a_length_of_which_a_part_is_unknown_is_told_as_at_least() -> None:
    known = find([_report(max_prompt_length=256, max_response_length=256)], H100)
    partly = find([_report(max_response_length=256)], H100)
    assert "  512 tokens on" in _text(known)
    assert "  at least 256 tokens on" in _text(partly)


def test_a_disputed_record_says_what_is_disputed() -> None:
    found = find([_record(evidence_level="disputed", notes="The page says 16, the log 100.")], H100)
    assert "Disputed: The page says 16, the log 100." in _text(found)


def test_the_best_script_is_that_of_the_first_record() -> None:
    found = find([_report("r"), _record("s"), _record("t", gpus=2)], H100)
    assert found.script is not None
    assert start(found.script) == "bash examples/tuning/7b/s.sh"


def _text(found: Found) -> str:
    return as_text(found, (), limit=0, width=200, colour=False)


_ROWS = some.lists(
    some.builds(
        _report,
        some.text("abc", min_size=1, max_size=3),
        gpus=some.sampled_from([1, 2, 4, 8, 16]),
        device=some.sampled_from([*_MEMORY, "unknown"]),
        size=some.sampled_from(list(_POSITIONS)),
        task=some.sampled_from(["GRPO", "GRPO-LoRA", "PPO", ""]),
        outcome=some.sampled_from(["ran", "ran", "out-of-memory"]),
        evidence_level=some.sampled_from(["measured", "stated", "guess"]),
        max_total_length=some.sampled_from([0, 1024, 4096]),
    ),
    max_size=12,
    unique_by=lambda row: row.id,
)
_QUESTIONS = some.builds(
    lambda size, task, gpus, hardware: Question(
        size=size,
        position=_POSITIONS.get(size, 0),
        task=task,
        gpus=gpus,
        device=hardware[0],
        vendor=hardware[1],
        memory_gb=hardware[2],
    ),
    some.sampled_from(["", *_POSITIONS]),
    some.sampled_from(["", "GRPO", "PPO"]),
    some.sampled_from([0, 1, 2, 4, 8]),
    some.sampled_from([("", "", 0), ("", "", 40), ("", "", 80)])
    | some.sampled_from([("h100", "NVIDIA", 80), ("mi300x", "AMD", 192), ("t4", "NVIDIA", 16)]),
)


def _ids(found: Found) -> list[str]:
    return [item.configuration.id for item in found.answers]


@given(_ROWS, _QUESTIONS)
def test_no_answer_needs_more_than_was_asked(rows: list[Configuration], asked: Question) -> None:
    for item in find(rows, asked).answers:
        row = item.configuration
        assert not asked.gpus or row.gpus <= asked.gpus
        assert not asked.memory_gb or row.memory_gb <= asked.memory_gb
        assert not asked.vendor or row.vendor == asked.vendor
        assert row.outcome == "ran"


@given(_ROWS, _QUESTIONS)
def test_every_configuration_is_told_at_most_once(
    rows: list[Configuration], asked: Question
) -> None:
    found = find(rows, asked)
    told = [*_ids(found), *(item.configuration.id for item in (*found.unclear, *found.failures))]
    assert len(told) == len(set(told))


@given(_ROWS, _QUESTIONS, some.randoms())
def test_the_order_does_not_depend_on_the_order_of_the_data(
    rows: list[Configuration], asked: Question, chance: Any
) -> None:
    shuffled = rows[:]
    chance.shuffle(shuffled)
    assert find(shuffled, asked) == find(rows, asked)


@given(_ROWS, _QUESTIONS, some.integers(1, 8))
def test_more_gpus_never_remove_an_answer(
    rows: list[Configuration], asked: Question, more: int
) -> None:
    richer = replace(asked, gpus=asked.gpus + more if asked.gpus else 0)
    assert set(_ids(find(rows, asked))) <= set(_ids(find(rows, richer)))


@given(_ROWS, some.sampled_from([16, 24, 40, 80]), some.integers(0, 200))
def test_more_memory_never_removes_an_answer(
    rows: list[Configuration], memory: int, more: int
) -> None:
    asked, richer = Question(memory_gb=memory), Question(memory_gb=memory + more)
    assert set(_ids(find(rows, asked))) <= set(_ids(find(rows, richer)))


@given(_ROWS, _QUESTIONS)
def test_what_is_offered_as_nearest_fits_unless_it_says_what_is_missing(
    rows: list[Configuration], asked: Question
) -> None:
    found = find(rows, asked)
    assert not (found.answers and found.nearest)
    for item in found.nearest:
        beyond = item.answer.fit == "beyond"
        assert beyond == (item.kind in {"smallest-tested", "smallest-of-size"})


def test_every_kind_of_order_and_relaxation_has_its_own_name() -> None:
    for names in (ORDER, [item.kind for item in RELAXATIONS]):
        assert len(names) == len(set(names))


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("H100", "h100"),
        ("h100 80GB", "h100"),
        ("NVIDIA H100", "h100"),
        ("A100 80GB", "a100-80g"),
        ("a100-40gb", "a100-40g"),
        ("A100 (80)", "a100-80g"),
        ("RTX 4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("H20", "h20"),
        ("H20 141GB", "h20-141g"),
        ("MI300X", "mi300x"),
        ("8 H100s", "h100"),
        ("L40S", "l40s"),
        ("5090", "rtx-5090"),
        ("3090", "rtx-3090"),
        ("3090 Ti", "rtx-3090-ti"),
        ("H100 80GB PCIe", "h100-pcie"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80g"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("Tesla V100-SXM2-32GB", "v100-32g"),
        ("RTX 6000 Ada", "rtx-6000-ada"),
        ("GH200", "gh200-96g"),
    ],
)
def test_a_device_is_known_by_the_words_people_use(dataset: Dataset, said: str, meant: str) -> None:
    assert understand(dataset, Words(device=said)).question.device == meant


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"model": "7B"}, {"size": "7B", "model": ""}),
        ({"model": "8b"}, {"size": "7B", "model": ""}),
        ({"size": "7"}, {"size": "7B"}),
        ({"size": "30B-A3B"}, {"size": "32B"}),
        ({"model": "qwen2.5-7b-instruct"}, {"model": "Qwen/Qwen2.5-7B-Instruct", "size": "7B"}),
        ({"model": "QWEN/qwen2.5-7b-INSTRUCT"}, {"model": "Qwen/Qwen2.5-7B-Instruct"}),
        ({"task": "grpo lora"}, {"task": "GRPO-LoRA", "adapter_task": ""}),
        ({"task": "grpo"}, {"task": "GRPO", "adapter_task": "GRPO-LoRA"}),
        ({"memory": "24"}, {"memory_gb": 24, "vendor": "", "device": ""}),
        ({"memory": "24564MiB"}, {"memory_gb": 24}),
        ({"memory": "80 GiB"}, {"memory_gb": 80}),
        ({"device": "80 GB"}, {"memory_gb": 80, "device": ""}),
        ({"device": "24"}, {"memory_gb": 24, "device": ""}),
        ({"device": "141 GB"}, {"memory_gb": 141, "device": ""}),
        ({"device": "4090"}, {"device": "rtx-4090", "memory_gb": 24}),
        ({"task": "REINFORCE++"}, {"task": "REINFORCE-PP"}),
        ({"device": "H100"}, {"device": "h100", "vendor": "NVIDIA", "memory_gb": 80}),
        ({"train": "FSDP", "tag": "min"}, {"train": "fsdp", "tag": "MIN"}),
        ({"device": "8xH100"}, {"device": "h100", "gpus": 8}),
        ({"device": "2*8 H100(80g)"}, {"device": "h100", "gpus": 16}),
        ({"device": "4090 x8", "gpus": "8"}, {"device": "rtx-4090", "gpus": 8}),
        ({"device": "8*24G 4090"}, {"device": "rtx-4090", "gpus": 8}),
        ({"device": "4 x 24GB"}, {"device": "", "memory_gb": 24, "gpus": 4}),
        ({"device": "40G A100"}, {"device": "a100-40g"}),
        ({"device": "A6000 48G"}, {"device": "rtx-a6000"}),
        ({"device": "32 GB VRAM"}, {"memory_gb": 32}),
        ({"gpus": "2x8"}, {"gpus": 16}),
        ({"length": "16K"}, {"length": 16_000}),
        ({"length": "16,384 tokens"}, {"length": 16_384}),
        ({"length": "2048 + 16384"}, {"length": 18_432}),
        ({"length": "0.1M"}, {"length": 100_000}),
        ({"gpus": "8 GPUs"}, {"gpus": 8}),
        ({"gpus": "2 nodes x 8"}, {"gpus": 16}),
        ({"device": "4 nodes of 8 H100"}, {"device": "h100", "gpus": 32}),
        ({"model": "7 B"}, {"size": "7B"}),
        ({"model": "135M"}, {"size": "0.5B"}),
        ({"model": "1T"}, {"size": "671B"}),
        ({"model": "https://huggingface.co/Qwen/Qwen3-8B"}, {"model": "Qwen/Qwen3-8B"}),
        ({"task": "GRPO with LoRA"}, {"task": "GRPO-LoRA"}),
        ({"task": "QLoRA GRPO"}, {"task": "GRPO-LoRA"}),
        ({"task": "Dr. GRPO"}, {"task": "Dr-GRPO"}),
        ({"model": "gemma 3 27b"}, {"model": "google/gemma-3-27b-it"}),
        ({"model": "Qwen 2.5 32B"}, {"model": "Qwen/Qwen2.5-32B"}),
        ({"model": "Qwen2.5-VL-72B"}, {"model": "Qwen/Qwen2.5-VL-72B-Instruct"}),
        ({"model": "DeepSeek-R1 671B"}, {"model": "deepseek-ai/DeepSeek-R1"}),
        ({"model": "llama 3 8b"}, {"model": "meta-llama/Meta-Llama-3-8B"}),
        ({"model": "GPT-J-6B"}, {"model": "", "size": "7B"}),
        ({"model": "Qwen3-30B"}, {"model": "", "size": "32B"}),
        ({"model": "baichuan 7B"}, {"model": "", "size": "7B"}),
        ({"model": "Qwen2.5-7B-Instrct"}, {"model": "", "size": "7B"}),
        ({"device": "A100"}, {"devices": ("a100-40g", "a100-80g"), "memory_gb": 40}),
        ({"task": "grpo (lora)"}, {"task": "GRPO-LoRA"}),
        ({"task": "GRPO w/ LoRA"}, {"task": "GRPO-LoRA"}),
        ({"task": "LoRA"}, {"task": "", "weights": "lora"}),
        ({"task": "QLoRA"}, {"task": "", "weights": "qlora"}),
        ({"task": "full"}, {"task": "", "weights": "full"}),
        ({"task": "GRPO-QLoRA"}, {"task": "GRPO-LoRA", "weights": "qlora"}),
        ({"task": "PPO-Lag"}, {"task": "PPO"}),
        ({"framework": "veRL"}, {"framework": "verl"}),
        ({"scenario": "Multimodal"}, {"scenario": "multimodal"}),
    ],
)
def test_words_are_understood(
    dataset: Dataset, words: dict[str, str], expected: dict[str, object]
) -> None:
    question = understand(dataset, Words(**words)).question
    assert {name: getattr(question, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "help_"),
    [
        ({"device": "h1000"}, "Did you mean `h100`"),
        ({"device": "zx81"}, "Ask by memory with --memory"),
        ({"device": "5070"}, "Ask by memory with --memory"),
        ({"device": "GH100"}, "Otherwise ask by its memory"),
        ({"device": "RTX 3060 12GB"}, "Ask by its memory: `--memory 12`."),
        ({"device": "4090 48G"}, "`--memory 48`"),
        ({"device": "8xH100", "gpus": "4"}, "Give one of them"),
        ({"model": "nothing-like-it"}, "ask by size"),
        ({"model": "Qwen/Qwen2.5-7B", "size": "3B"}, "Leave --size out"),
        ({"size": "huge"}, "`7B`"),
        ({"task": "GRP"}, "Did you mean `GRPO`"),
        ({"task": "SFT"}, "Ask for a task of RL"),
        ({"weights": "some"}, "`full`"),
        ({"train": "vlm"}, "`fsdp`"),
        ({"tag": "minimum"}, "MIN"),
        ({"gpus": "0"}, "--gpus 8"),
        ({"gpus": "8xh100"}, "--gpus 8"),
        ({"length": "long"}, "`--length 16K`"),
        ({"length": "0"}, "`--length 16K`"),
        ({"memory": "much"}, "--memory 80"),
        ({"memory": "-1"}, "--memory 80"),
        ({"device": "h100", "memory": "80"}, "A device has its memory"),
    ],
)
def test_a_word_that_is_not_known_gets_the_nearest(
    dataset: Dataset, words: dict[str, str], help_: str
) -> None:
    with pytest.raises(UnusableInput) as caught:
        understand(dataset, Words(**words))
    assert help_ in caught.value.help


def test_every_record_and_report_is_a_configuration_with_an_id_of_its_own(
    dataset: Dataset,
) -> None:
    rows = configurations(dataset)
    assert len(rows) == len(dataset.records["tuning"]) + len(dataset.records["reports"])
    assert len({row.id for row in rows}) == len(rows)
    assert {row.fit for row in ask(dataset, Words())[0].answers} == {"tested", "claimed"}


def test_every_record_is_an_answer_to_the_question_about_itself(dataset: Dataset) -> None:
    for row in dataset.records["tuning"]:
        if row["status"] == "untested":
            continue
        names = ("model", "task", "gpus", "device", "train", "infer", "tag")
        found, _ = ask(dataset, Words(**{name: str(row[name]) for name in names}))
        assert found.script is not None
        assert found.answers[0].configuration.script.endswith(f"/{row['script']}")


def test_an_h20_of_unknown_memory_is_not_an_answer_for_the_smaller_h20(dataset: Dataset) -> None:
    found, _ = ask(dataset, Words(device="h20"))
    unclear = [item.configuration for item in found.unclear]
    assert any(row.device_label == "H20" and not row.device for row in unclear)
    assert all(item.configuration.device_label != "H20" for item in found.answers)


def test_a_7b_with_all_weights_on_one_24_gb_card_is_not_known_but_adapters_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["find", "--model", "7B", "--task", "GRPO", "--gpus", "1", "--memory", "24"])
    text = capsys.readouterr().out
    assert status == 1
    assert "The smallest known run took 1 x 80 GB, you have 1 x 24 GB." in text
    assert "LoRA (GRPO-LoRA)" in text


def test_find_prints_the_command_of_the_best_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find", "--size", "7B", "--gpus", "2", "--device", "h800"]) == 0
    script = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    text = capsys.readouterr().out
    assert f"  bash {script}\n" in text
    assert "\x1b" not in text


def test_every_record_that_is_told_leads_to_its_script(dataset: Dataset) -> None:
    found, notes = ask(dataset, Words(size="14B", gpus="8", device="h800"))
    scripts = [item.configuration.script for item in found.answers if item.configuration.script]
    text = as_text(found, notes, limit=0, width=80, colour=False)
    assert len(scripts) > 1
    assert all(f"\n   {script}\n" in text for script in scripts)
    nearest, notes = ask(dataset, Words(model="Qwen2.5-32B", task="DAPO", device="8*H20"))
    text = as_text(nearest, notes, limit=0, width=80, colour=False, root="/data")
    script = "examples/tuning/32b/qwen2.5-32b_grpo_8_h20_megatron_vllm.sh"
    assert f"\n  /data/{script}\n" in text


def test_json_csv_and_python_tell_the_same_answers(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["find", "--size", "7B", "--gpus", "8", "--device", "h100"]
    assert main([*asked, "--format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert main([*asked, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    frame = dataset.find(size="7B", gpus=8, device="H100")
    ids = [item["id"] for item in value["answers"]]
    assert ids == [line["id"] for line in lines] == frame["id"].tolist()
    assert list(value["answers"][0]) == list(frame.columns) == list(lines[0])
    assert frame.attrs["start"] == value["start"]
    assert frame.attrs["failures"] == value["failures"]


def test_a_frame_without_answers_has_its_columns_and_tells_the_nearest(dataset: Dataset) -> None:
    frame = dataset.find(size="70B", task="PPO", gpus=1, memory=16)
    assert len(frame) == 0
    assert frame["gpus"].dtype == "Int64"
    assert frame.attrs["nearest"][0]["nearest"] == "smallest-tested"


def test_csv_without_answers_is_a_header_and_the_nearest_goes_to_a_person(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["find", "--size", "70B", "--task", "PPO", "--gpus", "1", "--memory", "16"]
    assert main([*asked, "--format", "csv"]) == 1
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1
    assert "you have 1 x 16 GB" in told.err


def test_a_bad_word_ends_with_status_2_and_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["find", "--device", "h10"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "`h100`" in told.err


def test_colour_is_for_a_terminal_alone(dataset: Dataset) -> None:
    found, notes = ask(dataset, Words(size="7B"))
    coloured = as_text(found, notes, limit=3, width=80, colour=True)
    plain = as_text(found, notes, limit=3, width=80, colour=False)
    assert "\x1b[1m" in coloured
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    "words",
    [
        {"size": "7B", "gpus": "8", "device": "h100"},
        {"gpus": "1", "memory": "24"},
        {"model": "Qwen2.5-32B", "task": "PPO", "gpus": "1", "device": "t4"},
    ],
)
def test_nothing_but_addresses_names_and_commands_is_wider_than_a_narrow_terminal(
    dataset: Dataset, words: dict[str, str]
) -> None:
    found, notes = ask(dataset, Words(**words))
    lines = as_text(found, notes, limit=0, width=40, colour=False).splitlines()
    unbroken = [line for line in lines if len(line) > 40]
    assert len(lines) > 20
    assert [line for line in unbroken if " " in line.strip().removeprefix("bash ")] == []


def test_signs_that_a_terminal_obeys_are_shown_and_not_sent() -> None:
    found = find([_report(model_label="a\x1b[2Jb", notes="", source="https://x/\x07")], H100)
    assert "\x1b" not in _text(found)
    assert "\x07" not in _text(found)


_MEASURED: dict[str, Any] = {"source": "https://github.com/a/b/blob/c0ffee/x.md#L1"}


def test_reports_that_differ_in_settings_alone_are_told_as_one_and_all_are_there() -> None:
    rows = in_series(
        [
            _report("r1", **_MEASURED, max_total_length=1024, batch=8),
            _report("r2", **_MEASURED, max_total_length=8192, batch=8),
            _report("other-hardware", gpus=2, **_MEASURED),
            _report("other-source", source="https://x.org/1"),
            _report("contradicted", **_MEASURED, contradicts=("r1",)),
            _record("record", **_MEASURED),
        ]
    )
    assert [row.series for row in rows] == ["r1", "r1", "", "", "", ""]
    found = find(rows, Question())
    assert len(found.answers) == 6
    assert len(found.folds) == 5
    fold = next(fold for fold in found.folds if len(fold) > 1)
    assert [item.configuration.id for item in fold] == ["r2", "r1"]
    told = series([item.configuration for item in fold])
    assert told.endswith("differ in settings alone: 1024 to 8192 tokens in all.")


def test_the_command_folds_what_differs_in_settings_alone_unless_all_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    question = ["find", "--gpus", "1", "--memory", "24", "--limit", "0"]
    assert main(question) == 0
    folded = capsys.readouterr().out
    assert main([*question, "--all"]) == 0
    assert "differ in settings alone" in folded
    every = capsys.readouterr().out
    assert "differ in settings alone" not in every
    assert every.count("\n   Tested: ") > 2 * folded.count("\n   Tested: ")


def test_the_least_with_all_weights_is_told_beside_the_least_with_adapters() -> None:
    adapters = _report("adapters", task="GRPO-LoRA", weights="lora", device="t4")
    whole = _report("whole", gpus=2, weights="full")
    found = find([adapters, whole], Question(size="7B"))
    assert found.smallest and found.smallest.configuration.id == "adapters"
    assert found.smallest_whole and found.smallest_whole.configuration.id == "whole"
    assert find([whole], Question(size="7B")).smallest_whole is None


def test_a_report_without_room_for_its_weights_is_no_answer(dataset: Dataset) -> None:
    words = Words(model="7B", device="a100-40g", gpus="1", task="PPO")
    found, _ = ask(dataset, words)
    without_room = {row["record"] for row in dataset.records["exemptions"]}
    assert without_room.isdisjoint(item.configuration.id for item in found.answers)
    assert not without_room.isdisjoint(item.configuration.id for item in found.unclear)


def test_a_record_that_says_nothing_of_its_run_ran_and_a_guess_is_unclear() -> None:
    guess = _record("guess", evidence_level="guess", statement="guess")
    assert _fits(H100, guess) == {"guess": "unclear"}
