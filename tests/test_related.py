"""What is told beside a record: the right kinds, nearest first, and nothing that never ran."""

from __future__ import annotations

from rl_resources import load
from rl_resources.query.conditions import STATEMENTS
from rl_resources.query.configurations import RUNS, Configuration, configurations
from rl_resources.query.related import MOST_OF_A_KIND, Neighborhood
from website import ROOT

ALL = configurations(load(ROOT))
HERE = next(row for row in ALL if row.kind == "record")._replace(
    id="here", size="7B", position=4, model="o/m", model_label="o/m", task="GRPO", tag="MIN",
    task_label="GRPO", gpus=4, device="h100", device_label="h100", possible_devices=("h100",),
    vendor="NVIDIA", memory_gb=80, evidence_level="reported", statement="stated-run",
    max_prompt_length=1024,
    max_response_length=1024,
)  # fmt: skip


CLAIMS = set(STATEMENTS) - RUNS - {""}


def other(name: str, **changes: object) -> Configuration:
    return HERE._replace(id=name, **changes)  # type: ignore[arg-type]


def report(name: str, **changes: object) -> Configuration:
    return other(name, kind="report", evidence_level="stated-run", **changes)


def told(*rows: Configuration) -> list[tuple[str, str]]:
    return [
        (item.kind, item.configuration.id) for item in Neighborhood([HERE, *rows]).related(HERE)
    ]


def test_less_hardware_is_less_memory_in_all_records_before_reports() -> None:
    rows = [
        report("one-small", gpus=1, memory_gb=24, device="l4"),
        other("two", gpus=2),
        other("same"),
        other("more", gpus=8),
        other("unknown", memory_gb=0),
    ]
    assert told(*rows) == [("less-hardware", "two"), ("less-hardware", "one-small")]


def test_what_never_ran_is_no_way_on() -> None:
    rows = [
        other("untested", gpus=1, evidence_level="untested", statement=""),
        report("failed", gpus=1, outcome="out-of-memory"),
        *(report(name, gpus=1)._replace(evidence_level=name, statement=name) for name in CLAIMS),
    ]
    assert told(*rows) == []


def test_claims_are_all_but_measured_and_stated_runs() -> None:
    words = load(ROOT).package.resources["reports"].schema.field("statement").constraints["enum"]
    assert set(words) - {"measured-run", "stated-run"} == CLAIMS


def test_alike_reports_are_told_once_and_no_kind_fills_the_page() -> None:
    alike = [report(f"alike-{at}", gpus=1) for at in range(5)]
    assert told(*alike) == [("less-hardware", "alike-0")]
    many = [report(f"on-{at}", gpus=1, device_label=str(at)) for at in range(9)]
    assert len(told(*many)) == MOST_OF_A_KIND


def test_the_other_tag_is_the_same_model_and_task_under_the_other_word() -> None:
    rows = [
        other("fast", gpus=8, tag="RECOMMENDED"),
        other("tagless", gpus=8, tag=""),
        other("elsewhere", gpus=8, tag="RECOMMENDED", model="o/n", size="14B", position=5),
    ]
    assert told(*rows) == [("other-tag", "fast")]


def test_of_each_other_task_the_least_hardware_is_told() -> None:
    rows = [
        other("lora-unknown", task="GRPO-LoRA", gpus=1, memory_gb=0),
        other("lora-8", task="GRPO-LoRA", gpus=8),
        other("lora-1", task="GRPO-LoRA", gpus=1),
        other("ppo", task="PPO", gpus=16),
    ]
    assert told(*rows) == [("other-task", "lora-1"), ("other-task", "ppo")]


def test_another_model_of_the_size_counts_on_no_more_of_the_same_device() -> None:
    rows = [
        other("beside", model="o/n"),
        other("too-many", model="o/n", gpus=8),
        other("other-device", model="o/n", device="h20"),
        report("nameless", model=""),
    ]
    assert told(*rows) == [("same-device", "beside")]


def test_the_next_size_is_the_nearest_that_this_hardware_runs() -> None:
    rows = [
        other("14b", model="o/14", size="14B", position=5, task="PPO", task_label="PPO"),
        other("14b-too-large", model="o/14b", size="14B", position=5, gpus=8),
        other("32b", model="o/32", size="32B", position=6),
    ]
    ((kind, name),) = told(*rows)
    assert (kind, name) == ("next-size", "14b")
    (item,) = Neighborhood([HERE, *rows]).related(HERE)
    assert item.difference == "14B with PPO is tested on your 4 × h100 80 GB."


def test_each_difference_is_one_sentence_and_names_shorter_sequences() -> None:
    (item,) = Neighborhood([HERE, other("two", gpus=2, max_response_length=512)]).related(HERE)
    assert item.difference == (
        "Ran on 160 GB less in all, with shorter sequences (1536 tokens, not 2048)."
    )


def test_a_failure_counts_on_no_less_hardware_alone() -> None:
    rows = [
        report("same", outcome="out-of-memory"),
        report("more", outcome="out-of-memory", gpus=8),
        report("less", outcome="out-of-memory", gpus=1),
        report("smaller", outcome="out-of-memory", memory_gb=24),
        report("other-task", outcome="out-of-memory", task="PPO"),
    ]
    assert [row.id for row in Neighborhood(rows).failures(HERE)] == ["same", "more"]


def test_beside_every_record_each_configuration_is_told_once() -> None:
    near = Neighborhood(ALL)
    for record in (row for row in ALL if row.kind == "record"):
        found = [item.configuration.id for item in near.related(record)]
        assert len(found) == len(set(found))
        assert record.id not in found
