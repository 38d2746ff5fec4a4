"""What runs on this hardware; its fits and order are those of `tests/golden` and of the page."""

import json
import re
import tomllib

import pytest

from cases import cases, each, read_cases
from conftest import refused
from rl_resources import UnusableInput
from rl_resources.certainty import RUNS
from rl_resources.devices import (
    PATTERNS,
    device_name,
    devices_of,
    vendor_in,
    written,
)
from rl_resources.package import items_of
from rl_resources.query.configurations import configurations, recorded
from rl_resources.query.find import ALTERNATIVES, ask, nobody, verdict
from rl_resources.query.fit import fit, matches_of
from rl_resources.query.plan import answer_plan
from rl_resources.query.sentences import line, reason, resource, say
from rl_resources.query.understand import Query, understand
from rl_resources.query.vocabulary import EITHER, FILTERS, PROJECTS, plain, vocabulary
from rl_resources.site.found import as_text, as_value
from sample_tree import with_tables
from shipped import DATASET
from website import ROOT


def words_of(options):
    """The words of a question as the command line has them."""
    words = re.findall(r"--(\S+) (\S+)", options)
    return {name.replace("-", "_"): text for name, text in words}


def found_for(dataset, options):
    """What is found where this is asked."""
    found, _ = ask(dataset, words_of(options))
    return found


def text_for(dataset, options, **form):
    """What the command prints."""
    found, notes = ask(dataset, words_of(options))
    return as_text(dataset, found, notes, **form)


@cases("find", "written")
def test_memory_in_a_published_name_has_our_spelling(published, shown):
    assert written(published) == shown


def test_one_of_several_devices_is_written_with_the_most_memory(dataset):
    open_ = read_cases("find")["open"]
    assert resource(row_of(dataset, **open_)) == "1 × A100 (at most 80 GB)"


def test_the_name_of_a_device_for_people_means_that_device(dataset):
    devices = devices_of(dataset)
    for key in devices.known:
        assert devices.named(devices.label(key)) == [key]


@cases("find", "meant")
def test_a_published_device_means_what_its_words_and_its_memory_say(
    dataset, text, stated, keys, vendor, memory, variant
):
    found = devices_of(dataset).published(text, stated)
    assert found == (keys, vendor, memory, variant)


@cases("find", "lacking")
def test_a_report_without_a_device_is_found_by_memory_vendor_and_name(
    dataset, report, tokens, fit
):
    found, _ = ask(dataset, tokens)
    fits = {row.id: row.fit for row in (*found.answers, *found.unclear)}
    assert fits.get(report, "") == fit


WORDS = tomllib.loads((ROOT / "tests/find/words.toml").read_text())["case"]
UNDERSTOOD = [case for case in WORDS if "query" in case]
NOT_KNOWN = [case for case in WORDS if "help" in case]


@pytest.mark.parametrize("case", UNDERSTOOD, ids=lambda case: str(case["words"]))
def test_words_are_understood(dataset, case):
    known = vocabulary(dataset)
    query, _ = understand(known, case["words"])
    for name, meaning in case["query"].items():
        assert getattr(query, name) == meaning


@cases("find", "noted")
def test_a_device_says_what_its_name_does_not(dataset, device, changes, note):
    row = dataset.by_key["devices"][device] | changes
    changed = with_tables(dataset, devices=[row])
    notes = devices_of(changed).known[device].notes
    assert " ".join(say(name, **words) for name, words in notes) == note


@pytest.mark.parametrize("case", NOT_KNOWN, ids=lambda case: str(case["words"]))
def test_a_word_that_is_not_known_gets_the_nearest(dataset, case):
    known = vocabulary(dataset)
    with pytest.raises(UnusableInput) as caught:
        understand(known, case["words"])
    assert str(caught.value) == case["message"]
    assert case["help"] in caught.value.help  # which may name what is near today


@cases("find", "notes")
def test_how_a_word_is_read_is_said(words, note):
    _, notes = understand(vocabulary(DATASET), words)
    assert note in notes


@cases("find", "refused")
def test_a_word_that_cannot_be_read_is_refused(words, message, fix):
    with refused(message, fix):
        understand(vocabulary(DATASET), words)


@cases("find", "options")
def test_an_option_that_is_not_known_gets_the_nearest(option, fix):
    with pytest.raises(UnusableInput) as caught:
        DATASET.find(**{option: 8})
    assert str(caught.value) == f"{option}: not an option of this question"
    assert caught.value.help.startswith(fix)


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_leaves_what_matches_it_and_nothing_else(dataset, name):
    found, _ = ask(dataset, {})
    matching = {}
    for row in found.answers:
        for word in filter(None, row.words(name)):
            matching.setdefault(plain(word), set()).add(row.id)
    for word, ids in matching.items():
        of_word, _ = ask(dataset, {name: word})
        meant = set(getattr(of_word.query, name).split(EITHER))
        if name == "task":
            meant.update(of_word.query.adapter_tasks)
        expected = {
            row.id for row in found.answers if meant.intersection(row.words(name))
        }
        assert {row.id for row in of_word.answers} == expected
        assert ids <= expected
    assert len(matching) > 1


