"""The page of the estimate in a browser, its back-test, and the estimate of a record."""

import re
import shutil
from operator import itemgetter
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import polars as pl
import pytest
from playwright.sync_api import Page

from cases import cases, read_cases
from rl_resources import load
from rl_resources.estimate import WORDS
from rl_resources.package import Record
from rl_resources.query.estimate import estimate
from rl_resources.query.plan import plan
from rl_resources.query.plan_question import ask_plan
from rl_resources.site import finder, pages, record_page
from rl_resources.site.environment import Site
from sample_tree import plant_site
from shipped import DATASET
from test_finder_page import focus_by_tab
from website import ROOT, query_of

MODEL = "Qwen/Qwen2.5-7B-Instruct"
CASES = read_cases("estimate_page")
WORDS_OF_EXAMPLE = {
    name: text for name, text in finder.CALCULATOR.items() if name in WORDS
}


def verdict(page: Page) -> str:
    """The headline of the answer, once there is one."""
    return page.locator(".estimate-result h2").inner_text()


def headline(asked: dict[str, str], *settings: str) -> str:
    """What Python says to the same question."""
    found = estimate(DATASET, asked, settings)
    name = found.verdict.capitalize()
    sizes = (found.peak_gb, *found.interval_gb, found.device_gb)
    peak, low, high, device = [f"{size:.1f}" for size in sizes]
    return f"{name}: {peak} GB ({low} to {high}) of {device} GB"


@pytest.mark.parametrize("width", [360, pytest.param(1440, marks=pytest.mark.nightly)])
def test_the_form_is_answered_by_keyboard_and_the_address_keeps_it(
    visit, address, width
):
    with visit("/estimate/", width) as page:
        example = verdict(page)
        assert example == headline(WORDS_OF_EXAMPLE, "micro_batch=4")
        for name, text in CASES["typed"].items():
            focus_by_tab(page, f"#estimate-{name}")
            page.keyboard.type(text)
        device = page.locator("#estimate-device").input_value()
        asked = {**WORDS_OF_EXAMPLE, "device": device}
        expected = headline(asked, "micro_batch=16", "optimizer_offload=1")
        page.locator(".estimate-result h2", has_text=expected).wait_for()
        status = page.get_by_role("status").filter(has_text=expected)
        status.wait_for(state="attached")
        assert query_of(page) == asked | {"micro_batch": "16", "optimizer_offload": "1"}
        page.reload(wait_until="networkidle")
        assert verdict(page) == expected
        assert page.locator("#estimate-optimizer_offload").input_value() == "1"
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.documentElement.scrollHeight") <= 8 * 800
        page.locator(".finder-clear").click()
        page.wait_for_url(f"{address}/estimate/")
        assert verdict(page) == example
        page.go_back()
        assert verdict(page) == expected


ASKED = CASES["asked"]
QUERY = "model=qwen2.5-7b-instruct&gpus=4&memory=40&weights=LoRA&lora_rank=8"


def test_a_task_without_rollouts_is_estimated(visit):
    with visit(f"/estimate/?{QUERY}&task=DPO") as page:
        assert verdict(page) == headline(ASKED | {"task": "DPO"})
        answer = page.locator(".estimate-result").inner_text()
        assert (
            "No step time: it needs a task of RL, the only ones whose published times "
            "it was checked against." in answer
        )


def test_a_task_without_rollouts_empties_the_engine(visit):
    with visit("/estimate/") as page:
        page.get_by_label("Task").select_option("SFT")
        assert page.get_by_label("Rollout engine on these").input_value() == ""
        says = "No step time: it needs a task of RL"
        page.locator(".estimate-result").filter(has_text=says).wait_for()


def test_what_lowers_it_only_together_is_not_denied(visit):
    query = urlencode({"model": MODEL, "gpus": "1024", "device": "h100"})
    with visit(f"/estimate/?{query}") as page:
        answer = page.locator(".estimate-result").inner_text()
        assert "The cheapest combination whose whole interval fits" in answer
        assert "No setting that is known here would lower it." not in answer


def test_an_address_in_any_words_fills_the_form(visit):
    settings = ["response_length=4096", "fsdp_size=2", "checkpointing=0.5", "sp=2"]
    query = "&".join([QUERY, *settings])
    with visit(f"/estimate/?{query}") as page:
        assert verdict(page) == headline(ASKED, *settings)
        assert page.locator("#estimate-fsdp_size").is_visible()
        command = page.locator(".estimate-result > p code").last.inner_text()
        assert command.startswith("rl-resources estimate --model qwen2.5-7b-instruct ")
        assert " --memory 40" in command
        assert " --set fsdp_size=2" in command


@cases("estimate_page", "read")
def test_words_are_read_as_by_the_command(visit, asked, notes):
    with visit(f"/estimate/?{urlencode(asked)}") as page:
        assert verdict(page) == headline(asked)
        assert page.locator(".estimate-result .hint").all_inner_texts() == notes


