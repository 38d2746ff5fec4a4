"""Pages in Chinese: texts are replaced, markup and data stay, the catalog is complete."""

import re

from cases import cases
from rl_resources.site import finder
from rl_resources.site.translation import (
    CATALOG,
    PAGES,
    Translator,
    names_of,
    translations,
)
from shipped import DATASET
from website import ROOT

NAMES = names_of(DATASET)


def translated(page: str, url: str = "", **catalog: str) -> Translator:
    translator = Translator(url, catalog, NAMES)
    translator.feed(page)
    translator.close()
    return translator


@cases("translation", "texts")
def test_a_text_is_replaced_and_its_markup_stays(page, message, translation, written):
    assert translated(page).messages == [message]
    assert translated(page).html == page
    assert translated(page, **{message: translation}).html == written


@cases("translation", "no_texts")
def test_what_is_no_text_stays(page):
    assert not translated(page).messages
    assert translated(page).html == page


@cases("translation", "data")
def test_data_stay_in_english_but_for_words_of_the_catalog(page, catalog, written):
    assert translated(page).html == page.replace(" translate", ' lang="en" translate')
    assert translated(page, **catalog).html == written


@cases("translation", "links")
def test_a_link_leads_where_it_led(url, link, written):
    page = '<a href="{}">go</a>'
    assert translated(page.format(link), url).html == page.format(written)


def test_the_switch_leads_to_the_page_in_english():
    switch = '<a hreflang="en" href="./">English</a>'
    assert translated(switch, "estimate/").html == switch.replace(
        "./", "../../estimate/"
    )


def test_an_inline_script_finds_the_root():
    page = '<script>scope=new URL("..",location)</script>'
    translator = translated(page, "estimate/")
    assert translator.html == page.replace('".."', '"../.."')
    scripts = {'scope=new URL("..",location)': 'scope=new URL("../..",location)'}
    assert translator.moved_scripts == scripts


def test_every_text_of_a_translated_page_stands_in_the_catalog_and_no_other(built):
    known = translations(ROOT / CATALOG)
    messages = set()
    for url in PAGES:
        page = (built / url / "index.html").read_text("utf-8")
        messages.update(translated(page, url, **known).messages)
    assert sorted(messages - known.keys()) == []
    assert sorted(known.keys() - messages) == []


def test_a_translation_has_the_holes_of_its_message():
    holes = re.compile(r"</?\d+/?>|\{\w+\}")
    for message, translation in translations(ROOT / CATALOG).items():
        assert sorted(holes.findall(translation)) == sorted(holes.findall(message)), (
            message
        )


SENTENCES = [*finder.said().values(), *finder.said_of_calculator().values()]
"""What scripts of the site write in English."""


def literal_parts(sentence: str) -> list[str]:
    """The parts of a sentence between its holes that are more than three words."""
    parts = re.split(r"\{\w+\}", sentence)
    return [part.strip() for part in parts if len(part.split()) > 3]


@cases("translation", "answers")
def test_a_question_is_answered_in_chinese(visit, query, place, begin):
    with visit(f"/zh/{query}") as page:
        answer = page.locator(place)
        answer.get_by_text(begin).first.wait_for()
        text = answer.inner_text()
    for sentence in SENTENCES:
        for part in literal_parts(sentence):
            assert part not in text


@cases("translation", "switches")
def test_the_other_language_gets_the_question(visit, begin, asked, language, end):
    with visit(begin) as page:
        for name, text in asked.items():
            page.fill(f"input[name={name}]", text)
        page.locator(f".language[hreflang={language}]").click()
        page.wait_for_url(f"**{end}")


@cases("translation", "unclear")
def test_what_is_not_clear_is_said_in_chinese(visit, query, said, in_english):
    with visit(f"/zh/{query}") as page:
        unclear = page.locator("#finder-unclear")
        unclear.wait_for()
        text = unclear.text_content() or ""
    for sentence in said:
        assert sentence in text
    assert in_english not in text


def test_the_example_is_in_chinese(visit):
    with visit("/zh/") as page:
        card = page.locator(".finder-example article").first
        assert re.search(r"每个 prompt \d+ 次 rollout", card.inner_text())
        conditions = card.locator(".finder-conditions")
        assert conditions.inner_text().startswith("全参数微调 · ")
        assert conditions.locator("[lang=zh-CN]").first.inner_text() == "全参数微调"
        assert "全参数微调、" in page.locator("#finder-headline").inner_text()
        size = page.locator(".fewest th .said").first
        assert re.fullmatch(r"\d+ 条记录、\d+ 条报告", size.inner_text())


ENGLISH = re.compile(
    "measured|claimed|disputed|fine-tuning|tokens|multimodal|accepted|ran"
)


def test_a_table_and_its_lists_say_words_in_chinese(visit):
    with visit("/zh/records/?certainty=measured") as page:
        assert (
            page.locator("select[name=certainty] option:checked")
            .inner_text()
            .startswith("实测 (")
        )
        lists = page.locator(".table-tools select:not([name=model])").all_inner_texts()
        rows = page.locator("table.runs tbody tr:not([hidden])")
        cells = rows.locator("td:nth-child(-n+17)").all_inner_texts()
    assert len(cells) > 17
    assert not ENGLISH.findall(" ".join(lists + cells))


def test_controls_of_a_table_speak_chinese(visit):
    with visit("/zh/records/", 360) as page:
        order = page.locator(".table-order select")
        rows = page.locator(".table-tools output")
        assert re.fullmatch(r"\d+ 行", rows.inner_text())
        order.select_option("1 ascending")
        assert rows.inner_text().endswith(" 升序")
