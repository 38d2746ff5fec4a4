"""What runs on this hardware; its fits and order are those of `tests/golden` and of the page."""

import json
import re
import tomllib
from dataclasses import replace

import pytest

from cases import cases
from rl_resources import UnusableInput
from rl_resources.certainty import RUNS
from rl_resources.cli import main
from rl_resources.devices import PATTERNS, Devices, written
from rl_resources.query.configurations import configurations, recorded
from rl_resources.query.estimate import estimate
from rl_resources.query.find import ask
from rl_resources.query.sentences import resource
from rl_resources.query.understand import understand
from rl_resources.query.vocabulary import FILTERS, plain, vocabulary
from rl_resources.site.answers import as_text, as_value
from website import ROOT


@cases("find", "written")
def test_memory_in_a_published_name_has_our_spelling(published, shown):
    assert written(published) == shown


def test_one_of_several_devices_is_written_with_the_most_memory(dataset):
    several = {"device": "", "device_label": "A100", "possible_devices": ("a100-40g", "a100-80g")}
    row = configurations(dataset)[0]._replace(gpus=1, gpus_maximum=0, memory_gb=80.0, **several)
    assert resource(row) == "1 × A100 (at most 80 GB)"


def test_the_name_of_a_device_for_people_means_that_device(dataset):
    known = Devices(dataset)
    meant = {key: known.named(known.label(key)) for key in known.known}
    assert meant == {key: [key] for key in known.known}


@cases("find", "meant")
def test_a_published_device_means_what_its_words_and_its_memory_say(
    dataset, text, stated, keys, vendor, memory, variant
):
    found = Devices(dataset).published(text, stated)
    assert found == (keys, vendor, memory, variant)


@cases("find", "lacking")
def test_a_report_without_a_device_is_found_by_memory_vendor_and_name(dataset, report, tokens, fit):
    found, _ = ask(dataset, tokens)
    fits = {row.id: row.fit for row in (*found.answers, *found.unclear)}
    assert fits.get(report, "") == fit


WORDS = tomllib.loads((ROOT / "tests/find/words.toml").read_text("utf-8"))["case"]
UNDERSTOOD = [case for case in WORDS if "query" in case]
NOT_KNOWN = [case for case in WORDS if "help" in case]


@pytest.mark.parametrize("case", UNDERSTOOD, ids=lambda case: str(case["words"]))
def test_words_are_understood(dataset, case):
    query, _ = understand(vocabulary(dataset), case["words"])
    assert {name: getattr(query, name) for name in case["query"]} == case["query"]


@pytest.mark.parametrize(("vendor", "known"), [("NVIDIA", True), ("AMD", False)])
def test_a_device_without_bf16_says_so(dataset, vendor, known):
    row = dataset.by_key["devices"]["v100-32g"] | {"vendor": vendor}
    changed = replace(dataset, records={**dataset.records, "devices": (row,)})
    assert ("has no BF16" in Devices(changed).known["v100-32g"].note) == known


@pytest.mark.parametrize("case", NOT_KNOWN, ids=lambda case: str(case["words"]))
def test_a_word_that_is_not_known_gets_the_nearest(dataset, case):
    with pytest.raises(UnusableInput) as caught:
        understand(vocabulary(dataset), case["words"])
    assert case["help"] in caught.value.help


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_leaves_what_matches_it_and_nothing_else(dataset, name):
    every = ask(dataset, {})[0].answers
    words = {word for row in every for word in row.words(name) if word}
    for word in words:
        found = ask(dataset, {name: word})[0].answers
        known = {row.id for row in every if plain(word) in map(plain, row.words(name))}
        assert {row.id for row in found} == known
    assert len(words) > 1


def test_every_record_is_the_answer_to_the_question_about_itself(dataset):
    rows = configurations(dataset)
    reports = len(dataset.records["reports"]) - len(recorded(dataset))
    assert len(rows) == len(dataset.records["tuning"]) + reports
    for row in dataset.records["tuning"]:
        names = ("model", "task", "gpus", "device", "train", "infer", "tag")
        found, _ = ask(dataset, {name: str(row[name]) for name in names if row[name]})
        scripts = [answer.script.rpartition("/")[2] for answer in found.answers]
        if row["statement"] in RUNS:
            assert scripts[0] == row["script"]
        elif row["status"] != "untested":
            assert row["script"] in scripts  # a run on fewer GPUs comes before a claim


def test_a_record_of_a_vision_language_model_is_multimodal_and_trains_on_images(dataset):
    found, _ = ask(dataset, {"scenario": "multimodal", "model": "Qwen2.5-VL-7B-Instruct"})
    records = [row for row in configurations(dataset) if row.kind == "record"]
    rows = [row for row in records if "multimodal" in row.scenario]
    assert rows
    assert {answer.id for answer in found.answers} >= {
        row.id for row in rows if row.model == "Qwen/Qwen2.5-VL-7B-Instruct"
    }
    for row in rows:
        assert re.search("image_key|geo3k", (ROOT / row.script).read_text(encoding="utf-8"))


