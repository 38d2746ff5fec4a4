"""The finder in a browser: by keyboard, by address, without JavaScript, and as Python answers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urljoin

import pytest
from playwright.sync_api import Browser, Page

from rl_resources import UnusableInput, load
from rl_resources.query import sentences
from rl_resources.query.configurations import RUNS, Configuration, configurations
from rl_resources.query.find import Found, find, folded_answers
from rl_resources.query.fit import no_less
from rl_resources.query.minimum import NO_TEXT, WEIGHTS, headline
from rl_resources.query.question import Reader, Words
from rl_resources.query.wording import PAGE
from rl_resources.site import finder, front, site
from test_finder import questions
from website import ROOT, visited

KILOBYTE = 1024
CODE = ("javascripts/finder/*.js", "stylesheets/finder.css")
SMALL = {"gpus": "2", "device": "h800", "model": "7B", "task": "GRPO"}
ANSWERS = ".finder-main > :has(> h3:text('Configurations, best first'))"
SCREENS = [(360, 740), (1440, 900)]


def asked(address: str, **words: str) -> str:
    return f"{address}/?{urlencode(words)}"


def answered(page: Page) -> str:
    """The headline, once there is one."""
    return page.locator("#finder-headline").inner_text()


def focus_by_tab(page: Page, selector: str) -> None:
    """Press Tab until an element that fits has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("one => document.activeElement.matches(one)", selector):
            return
    pytest.fail(f"Tab never reaches {selector}")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_way_from_question_to_record_is_one_by_keyboard_alone(
    browser: Browser, address: str, screen: tuple[int, int], colours: Literal["light", "dark"]
) -> None:
    with visited(browser, f"{address}/", screen[0], colours) as (page, wrong):
        page.set_viewport_size({"width": screen[0], "height": screen[1]})
        for name in ("gpus", "device", "model", "task"):
            focus_by_tab(page, f"#finder-{name}")
            page.keyboard.type(SMALL[name])
        page.keyboard.press("Enter")
        assert answered(page) == "7B, GRPO on 2 x h800: 1 tested, 1 should fit, 1 claimed"
        focus_by_tab(page, ".finder-card--tested h4 a")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) != "none"
        page.keyboard.press("Enter")
        page.wait_for_url("**/records/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm/")
        page.wait_for_load_state("networkidle")
        page.go_back()
        assert answered(page).startswith("7B, GRPO on 2 x h800")
        assert page.locator("#finder-task").input_value() == "GRPO"
        assert wrong == []


ASK = """async questions => {
  const texts = (selector, inside = document) =>
    [...inside.querySelectorAll(selector)].map(item => item.textContent);
  const told = [];
  for (const question of questions) {
    history.pushState(null, '', '?' + new URLSearchParams(question));
    dispatchEvent(new PopStateEvent('popstate'));
    await new Promise(done => setTimeout(done));
    const place = document.getElementById('finder-answers');
    told.push({
      headline: texts('#finder-headline', place)[0] ?? '',
      notes: texts(':scope > .hint', place),
      worse: texts('#finder-worse .finder-reason', place),
      answers: [...place.querySelectorAll(
        '.finder-main > :not(#finder-worse) .finder-card')].map(card => [
        decodeURIComponent(card.querySelector('h4 a').href.split(/[#/]+/).filter(Boolean).pop()),
        card.querySelector('.finder-conditions').textContent,
        card.querySelector('.finder-reason').textContent,
      ]),
      beside: texts('.finder-beside .finder-reason', place),
      largest: texts('.finder-largest tbody tr strong', place),
      mistake: texts('.finder-mistake', place)[0] ?? '',
    });
  }
  return told;
}"""


def test_the_page_shows_what_python_answers(browser: Browser, address: str) -> None:
    dataset = load(ROOT)
    reader, rows = Reader(dataset, PAGE), configurations(dataset)
    chosen = [one for one in questions(dataset, 300) if one and "size" not in one][:120]
    with visited(browser, asked(address, gpus="1")) as (page, wrong):
        answered(page)
        for words, shown in zip(chosen, page.evaluate(ASK, chosen), strict=True):
            stripped = {name: text.strip() for name, text in words.items()}
            try:
                understood = reader.understood(Words(**stripped))
            except UnusableInput as error:
                plain = shown["mistake"].translate(dict.fromkeys(map(ord, "“”`")))
                assert error.help.replace("`", "") in plain, words
                assert str(error).replace("`", "")[1:].rstrip(".") in plain, words
                continue
            assert shown["notes"] == list(understood.notes), words
            assert _shown(shown) == _told(find(rows, understood.question)), words
        assert wrong == []


