"""The finder in a browser: by keyboard, by address, without JavaScript, and as Python answers."""

import json
import re
from collections.abc import Sequence
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from cases import cases
from rl_resources.query.configurations import Configuration
from rl_resources.query.find import ask, folded
from rl_resources.query.sentences import reason
from rl_resources.query.vocabulary import WEIGHTS
from rl_resources.site import finder
from shipped import DATASET
from website import compressed_bytes

SMALL = {"model": "7B", "device": "h800", "gpus": "2"}
"""What is typed; the task is that of the example."""
SHARED = tuple(
    f"javascripts/{name}.js" for name in ("elements", "form", "python", "re")
)
HOSTILE = "\"'><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"


def asked(**tokens: str) -> str:
    return f"/?{urlencode(tokens)}"


def answered(page: Page, begin: str = "") -> str:
    """The headline, once there is one with these words."""
    return page.locator("#finder-headline", has_text=begin).inner_text()


def clear(page: Page, name: str) -> None:
    """Empty a field."""
    field = page.locator(f"#finder-{name}")
    if field.evaluate("(one) => one.matches('select')"):
        field.select_option("")
    else:
        field.fill("")


def focus_by_tab(page: Page, selector: str) -> None:
    """Press Tab until an element that fits has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("one => document.activeElement.matches(one)", selector):
            return
    pytest.fail(f"Tab never reaches {selector}")


@pytest.mark.parametrize("width", [360, pytest.param(1440, marks=pytest.mark.nightly)])
def test_the_way_from_question_to_record_is_one_by_keyboard_alone(visit, width):
    with visit("/", width) as page:
        for name, text in SMALL.items():
            focus_by_tab(page, f"#finder-{name}")
            page.keyboard.type(text)
        page.locator("#finder-gpus").press("Enter")
        headline = answered(page, "Yes: Qwen2-7B-Instruct, GRPO, ran on 2 × H800 80 GB")
        status = page.get_by_role("status").filter(has_text=headline)
        status.wait_for(state="attached")
        focus_by_tab(page, ".finder-card:has(.fit--ran-on-it) h4 a")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        page.keyboard.press("Enter")
        page.wait_for_url("**/records/*/")
        page.wait_for_load_state("networkidle")
        page.go_back()
        assert answered(page) == headline
        assert page.locator("#finder-task").input_value() == "GRPO"


ANSWERS = "#finder-found section:not(.finder-nearest)"
"""The lists of answers, by what trains."""


def lists_of(answers: Sequence[Configuration]) -> list[list[Configuration]]:
    """The answers as the page lists them: by what trains, those without a run last."""
    by_weights = [
        [row for row in answers if row.weights == kind] for kind in (*WEIGHTS, "")
    ]

    def is_claimed(rows: list[Configuration]) -> bool:
        return all(row.fit == "claimed" for row in rows)

    return sorted(filter(None, by_weights), key=is_claimed)


def reasons(page: Page, place: str) -> list[str]:
    return page.locator(f"{place} .finder-reason:not(:empty)").all_text_contents()


def first_reasons(rows: Sequence[Configuration], most: int | None = None) -> list[str]:
    """The reason of the first of each series."""
    series = folded(rows)[:most]
    return [reason(same[0]) for same in series]


def at_once(lists: Sequence[Sequence[Configuration]]) -> list[str]:
    """The reasons that show without a click: four of a single list, else one of each."""
    if len(lists) == 1:
        return first_reasons(lists[0], 4)
    return [first for rows in lists for first in first_reasons(rows, 1)]


@pytest.mark.parametrize(
    "tokens",
    [
        {"model": "7B", "gpus": "8"},
        {"model": "70B", "task": "PPO", "gpus": "1"},
    ],
)
def test_the_page_shows_what_python_answers(visit, tokens):
    found, _ = ask(DATASET, tokens)
    lists = lists_of(found.answers)
    every = []
    for rows in lists:
        every += first_reasons(rows)
    with visit(asked(**tokens)) as page:
        answered(page)
        assert reasons(page, f"{ANSWERS} > ul") == at_once(lists)
        assert reasons(page, ".finder-aside > section > ul") == first_reasons(
            found.failures, 1
        )
        assert reasons(page, ANSWERS) == every
        assert reasons(page, ".finder-nearest") == [
            item.reason for item in found.nearest
        ]
        aside = first_reasons(found.failures) + first_reasons(found.unclear)
        assert reasons(page, ".finder-aside") == aside


def test_typing_answers_and_the_address_keeps_the_question(visit, address):
    with visit("/") as page:
        example = answered(page)
        assert example.startswith("Yes: ")
        for name in ("device", "task", "weights"):
            clear(page, name)
        page.locator("#finder-model").fill("14B")
        assert answered(page, "The least known to run it: ")
        page.locator("#finder-gpus").fill("8")
        page.wait_for_url("**/?model=14B")
        device = page.locator("#finder-device")
        device.fill("A100 80GB")
        device.blur()
        assert page.url == address + asked(model="14B", device="A100 80GB", gpus="8")
        before = answered(page, "Yes: ")
        assert page.get_by_text("14B on 8 × A100 80 GB: ").count() == 1
        page.reload(wait_until="networkidle")
        assert answered(page) == before
        page.locator(".finder-clear").click()
        page.wait_for_url(f"{address}/")
        assert answered(page) == example
        page.go_back()
        assert answered(page) == before
        assert device.input_value() == "A100 80GB"


def test_an_address_as_the_command_would_ask_fills_the_form(visit):
    tokens = {
        "memory": "24",
        "size": "7B",
        "task": "grpo",
        "infer": "vllm",
        "weights": "LORA",
    }
    filled = {
        "device": "24",
        "model": "7B",
        "task": "GRPO",
        "infer": "vllm",
        "weights": "lora",
    }
    with visit(asked(**tokens)) as page:
        assert answered(page).startswith("Yes: ")
        for name, text in filled.items():
            assert page.locator(f"#finder-{name}").input_value() == text
        assert page.locator("#finder-infer").is_visible()


@pytest.mark.parametrize(
    "query",
    ["?device", "?task", "estimate/?model", "estimate/?gpus", "estimate/?HOSTILE"],
)
def test_a_hostile_address_is_shown_as_text_and_runs_nothing(visit, query):
    hostile = query.replace("HOSTILE", HOSTILE)
    with visit(f"/{hostile}={HOSTILE}") as page:
        says = page.locator(".form-says").first
        said = says.inner_text()
        assert HOSTILE[:20] in said or query.startswith("estimate")
        assert page.evaluate("window.hacked") is None
        assert page.locator("article img").count() == 0


@cases("finder_page", "shown")
def test_what_cannot_be_read_of_an_address_is_said(visit, query, place, text):
    known = "model=qwen2.5-7b-instruct&gpus=4&memory=40&weights=LoRA"
    with visit("/" + query.replace("KNOWN", known)) as page:
        element = page.locator(place, has_text=text).first
        assert element.inner_text().strip() == text


def test_a_plus_typed_in_the_address_is_a_plus(visit):
    with visit("/?model=7B&gpus=8&length=2048+8192") as page:
        answered(page)
        assert page.get_by_text("10240 tokens or more").count()


def test_a_screen_reader_is_told_of_runs_out_of_memory(visit):
    with visit(asked(model="0.5B", gpus="1", device="T4")) as page:
        status = page.get_by_role("status").filter(has_text="ran out of memory")
        status.wait_for(state="attached")
        text = status.inner_text()
    assert re.fullmatch(
        r"Nobody has published a run of 0\.5B on 1 × T4 16 GB\. "
        r"\d+ ran out of memory on as much or more",
        text,
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [({"weights": "full"}, 1), ({"task": "GRPO-LoRA"}, 0), ({"weights": "qlora"}, 0)],
)
def test_a_plan_has_the_figures_of_the_command_and_offers_what_takes_less(
    visit, words, offered
):
    with visit(asked(model="671B", gpus="1", device="H20", **words)) as page:
        plan = page.locator("#finder-plan")
        plan.wait_for()
        assert " of 101.5 GB a GPU" in plan.inner_text()
        assert plan.get_by_role("link", name="Try LoRA").count() == offered


def test_a_plan_says_what_it_takes_where_the_question_is_open(visit):
    with visit(asked(model="3B", gpus="8", device="ascend-910b")) as page:
        taken = page.locator("#finder-plan > .hint", has_text="Assumed")
        assert taken.inner_text() == (
            "Assumed, because you did not say: GRPO, vllm-ascend, 1024 + 1024 tokens, "
            "64 GB a GPU, as most of Huawei have."
        )


HEADLINE_IN_SIGHT = """() => {
    const headline = document.getElementById("finder-headline")?.getBoundingClientRect();
    return headline?.height > 0 && headline.y > 0 && headline.y < 300;
}"""


@pytest.mark.parametrize("number", range(4))
def test_an_example_fills_the_form_and_shows_its_first_answer_on_a_phone(visit, number):
    with visit("/", 360) as page:
        page.set_viewport_size({"width": 360, "height": 740})
        example = page.locator(".finder-examples a").nth(number)
        example.click()
        assert not answered(page).startswith("Nobody")
        assert page.locator("#finder-device").input_value()
        page.wait_for_function("() => scrollY > 0")
        page.wait_for_function(HEADLINE_IN_SIGHT)  # it is drawn again with the plan


def test_a_bad_word_offers_the_nearest_and_takes_it(visit):
    with visit(asked(device="h10", gpus="8")) as page:
        field = page.locator("#finder-device")
        assert field.get_attribute("aria-invalid") == "true"
        offered = page.get_by_role("link", name="H100 80 GB", exact=True)
        offered.click()
        answered(page, "The largest known to run: ")
        assert field.get_attribute("aria-invalid") is None


def test_more_answers_are_folded_found_by_a_search_and_printed(visit):
    with visit(asked(model="7B", gpus="8"), 360) as page:
        fold = page.locator("#finder-full .fold")
        last = fold.locator(".finder-card").last
        last.wait_for(state="attached")
        assert not last.is_visible()
        number = fold.locator(":is(.finder-card, .finder-series li)").count()
        label = page.locator("#finder-full .fold > summary").inner_text()
        assert label.startswith(f"{number} more, ")
        page.emulate_media(media="print")
        assert last.evaluate("(card) => card.checkVisibility()")
        page.emulate_media(media="screen")
        words = last.locator("h4").text_content()
        assert page.evaluate("(words) => find(words)", words)


@pytest.mark.parametrize(
    "tokens", [{"gpus": "8", "device": "A100 80GB", "model": "7B"}, {"gpus": "8"}]
)
def test_the_page_of_an_answer_is_at_most_eight_screens_of_a_phone(visit, tokens):
    with visit(asked(**tokens), 360) as page:
        answered(page)
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height <= 8 * 800


def test_a_question_about_a_model_leads_to_all_of_its_size(visit):
    with visit(asked(model="Qwen2.5-7B", gpus="8"), 360) as page:
        link = page.get_by_role("link", name="All 7B models")
        link.click()
        page.wait_for_url("**?model=7B&gpus=8")
        answered(page, "Yes: ")


@pytest.mark.parametrize(("gpus", "is_first"), [("", True), ("64", False)])
def test_without_hardware_the_minimum_comes_before_the_list(visit, gpus, is_first):
    with visit(asked(model="32B", gpus=gpus), 360) as page:
        minimum = page.locator(".finder-extreme").first.bounding_box()
        card = page.locator(".finder-card").first.bounding_box()
        assert minimum
        assert card
        assert (minimum["y"] < card["y"]) == is_first


def test_a_series_opens_to_each_of_its_reports(visit):
    with visit(asked(gpus="1", device="24 GB")) as page:
        page.locator("details.fold").evaluate_all(
            "(folds) => folds.forEach((one) => (one.open = true))"
        )
        series = page.locator(".finder-series:not(:empty)").first
        summary = series.locator("summary")
        said = re.match(
            r"One of (\d+) of this source that differ in settings alone\.",
            summary.inner_text(),
        )
        assert said
        links = series.get_by_role("link")
        assert not links.first.is_visible()
        summary.click()
        links.last.wait_for()
        assert links.count() == int(said[1]) - 1


def test_the_data_are_fetched_when_somebody_asks_and_again_after_a_failure(visit):
    with visit("/", fails=True) as page:
        fetched = page.evaluate(
            "performance.getEntriesByType('resource').map(one => one.name)"
        )
        assert finder.PATH not in " ".join(fetched)
        page.route(f"**/{finder.PATH}", lambda route: route.abort())
        page.locator("#finder-model").fill("14B")
        said = page.get_by_text("The data could not be loaded.").first
        said.wait_for()
        page.unroute(f"**/{finder.PATH}")
        again = page.get_by_role("link", name="Try again")
        again.click()
        answered(page, "Yes: ")


def test_the_finder_is_light_and_preloads_its_modules(built):
    folder = built / "javascripts" / "finder"
    of_plan = {folder / name for name in ("plan.js", "published.js", "verdict.js")}
    own = {*folder.glob("*.js")} - of_plan
    shared = {built / name for name in SHARED}
    page = (built / "index.html").read_text()
    preloaded = re.findall(
        '<link rel="modulepreload" href="(javascripts/[^"]+)">', page
    )
    modules = {built / name for name in preloaded}
    assert own == {folder / "page.js", *modules} - shared
    code = [*own, *shared, built / "stylesheets" / "finder.css"]
    assert sum(map(compressed_bytes, code)) <= 30_000


def test_the_data_of_the_finder_are_light(built):
    data = built / finder.PATH
    rows = json.loads(data.read_bytes())["columns"]["gpus"]
    assert compressed_bytes(data) <= 85 * len(rows)


def test_cards_lead_to_pages_of_models_devices_and_frameworks(visit, address, built):
    things = json.loads((built / finder.WORDS_PATH).read_bytes())["things"]
    for url in things.values():
        path, _, _ = url.partition("#")
        assert (built / path / "index.html").exists()
    with visit(asked(model="7B", gpus="2", device="H800")) as page:
        card = page.locator(".finder-card:has(.fit--ran-on-it)").first
        links = card.locator(".finder-hardware a")
        found = links.evaluate_all("(links) => links.map(({ href }) => href)")
        pages = ("devices/h800", "models/qwen2-7b-instruct", "frameworks/verl")
        assert found == [f"{address}/{name}/" for name in pages]