def test_json_and_python_give_the_same_answers(dataset, command):
    asked = ["find", "--size", "7B", "--gpus", "8", "--device", "h100", "--format"]
    value = json.loads(command(*asked, "json"))
    frame = dataset.find(size="7B", gpus=8, device="H100")
    ids = [item["id"] for item in value["answers"]]
    assert ids == frame["id"].tolist()
    assert list(value["answers"][0]) == list(frame.columns)
    assert frame.attrs["start"] == value["start"]
    assert frame.attrs["failures"] == value["failures"]


def test_without_answers_python_and_text_lead_to_the_nearest(dataset, capsys):
    frame = dataset.find(size="70B", task="PPO", gpus=1, memory=16)
    assert len(frame) == 0
    assert frame["gpus"].dtype == "Int64"
    assert frame.attrs["nearest"][0]["nearest"] == "smallest-run"
    asked = ["find", "--size", "70B", "--task", "PPO", "--gpus", "1", "--memory", "16"]
    assert main(asked) == 1
    text = capsys.readouterr().out
    assert "Nothing that is known fits. The nearest" in text
    assert "The smallest known run used" in text


def test_the_command_prints_the_script_and_folds_series(dataset):
    found, notes = ask(dataset, {"size": "7B", "gpus": "8", "device": "h100"})
    text = as_text(dataset, found, notes)
    assert f"   bash {found.script.script}\n" in text
    assert f"\n   {found.script.script}\n" in text
    found, notes = ask(dataset, {"gpus": "1", "memory": "24"})
    text = as_text(dataset, found, notes)
    shown = len(re.findall(r"\n[0-9]+\. ran on it: ", text))
    assert 0 < shown * 2 < [row.fit for row in found.answers].count("ran-on-it")
    assert re.search(r"\n   One of \d+ of this source that differ in settings alone\.\n", text)


def test_with_model_and_size_open_each_task_has_its_largest_size(dataset):
    found, notes = ask(dataset, {"gpus": "8", "device": "h100"})
    best = found.largest[0]
    runs = [row for row in found.answers if row.fit != "claimed" and row.task == best.task]
    assert best.position == max(row.position for row in runs)
    first = as_value(dataset, found, notes)["largest"][0]
    assert (first["size"], first["best"]) == (best.size, best.id)
    line = f"-  {best.task}: {best.size}, {best.model_label}, {best.certainty} on "
    assert line in as_text(dataset, found, notes)
    assert ask(dataset, {"gpus": "8", "device": "h100", "size": "7B"})[0].largest == []


def test_failures_on_as_much_or_more_come_before_the_answers_and_the_others_after(dataset):
    found, notes = ask(dataset, {"size": "7B", "gpus": "4", "memory": "80"})
    assert 0 < found.worse < len(found.failures)
    text = as_text(dataset, found, notes)
    parts = ("\nRuns out of memory on as much or more\n", "\n1. ", "\nRuns out of memory\n")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "The longest context: " in text


def test_only_a_terminal_gets_color_and_no_line_is_wider(dataset):
    assert "\x1b[1m" in as_text(dataset, *ask(dataset, {"size": "7B"}), limit=3, color=True)
    tokens = {"model": "Qwen2.5-32B", "task": "PPO", "gpus": "1", "device": "t4"}
    for words in (tokens, {"gpus": "1", "memory": "24"}):
        lines = as_text(dataset, *ask(dataset, words), width=40).splitlines()
        too_wide = [line for line in lines if len(line) > 40 and "rl-resources" not in line]
        assert len(lines) > 20
        assert [line for line in too_wide if " " in line.strip().removeprefix("bash ")] == []


@cases("find", "estimated")
def test_what_no_run_answers_can_be_estimated(dataset, tokens, options):
    found, notes = ask(dataset, tokens)
    expected = f"rl-resources estimate {options}" if options else None
    assert as_value(dataset, found, notes)["estimate"] == expected
    text = as_text(dataset, found, notes)
    assert ("rl-resources estimate" in text) == bool(expected)
    if expected:
        assert f"  {expected}\n" in text
        names = [word.removeprefix("--").replace("-", "_") for word in options.split()[::2]]
        asked = dict(zip(names, options.split()[1::2], strict=True))
        assert estimate(dataset, asked).peak_gb > 0


def test_the_vendor_of_every_device_may_be_written_before_its_name(dataset):
    for device in dataset.records["devices"]:
        assert re.fullmatch(PATTERNS["vendor"], str(device["vendor"]).lower()), device