TOLD = ("headline", "worse", "answers", "beside", "largest")


def _shown(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in TOLD}


def _told(found: Found) -> dict[str, Any]:
    """What stands on the page before a reader asks for more."""
    counts = Counter(item.fit for item in found.answers)
    numbers = [counts[fit] for fit in ("tested", "should-fit", "claimed")]
    answers = [(item.configuration, item.reason) for item, *_ in found.folds[:10]]
    nearest = [(item.answer.configuration, item.reason) for item in found.nearest]
    worse = [
        item
        for item in found.failures
        if found.question.size and no_less(item.question, item.configuration)
    ]
    less = [item for item in found.failures if item not in worse]
    asides = [folded_answers(items)[:5] for items in (less, found.unclear)]
    beside = [first for folds in asides for first, *_ in folds]
    return {
        "headline": sentences.headline(found.question, *numbers),
        "worse": [first.reason for first, *_ in folded_answers(worse)[:2]],
        "answers": [
            [row.id, " · ".join(row.conditions), reason] for row, reason in (*answers, *nearest)
        ],
        "beside": [item.reason for item in beside],
        "largest": [item.size for item in found.largest[:5]],
    }


def test_typing_answers_and_the_address_keeps_the_question(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/") as (page, wrong):
        page.locator("#finder-model").fill("7B")
        assert answered(page).startswith("7B: ")
        page.wait_for_url("**/?model=7B")
        page.locator("#finder-gpus").fill("8")
        page.locator("#finder-device").fill("A100 80GB")
        page.locator("#finder-device").blur()
        assert page.url == asked(address, gpus="8", device="A100 80GB", model="7B")
        told = answered(page)
        assert told.startswith("7B on 8 x a100-80g: ")
        page.reload(wait_until="networkidle")
        assert answered(page) == told
        page.get_by_role("button", name="Start again").click()
        page.wait_for_url(f"{address}/")
        assert page.locator("#finder-headline").count() == 0
        page.go_back()
        assert answered(page) == told
        assert page.locator("#finder-device").input_value() == "A100 80GB"
        assert wrong == []


def test_a_reload_at_once_loses_nothing_of_what_was_typed(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/") as (page, wrong):
        page.locator("#finder-gpus").press_sequentially("16")
        page.locator("#finder-device").press_sequentially("H100")
        page.reload(wait_until="networkidle")
        assert answered(page).startswith("Any model on 16 x h100: ")
        page.go_back()
        page.wait_for_url("**/?gpus=16")
        page.go_back()
        page.wait_for_url(f"{address}/")
        assert page.locator("#finder-headline").count() == 0
        assert wrong == []


def test_typing_on_after_a_jump_within_the_page_keeps_what_was_opened(
    browser: Browser, address: str
) -> None:
    with visited(browser, f"{address}/") as (page, _):
        page.set_viewport_size({"width": 360, "height": 740})
        page.locator("#finder-gpus").fill("8")
        page.locator("#finder-model").fill("7B")
        page.locator(ANSWERS).get_by_role("button", name="Show 30 more of").click()
        page.locator(".finder-jump a").click()
        assert page.locator(ANSWERS).locator(".finder-card").count() == 40


def test_an_address_as_the_command_would_ask_fills_the_form(browser: Browser, address: str) -> None:
    words = {"memory": "24", "size": "7B", "task": "grpo", "infer": "vllm"}
    with visited(browser, asked(address, **words)) as (page, _):
        assert answered(page).startswith("7B, GRPO, vllm on 24 GB: ")
        assert page.locator("#finder-device").input_value() == "24"
        assert page.locator("#finder-model").input_value() == "7B"
        assert page.locator("#finder-task").input_value() == "GRPO"
        assert page.locator("#finder-infer").is_visible()


def test_weights_scenario_and_framework_are_asked_and_kept(browser: Browser, address: str) -> None:
    asked_for = {"weights": "qlora", "scenario": "multimodal", "framework": "trl"}
    rows = configurations(load(ROOT))
    with visited(browser, asked(address, model="7B")) as (page, wrong):
        before = answered(page)
        page.locator(".finder-more > summary").click()
        for name, word in asked_for.items():
            page.locator(f"#finder-{name}").select_option(word)
            page.wait_for_url(f"**/?**{name}={word}**")
            told = answered(page)
            assert told != before
            assert word.lower() in told.lower()
            page.locator(f"#finder-{name}").select_option("")
            assert answered(page) == before
        assert wrong == []
    for name, word in asked_for.items():
        with visited(browser, asked(address, model="7B", **{name: word.upper()})) as (page, _):
            assert page.locator(f"#finder-{name}").is_visible()
            assert page.locator(f"#finder-{name}").input_value() == word
    offered = {name: {choice.word for choice in words} for name, words in _offered(rows).items()}
    assert offered["weights"] == {"full", "lora", "qlora"}
    assert offered["scenario"] == {word for row in rows for word in row.scenario}
    assert offered["framework"] <= {name for row in rows for name in row.frameworks}


def _offered(rows: Sequence[Configuration]) -> Mapping[str, list[front.Choice]]:
    return front.choices(load(ROOT), rows)


def test_a_size_has_a_headline_for_each_kind_of_training(browser: Browser, address: str) -> None:
    dataset = load(ROOT)
    rows = configurations(dataset)
    with visited(browser, f"{address}/") as (page, wrong):
        cards = page.locator(".size-cards--least > li")
        assert cards.count() == len(dataset.by_key["sizes"])
        for size, card in zip(dataset.by_key["sizes"], cards.all(), strict=True):
            assert card.locator("strong").inner_text() == size
            lines = card.locator("p").all()
            for (weights, label), line in zip(WEIGHTS.items(), lines, strict=True):
                best = headline(rows, str(size), weights)
                if best is None:
                    assert line.inner_text() == f"{label}: no run known"
                    assert line.get_by_role("link").count() == 0
                    continue
                row = best.configuration
                assert line.locator("b").inner_text() == sentences.resource(row)
                assert line.locator(".said").inner_text() == ", ".join(row.conditions[1:])
                assert line.inner_text().startswith(f"{label}: {sentences.resource(row)}")
                address_of = line.get_by_role("link").get_attribute("href") or ""
                assert urljoin(f"{address}/", address_of) == f"{address}/{site.place(row)}"
        assert wrong == []


def test_no_headline_of_a_size_is_a_claim_or_in_doubt_or_above_another_run() -> None:
    dataset = load(ROOT)
    rows = configurations(dataset)
    for size in map(str, dataset.by_key["sizes"]):
        for weights in WEIGHTS:
            sound = [
                row
                for row in rows
                if (row.size, row.weights, row.outcome) == (size, weights, "ran")
                and row.statement in RUNS
                and row.evidence_level not in {"disputed", "untested"}
                and not row.contradicts
                and row.memory_gb
                and NO_TEXT.isdisjoint(row.scenario)
            ]
            best = headline(rows, size, weights)
            assert (best is None) == (not sound)
            if best:
                row = best.configuration
                assert row in sound
                assert row.total_memory_gb == min(other.total_memory_gb for other in sound)


HOSTILE_FIELDS = (
    *("gpus", "device", "model", "task", "train", "tag"),
    *("weights", "scenario", "framework", "length"),
)


@pytest.mark.parametrize("name", HOSTILE_FIELDS)
def test_a_hostile_address_is_shown_as_text_and_runs_nothing(
    browser: Browser, address: str, name: str
) -> None:
    hostile = "\"'><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
    with visited(browser, asked(address, **{name: hostile})) as (page, wrong):
        assert hostile[:20] in page.locator("#finder-mistake").inner_text()
        assert page.evaluate("window.hacked") is None
        assert page.locator("article img").count() == 0
        assert wrong == []


def test_a_bad_word_offers_the_nearest_and_takes_it(browser: Browser, address: str) -> None:
    with visited(browser, asked(address, device="h10", gpus="8")) as (page, _):
        field = page.locator("#finder-device")
        assert field.get_attribute("aria-invalid") == "true"
        page.get_by_role("button", name="h100", exact=True).click()
        assert answered(page).startswith("Any model on 8 x h100: ")
        assert field.get_attribute("aria-invalid") is None


def test_the_number_of_answers_is_announced(browser: Browser, address: str) -> None:
    with visited(browser, asked(address, **SMALL)) as (page, _):
        told = page.get_by_role("status").filter(has_text="1 tested, 1 should fit, 1 claimed")
        told.wait_for(state="attached")


def test_more_answers_come_on_demand(browser: Browser, address: str) -> None:
    with visited(browser, asked(address, model="7B")) as (page, _):
        cards = page.locator(ANSWERS).locator(".finder-card")
        assert cards.count() == 10
        page.locator(ANSWERS).get_by_role("button", name="Show 30 more of").click()
        assert cards.count() == 40


def test_without_javascript_a_link_leads_to_the_same_in_tables(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/")
    assert not page.locator("#finder").is_visible()
    page.get_by_role("link", name="what fits, in plain tables").click()
    table = page.locator("h3", has_text="80 GB each").locator("+ table")
    assert table.get_by_text("tested").count() > 0
    assert table.get_by_role("link").count() > 0
    context.close()


def test_the_data_are_fetched_when_somebody_asks_and_not_before(
    browser: Browser, address: str
) -> None:
    with visited(browser, f"{address}/") as (page, _):
        fetched = "performance.getEntriesByType('resource').map(one => one.name)"
        assert not any(finder.PATH in name for name in page.evaluate(fetched))
        with page.expect_response(f"**/{finder.PATH}"):
            page.locator("#finder-gpus").focus()


def test_modules_are_asked_for_at_once(browser: Browser, address: str, built: Path) -> None:
    folder = built / "javascripts" / "finder"
    assert {path.name for path in folder.glob("*.js")} == {
        "page.js",
        *(name.rpartition("/")[2] for name in finder.MODULES),
    }
    with visited(browser, f"{address}/") as (page, wrong):
        hrefs = "[...document.querySelectorAll('[rel=modulepreload]')].map(one => one.href)"
        assert page.evaluate(hrefs) == [f"{address}/{name}" for name in finder.MODULES]
        assert wrong == []


def test_data_that_do_not_come_are_told_and_asked_for_again(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/") as (page, _):
        page.route(f"**/{finder.PATH}", lambda route: route.abort())
        page.locator("#finder-model").fill("7B")
        page.get_by_text("The data could not be loaded.").first.wait_for()
        assert page.get_by_role("link", name="in plain tables").last.is_visible()
        page.unroute(f"**/{finder.PATH}")
        page.get_by_role("button", name="Try again").click()
        assert answered(page).startswith("7B: ")


def test_a_series_opens_to_each_of_its_reports(browser: Browser, address: str) -> None:
    with visited(browser, asked(address, gpus="1", device="24 GB")) as (page, wrong):
        series = page.locator(".finder-series").first
        told = series.locator("summary").inner_text()
        assert "differ in settings alone: 512 to 4096 tokens in all" in told
        assert series.locator("li").count() == 0
        series.locator("summary").click()
        series.locator("li a").last.wait_for()
        assert series.locator("li a").count() == int(told.split()[2]) - 1
        assert wrong == []


def test_the_finder_is_light(built: Path) -> None:
    code = [path for pattern in CODE for path in built.glob(pattern)]
    assert len(code) > 5
    assert sum(len(gzip.compress(path.read_bytes())) for path in code) <= 30 * KILOBYTE
    data = (built / finder.PATH).read_bytes()
    rows = len(json.loads(data)["columns"]["gpus"])
    assert len(gzip.compress(data)) <= 100 * rows


def test_the_data_say_that_they_are_not_the_interface(built: Path) -> None:
    about = json.loads((built / finder.PATH).read_text(encoding="utf-8"))["about"]
    assert "api/v1" in about
