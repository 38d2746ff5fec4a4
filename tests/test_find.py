"""What runs on this hardware: the rules on literal configurations, then questions to the data."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rl_resources import UnusableInput
from rl_resources.cli import main
from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, device_label, written
from rl_resources.query.configurations import (
    RUNS,
    Configuration,
    configurations,
    recorded,
)
from rl_resources.query.estimate import estimate
from rl_resources.query.find import Found, ask, find
from rl_resources.query.sentences import resource
from rl_resources.query.understand import Query, understand
from rl_resources.query.vocabulary import Vocabulary, vocabulary
from rl_resources.site.answers import as_text, as_value

_MEMORY = {"h100": 80.0, "a100-80g": 80.0, "a100-40g": 40.0, "t4": 16.0, "mi300x": 192.0}
_POSITIONS = {"1.5B": 2, "3B": 3, "7B": 4, "14B": 5}
_BLANK: dict[str, Any] = {
    name: {"str": "", "int": 0, "float": 0.0}.get(str(kind.__forward_arg__), ())
    for name, kind in Configuration.__annotations__.items()
}
H100 = Query(device="h100", vendor="NVIDIA", memory_gb=80)
SEVEN = replace(H100, size="7B", position=4, gpus=1)


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
        "device_label": device_label(device),
        "possible_devices": (device,),
        "vendor": "AMD" if device.startswith("mi") else "NVIDIA",
        "memory_gb": _MEMORY.get(device, 0.0),
    }
    cells |= more
    cells.setdefault("position", _POSITIONS[cells["size"]])
    return Configuration(**(_BLANK | {"id": id_, "gpus": gpus, "device": device} | cells))


def _record(id_: str = "s", **more: Any) -> Configuration:
    known = {"kind": "record", "evidence_level": "reported", "script": f"examples/{id_}.sh"}
    return _report(id_, **(known | more))


@pytest.mark.parametrize(
    ("published", "shown"),
    [
        ("A800 (40G)", "A800 40 GB"),
        ("NVIDIA A800 80GB PCIe", "NVIDIA A800 80 GB PCIe"),
        ("80 GB GPU, not named", "80 GB GPU, not named"),
        ("B200 (GB200)", "B200 (GB200)"),
    ],
)
def test_memory_in_a_published_name_has_our_spelling(published: str, shown: str) -> None:
    assert written(published) == shown


def _ids(found: Found) -> list[str]:
    return [item.id for item in found.answers]


_A100 = Query(device="a100-40g", vendor="NVIDIA", memory_gb=40)
_AMD = Query(device="mi300x", vendor="AMD", memory_gb=192, gpus=8)
_FAILED: dict[str, Any] = {"outcome": "out-of-memory"}
_OPEN_A100: dict[str, Any] = {
    "device": "", "device_label": "A100", "possible_devices": ("a100-40g", "a100-80g"),
    "memory_gb": 80.0,
}  # fmt: skip
FITS: tuple[tuple[str, Query, Configuration, str], ...] = (
    ("fewer GPUs", replace(H100, gpus=8), _report(gpus=4), "tested"),
    ("more GPUs", replace(H100, gpus=8), _report(gpus=16), ""),
    ("no more memory", replace(H100, gpus=8), _report(device="a100-80g", gpus=8), "should-fit"),
    ("more memory each", _A100, _report(), ""),
    ("another vendor", _AMD, _report(), ""),
    ("memory of any vendor", Query(memory_gb=192), _report(device="mi300x"), "tested"),
    ("less than the memory", Query(memory_gb=192), _report(), "should-fit"),
    ("unknown memory", H100, _report(device="x"), ""),
    ("one of several devices", _A100, _report(**_OPEN_A100), "unclear"),
    ("the largest of several", H100, _report(**_OPEN_A100), "should-fit"),
    ("a range of GPUs", replace(H100, gpus=8), _report(gpus=8, gpus_maximum=32), "tested"),
    ("nobody ran it", H100, _report(evidence_level="untested"), "unclear"),
    ("a guess", H100, _record(evidence_level="guess", statement="guess"), "unclear"),
    ("a recommendation", H100, _report(statement="recommendation"), "claimed"),
    ("long enough", replace(H100, length=99), _report(max_total_length=99), "tested"),
    ("prompt and response", replace(H100, length=3),
     _report(max_prompt_length=1, max_response_length=2), "tested"),
    ("length not stated", replace(H100, length=99), _report(), ""),
    ("failed on fewer GPUs", replace(H100, gpus=4), _report(**_FAILED), "out-of-memory"),
    ("failed on no less", replace(H100, gpus=1), _report(device="a100-80g", gpus=8, **_FAILED),
     "out-of-memory"),
    ("failed on less memory", H100, _report(device="t4", gpus=8, **_FAILED), ""),
    ("QLoRA is LoRA", replace(H100, weights="lora"), _report(weights="qlora"), "tested"),
    ("LoRA is not QLoRA", replace(H100, weights="qlora"), _report(weights="lora"), ""),
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "row", "fit"), [case[1:] for case in FITS], ids=[case[0] for case in FITS]
)
def test_how_a_configuration_fits(query: Query, row: Configuration, fit: str) -> None:
    found = find([row], query)
    listed = [item.fit for item in (*found.answers, *found.unclear, *found.failures)]
    assert listed == ([fit] if fit else [])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (_report(gpus=8, gpus_maximum=32), "8 to 32 × H100 80 GB"),
        (_report(**_OPEN_A100), "1 × A100 (at most 80 GB)"),
        (_report(device="a100-pcie-80g"), "1 × A100 PCIe"),
    ],
)
def test_hardware_is_written_for_people(row: Configuration, words: str) -> None:
    assert resource(row) == words


def test_the_name_of_a_device_for_people_means_that_device(dataset: Dataset) -> None:
    known = Devices(dataset)
    assert {key: known.named(known.label(key)) for key in known.known} == {
        key: [key] for key in known.known
    }


@pytest.fixture(scope="module")
def known(dataset: Dataset) -> Vocabulary:
    return vocabulary(dataset)


WORDS = tomllib.loads(Path(__file__).with_name("find").joinpath("words.toml").read_text("utf-8"))
UNDERSTOOD = [case for case in WORDS["case"] if "query" in case]
NOT_KNOWN = [case for case in WORDS["case"] if "help" in case]


@pytest.mark.parametrize("case", UNDERSTOOD, ids=lambda case: str(case["words"]))
def test_words_are_understood(known: Vocabulary, case: dict[str, Any]) -> None:
    query, _ = understand(known, case["words"])
    assert {name: getattr(query, name) for name in case["query"]} == case["query"]


@pytest.mark.parametrize("case", NOT_KNOWN, ids=lambda case: str(case["words"]))
def test_a_word_that_is_not_known_gets_the_nearest(known: Vocabulary, case: dict[str, Any]) -> None:
    with pytest.raises(UnusableInput) as caught:
        understand(known, case["words"])
    assert case["help"] in caught.value.help


def test_every_record_is_the_answer_to_the_question_about_itself(dataset: Dataset) -> None:
    rows = configurations(dataset)
    reports = len(dataset.records["reports"]) - len(recorded(dataset))
    assert len(rows) == len(dataset.records["tuning"]) + reports
    for row in dataset.records["tuning"]:
        names = ("model", "task", "gpus", "device", "train", "infer", "tag")
        found, _ = ask(dataset, {name: str(row[name]) for name in names})
        scripts = [answer.script.rpartition("/")[2] for answer in found.answers]
        if row["statement"] in RUNS:
            assert scripts[0] == row["script"]
        elif row["status"] != "untested":
            assert row["script"] in scripts  # a run on fewer GPUs comes before a claim


def test_json_csv_and_python_give_the_same_answers(
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


def test_without_answers_every_format_leads_to_the_nearest(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = dataset.find(size="70B", task="PPO", gpus=1, memory=16)
    assert len(frame) == 0
    assert frame["gpus"].dtype == "Int64"
    assert frame.attrs["nearest"][0]["nearest"] == "smallest-tested"
    asked = ["find", "--size", "70B", "--task", "PPO", "--gpus", "1", "--memory", "16"]
    assert main([*asked, "--format", "csv"]) == 1
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 1
    assert "The smallest known run needed" in output.err
    assert main(asked) == 1
    assert "Nothing that is known fits. The nearest" in capsys.readouterr().out


def test_the_command_prints_the_best_script_and_folds_series(dataset: Dataset) -> None:
    text = _text(dataset, {"size": "7B", "gpus": "2", "device": "h800"})
    script = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
    assert f"  bash {script}\n" in text
    assert f"\n   {script}\n" in text
    tokens = {"gpus": "1", "memory": "24"}
    folds, every = (_text(dataset, tokens, unfold=one).count("\n   Tested: ") for one in (0, 1))
    assert every > 2 * folds


def _text(dataset: Dataset, tokens: dict[str, str], **options: Any) -> str:
    return as_text(dataset, *ask(dataset, tokens), **options)


def test_only_a_terminal_gets_color_and_no_line_is_wider(dataset: Dataset) -> None:
    assert "\x1b[1m" in _text(dataset, {"size": "7B"}, limit=3, color=True)
    tokens = {"model": "Qwen2.5-32B", "task": "PPO", "gpus": "1", "device": "t4"}
    for words in (tokens, {"gpus": "1", "memory": "24"}):
        lines = _text(dataset, words, width=40).splitlines()
        too_wide = [line for line in lines if len(line) > 40 and "rl-resources" not in line]
        assert len(lines) > 20
        assert [line for line in too_wide if " " in line.strip().removeprefix("bash ")] == []


def test_characters_that_a_terminal_obeys_are_shown_and_not_sent(dataset: Dataset) -> None:
    row = _report(model_label="a\x1b[2Jb", notes="Is\x07", source="https://x/\x07")
    text = as_text(dataset, find([row], H100), ())
    assert "\\u001b[2J" in text
    assert not {"\x1b", "\x07"} & set(text)


@pytest.mark.parametrize(
    ("tokens", "command"),
    [
        (
            {"model": "Qwen2.5-32B-Instruct", "gpus": "1", "memory": "24", "length": "16k"},
            "--model Qwen/Qwen2.5-32B-Instruct --gpus 1 --memory 24 "
            "--prompt-length 0 --response-length 16000",
        ),
        (
            {"model": "Qwen2.5-7B-Instruct", "gpus": "1", "device": "4090", "task": "PPO"},
            "--model Qwen/Qwen2.5-7B-Instruct --gpus 1 --device rtx-4090 --task PPO",
        ),
        ({"model": "Qwen2.5-32B-Instruct", "gpus": "1"}, ""),
        ({"model": "32B", "gpus": "1", "device": "4090"}, ""),
        ({"model": "Qwen2.5-7B-Instruct", "gpus": "1", "device": "4090", "weights": "partial"}, ""),
    ],
)
def test_what_no_run_answers_can_be_estimated(
    dataset: Dataset, tokens: dict[str, str], command: str
) -> None:
    found, notes = ask(dataset, tokens)
    expected = f"rl-resources estimate {command}" if command else None
    assert as_value(dataset, found, notes)["estimate"] == expected
    text = as_text(dataset, found, notes)
    assert ("rl-resources estimate" in text) == bool(expected)
    if expected:
        assert f"  {expected}\n" in text
        options = [word.removeprefix("--").replace("-", "_") for word in expected.split()[2::2]]
        asked = dict(zip(options, expected.split()[3::2], strict=True))
        assert estimate(dataset, asked).peak_gb > 0