def test_each_run_is_one_configuration(dataset):
    records = len(dataset.records["tuning"])
    reports = len(dataset.records["reports"]) - len(recorded(dataset))
    assert len(configurations(dataset)) == records + reports


def _in_folder_of_size(path: str) -> str:
    """A script's name with the folder of a second configuration, as rows have it."""
    *_, name = path.split("/", 3)
    return name


def test_no_two_devices_have_a_name_or_an_alias_in_common(dataset):
    owner = {}
    for row in dataset.records["devices"]:
        key = str(row["device"])
        for text in (key, str(row["name"]), *items_of(row, "aliases")):
            first = owner.setdefault(device_name(text), key)
            assert first == key, (
                f"`{text}` of {key} in records/devices.csv is also {first}"
            )


def test_every_record_is_the_answer_to_the_question_about_itself(dataset):
    names = ("model", "task", "gpus", "device", "train", "infer", "tag")
    for row in dataset.records["tuning"]:
        tokens = {name: str(row[name]) for name in names if row[name]}
        found, _ = ask(dataset, tokens)
        scripts = [_in_folder_of_size(answer.script) for answer in found.answers]
        if row["statement"] in RUNS and row["status"] != "disputed":
            assert scripts[0] == row["script"]
        elif row["status"] != "untested":
            # A run on fewer GPUs comes before a claim, others before a disputed one.
            assert row["script"] in scripts


def test_disputed_answers_come_last_and_no_headline_names_one(dataset):
    found = found_for(dataset, "--size 32B --weights lora")
    doubts = [row.doubtful for row in found.answers]
    assert True in doubts
    assert doubts == sorted(doubts)
    assert not found.smallest.doubtful
    assert not found.longest.doubtful


def test_a_report_of_another_length_stays_next_to_its_record(dataset):
    found = found_for(dataset, "--size 14B --weights full")
    assert found.longest.length == 34816


def test_a_record_of_a_vision_language_model_is_multimodal_and_trains_on_images(
    dataset,
):
    model = "Qwen/Qwen2.5-VL-7B-Instruct"
    found = found_for(dataset, f"--scenario multimodal --model {model}")
    answers = {answer.id for answer in found.answers}
    of_model = 0
    for row in configurations(dataset):
        if row.kind == "record" and "multimodal" in row.scenario:
            assert re.search("image_key|geo3k", (ROOT / row.script).read_text())
            assert row.model != model or row.id in answers
            of_model += row.model == model
    assert of_model


def test_json_and_python_give_the_same_answers(dataset, command):
    options = "--size 7B --gpus 8 --device h100 --format json"
    value = json.loads(command("find", *options.split()))
    frame = dataset.find(size="7B", gpus=8, device="H100")
    answers = value["answers"]
    assert [item["id"] for item in answers] == frame["id"].tolist()
    assert [*answers[0]] == [*frame.columns]
    assert frame.attrs["start"] == value["start"]
    assert frame.attrs["failures"] == value["failures"]


def test_without_answers_python_and_text_lead_to_the_nearest(dataset, command):
    frame = dataset.find(size="70B", task="PPO", gpus=1, memory=16)
    assert len(frame) == 0
    assert frame["gpus"].dtype == "Int64"
    nearest = frame.attrs["nearest"]
    assert nearest[0]["nearest"] == "smallest-run"
    options = "--size 70B --task PPO --gpus 1 --memory 16"
    printed = command("find", *options.split(), status=1)
    assert "\nThe nearest\n-  The smallest known run used" in printed


def test_the_command_prints_the_script(dataset):
    asked = "--size 7B --gpus 8 --device h100"
    script = found_for(dataset, asked).script.script
    assert f"   bash {script}\n" in text_for(dataset, asked)
    assert f"\n   {script}\n" in text_for(dataset, asked, verbose=True)


def test_the_command_folds_series(dataset):
    asked = "--gpus 1 --memory 24"
    shown = text_for(dataset, asked, verbose=True).count(". ran on it: ")
    fits = [row.fit for row in found_for(dataset, asked).answers]
    assert 0 < 2 * shown < fits.count("ran-on-it")


@cases("find", "printed")
def test_the_command_prints_in_this_order(dataset, asked, form, patterns):
    text = text_for(dataset, asked, **form)
    assert re.search(".*".join(patterns), text, re.DOTALL)


def test_with_model_and_size_open_each_task_has_its_largest_size(dataset):
    found, notes = ask(dataset, words_of("--gpus 8 --device h100"))
    best = found.largest[0]
    runs = [row for row in found.answers if row.fit != "claimed"]
    positions = [row.position for row in runs if row.task == best.task]
    assert best.position == max(positions)
    first = as_value(dataset, found, notes)["largest"][0]
    assert first == {"task": best.task, "size": best.size, "best": best.id}
    written_line = (
        f"-  {best.task}: {best.size}, {best.model_label}, {best.certainty} on "
    )
    assert written_line in as_text(dataset, found, notes)