def test_the_formula_is_fetched_when_somebody_asks(visit):
    fetched = "performance.getEntriesByType('resource').map(one => one.name).join()"
    with visit("/estimate/") as page:
        assert "api/v1/estimate.json" not in page.evaluate(fetched)
        page.locator("#estimate-model").focus()
        page.wait_for_function(f"() => {fetched}.includes('api/v1/estimate.json')")


def follow_estimate(page: Page) -> tuple[str, dict[str, str]]:
    """The verdict of the calculator to which the first card leads, and what its URL asks."""
    name = "Change settings in the calculator"
    page.locator("#finder-plan").get_by_role("link", name=name).first.click()
    page.wait_for_url("**/estimate/?**")
    return verdict(page), query_of(page)


@pytest.mark.parametrize("words", CASES["planned"])
def test_a_plan_leads_to_the_calculator_with_its_settings(visit, words):
    planned = plan(ask_plan(DATASET, words)).shown
    with visit(f"/?{urlencode(words)}") as page:
        found, asked = follow_estimate(page)
    same = {name: words[name] for name in ("gpus", "weights")}
    assert same.items() <= asked.items()
    peak = re.search(r": ([\d.]+) GB \([\d.]+ to ([\d.]+)\)", found)
    assert peak
    assert peak[1] == f"{planned.peak_gb:.1f}"
    if "framework" not in words:  # whose users may set other values than a plan
        assert peak[2] == f"{planned.interval_gb[1]:.1f}"
    others = {name: text for name, text in asked.items() if name not in NAMED}
    assert {name: planned.values[name] for name in others} == pytest.approx(
        {name: float(text) for name, text in others.items()}
    )


def test_a_tap_applies_a_setting(visit):
    query = urlencode(
        {**WORDS_OF_EXAMPLE, "gpus": "4", "device": "a100-40g", "micro_batch": "16"}
    )
    with visit(f"/estimate/?{query}", 360) as page:
        before = verdict(page)
        page.get_by_role("link", name="Apply all").click()
        page.wait_for_url("**/estimate/?**#estimate-result")
        page.locator(".estimate-verdict--fits").wait_for()
        assert verdict(page) != before
        assert page.locator("#estimate-micro_batch").input_value() != "16"


NAMED = {*WORDS, "gpus", "lora_rank"}
"""What is asked in words; all else in an address is a setting."""


def is_known(record: Record) -> bool:
    """Whether the memory of its device and the layers of its model are known."""
    device = DATASET.by_key["devices"][record["device"]]
    return bool(device["memory_gb"])


RECORDS = list(filter(is_known, DATASET.records["tuning"]))


@pytest.mark.parametrize("record", RECORDS, ids=itemgetter("script"))
def test_every_record_with_a_known_run_leads_to_exactly_its_inputs(record):
    """What the form would assume is left out of the address, all else is in it."""
    script = DATASET.script(record["script"])
    found = estimate(DATASET, {}, (), str(script))
    device = record["device"]
    query = record_page.query_of(found, device, record["infer"])
    asked = {}
    settings = []
    for name, text in parse_qsl(query.removeprefix("?")):
        if name in NAMED:
            asked[name] = text
        else:
            settings.append(f"{name}={text}")
    values = {name: float(value) for name, value in found.values.items()}
    again = dict(estimate(DATASET, asked, settings).values)
    if values["max_tokens"]:  # then the number of sequences decides nothing
        again["micro_batch"] = values["micro_batch"]
    assert again == pytest.approx(values)


def test_a_build_without_the_back_test_says_so(tmp_path):
    root = plant_site(tmp_path / "checkout")
    assert "not part of this build" in page_of_estimate(root)


def page_of_estimate(root: Path) -> str:
    site = Site(load(root))
    made = pages.charts(site)
    return made["estimate.md"] + made["estimate/accuracy.md"]


def test_the_back_test_counts_errors_and_verdicts(tmp_path):
    from backtest import errors

    root = plant_site(tmp_path / "checkout")
    folder = root / "benchmarks"
    folder.mkdir()
    shutil.copy(ROOT / "tests/backtest.csv", folder)
    shutil.copy(ROOT / "benchmarks/backtest_assumed.csv", folder)
    runs = pl.read_csv(ROOT / "tests/backtest.csv")
    written = errors(runs)
    written.write_csv(folder / "backtest_errors.csv")
    page = page_of_estimate(root)
    found = pages.backtest(root / pages.BACKTEST)
    assert found
    (group,) = found["errors"]["kind"]
    assert group.pop("group") == "measured"
    assert group.pop("by") == "kind"
    assert group == pytest.approx(CASES["errors"])
    assert "misses the goal" in page
    assert found["decided"] == CASES["decided"]
    marks = re.findall(r'class="mark kind-measured" transform="translate\(\d', page)
    assert len(marks) == 3