def test_with_a_size_there_is_no_largest_one(dataset):
    found = found_for(dataset, "--gpus 8 --device h100 --size 7B")
    assert found.answers
    assert found.largest == []


RUN = read_cases("find")["run"]


def row_of(dataset, **cells):
    """A run of a dense model on 8 H100, with these cells changed."""
    listed = RUN | cells
    for name, cell in listed.items():
        if isinstance(cell, list):
            listed[name] = tuple(cell)
    return configurations(dataset)[0]._replace(**listed)


ASKED = Query(
    model="A/a-7b", architecture="A/a-7b", size="7B", task="GRPO", vendor="NVIDIA"
)


@each(read_cases("find")["verdict"], "query row failed shown")
def test_an_answer_begins_with_what_a_colleague_would_say(
    dataset, query, row, failed, shown
):
    on = "" if query.get("open") else "8 \u00d7 H100 80 GB"
    query = {name: word for name, word in query.items() if name != "open"}
    failures = [row_of(dataset, **cells) for cells in failed or ()]
    found = verdict(ASKED._replace(**query), row_of(dataset, **row), on, failures)
    assert found == shown


@cases("find", "nobody")
def test_without_an_answer_it_says_so_and_never_that_nothing_fits(
    dataset, on, failed, shown
):
    failures = [row_of(dataset, outcome="out-of-memory", **cells) for cells in failed]
    assert nobody(ASKED, on, failures) == shown


@cases("find", "line")
def test_a_run_is_a_line(dataset, row, is_open, shown):
    assert line(row_of(dataset, **row), is_open=is_open) == shown


@each(read_cases("find")["reason"], "row name shown")
def test_each_fit_has_its_reason(dataset, row, name, shown):
    assert reason(row_of(dataset, **row), name or "") == shown


@cases("find", "differing")
def test_a_match_is_marked_where_it_is_not_just_what_was_asked(
    dataset, query, row, differs
):
    (found,) = matches_of(
        [row_of(dataset, **row)], ASKED._replace(adapter_task="GRPO-LoRA", **query)
    )
    assert [*found.differs] == differs


@cases("find", "unmatched")
def test_a_mixture_of_experts_and_a_dense_model_never_stand_for_each_other(
    dataset, query, row
):
    assert matches_of([row_of(dataset, **row)], Query(size="7B", **query)) == []


def test_more_main_memory_than_asked_does_not_fit(dataset):
    row = row_of(dataset, host_memory_gb=512)
    assert fit(ASKED._replace(host_memory_gb=256), row) == "beyond"
    assert fit(ASKED._replace(host_memory_gb=512), row) == "ran-on-it"


def test_roles_with_their_own_gpus_are_told(dataset):
    pools = {row.pools for row in configurations(dataset)}
    assert "4 GPUs actor, 2 critic, 1 reward, 1 reference" in pools
    assert not any("TP=1 PP=1" in text for text in pools)


def test_every_filter_is_given_up_by_an_alternative():
    given_up = set()
    for group in ALTERNATIVES:
        for alternative in group:
            given_up.update(alternative.get("drops", []))
    assert set(FILTERS) <= given_up


def test_every_project_is_built_on_a_known_framework(dataset):
    for meaning in PROJECTS.values():
        assert set(meaning.split(EITHER)) <= set(dataset.by_key["frameworks"])


def test_without_hardware_the_nearest_is_not_the_largest(dataset):
    for item in found_for(dataset, "--task GPG").nearest:
        assert item.row.total_memory_gb < 1000


def test_only_a_terminal_gets_color(dataset):
    assert "\x1b[1m" in text_for(dataset, "--size 7B", limit=3, color=True)
    assert "\x1b" not in text_for(dataset, "--size 7B", limit=3)


@pytest.mark.parametrize(
    "asked",
    ["--model Qwen2.5-32B --task PPO --gpus 1 --device t4", "--gpus 1 --memory 24"],
)
def test_no_line_is_wider_than_the_terminal(dataset, asked):
    lines = text_for(dataset, asked, width=40, verbose=True).splitlines()
    assert len(lines) > 20
    for written_line in lines:
        words = written_line.strip().removeprefix("bash ")
        assert (
            len(written_line) <= 40
            or " " not in words
            or "rl-resources" in written_line
        )


@each(read_cases("find")["planned"], "tokens command")
def test_what_no_run_answers_can_be_planned(dataset, tokens, command):
    found, notes = ask(dataset, tokens)
    assert as_value(dataset, found, notes)["plan"] == command
    text = as_text(dataset, found, notes)
    if command is None:
        assert "rl-resources plan" not in text
    else:
        assert f"  {command}\n" in text
        assert answer_plan(dataset, words_of(command)).shown.peak_gb > 0


def test_the_vendor_of_every_device_is_read_where_it_is_before_its_name(dataset):
    for device in dataset.records["devices"]:
        vendor = str(device["vendor"])
        assert re.fullmatch(PATTERNS["vendor"], vendor.lower()), device
        assert vendor_in(f"{vendor} {device['name']}") == vendor, "[vendors] lacks it"
