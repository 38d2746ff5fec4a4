"""Pages as plain Markdown: readable as they are, and what was written by others stays text."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import markdown
import pytest

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.render import site, size_page
from rl_resources.render.assistants import files
from rl_resources.render.plain import plain
from rl_resources.render.tuning_table import HEADERS

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror='alert(1)'> [click](javascript:alert(1)) "
    "![i](https://elsewhere.invalid/i.png) **bold** `code` <https://elsewhere.invalid/> "
    "_it_ &lt;b&gt; | cell | # no heading ]] \\[x](y) ``` &#60;b&#62;"
)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


@pytest.fixture(scope="module")
def pages(dataset: Dataset) -> dict[str, str]:
    return site.pages(dataset, None) | size_page.pages(dataset, None)


class Elements(HTMLParser):
    """Elements with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.found)


def rendered(text: str) -> Elements:
    return Elements(markdown.markdown(text, extensions=["tables", "fenced_code"]))


def test_the_table_of_a_size_is_a_table_of_nine_columns(
    pages: dict[str, str], dataset: Dataset
) -> None:
    text = plain(pages["sizes/7b.md"])
    assert f"| {' | '.join(HEADERS)} |\n|{' --- |' * 9}\n" in text
    found = rendered(text)
    assert (found.count("table"), found.count("th")) == (1, 9)
    assert "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh" in found.words
    assert "16 disputed" in found.words


def test_no_generated_page_keeps_a_tag(pages: dict[str, str]) -> None:
    for path, page in pages.items():
        prose = re.sub(r"(?ms)^(```+).*?^\1|`[^`\n]+`", "", plain(page))
        assert not re.findall(r"(?<!\\)</?[a-z]", prose), path
        assert "{ #" not in prose


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("# A&#42;B { #id }\n\n<p>One <strong>two</strong></p>\n", "# A\\*B\n\nOne **two**\n"),
        ("<ul>\n<li>a</li>\n<li><p>b</p></li>\n</ul>\n", "- a\n- b\n"),
        ("<ol>\n<li>a</li>\n</ol>\n", "1. a\n"),
        ("<dl><dt>MIN</dt><dd>least</dd></dl>", "- MIN: least\n"),
        ('<p><a href="../b/">b</a></p>', "[b](../b/index.html.md)\n"),
        ('<p><a href="../b/?x=1">b</a></p>', "[b](../b/?x=1)\n"),
        ('<p><a href="#x">b</a></p>', "b\n"),
        ('<p><a href="javascript:x">b</a></p>', "b\n"),
        ("<pre><code>a\n# b &lt;c&gt;</code></pre>", "```\na\n# b <c>\n```\n"),
        ("<p><code>a_<wbr>b</code> and a_<wbr>b</p>", "`a_b` and a_b\n"),
        ("<p>x</p><nav><a href='y'>y</a></nav>", "x\n"),
        ("<h2>One</h2><p># two</p>", "## One\n\n\\# two\n"),
        ("```bash\n<p>&lt;\n```\n", "```bash\n<p>&lt;\n```\n"),
        (
            "<table><tbody><tr><th>a</th><td>b|c</td></tr></tbody></table>",
            "|  |  |\n| --- | --- |\n| a | b\\|c |\n",
        ),
    ],
)
def test_a_page_becomes(page: str, text: str) -> None:
    assert plain(page) == text


@pytest.mark.parametrize(
    "template",
    [
        "<p>{}</p>",
        "<table><tr><td>{}</td><td>x</td><td>y</td></tr></table>",
        '<table><tr><td>a <span class="b">{}</span></td><td>x</td><td>y</td></tr></table>',
        "<dl><dt>a</dt><dd>{}</dd></dl>",
        "<ul><li>{}</li></ul>",
        '<p><a href="https://example.org/">{}</a></p>',
    ],
)
def test_hostile_text_stays_text(template: str) -> None:
    found = rendered(plain(template.format(html.escape(HOSTILE))))
    assert "<script>alert(1)</script>" in found.words
    assert not {name for name, _ in found.found} & {"script", "img", "b", "em", "strong", "h1"}
    links = [attributes.get("href") for name, attributes in found.found if name == "a"]
    assert set(links) <= {"https://example.org/"}
    if "<td>" in template:
        assert found.count("th") == 3


def test_llms_txt_has_the_form_of_the_proposal(dataset: Dataset) -> None:
    text = files(dataset, {}, {}, "")["llms.txt"]
    assert isinstance(text, str)
    first, second, *rest = text.split("\n\n")
    assert re.fullmatch(r"# .+", first)
    assert re.fullmatch(r"> .+", second)
    sections = [part for part in rest if part.startswith("#")]
    assert all(part.startswith("## ") for part in sections)
    lists = rest[rest.index(sections[0]) + 1 :: 2]
    assert len(lists) == len(sections)
    for line in "\n".join(lists).splitlines():
        assert re.fullmatch(r"- \[.+\]\([^)]+\): .+", line)


def test_addresses_in_llms_txt_are_absolute_where_the_site_has_one(dataset: Dataset) -> None:
    text = files(dataset, {}, {}, "https://example.org/x/")["llms.txt"]
    assert isinstance(text, str)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all(link.startswith("https://example.org/x/") for link in links)


def test_a_page_written_by_hand_links_to_markdown(dataset: Dataset) -> None:
    page = "---\ntitle: x\n---\n\n# X\n\n[a](data.md#tuning) [b](rules/index.md)\n"
    text = files(dataset, {}, {"contributing.md": page}, "")["contributing/index.html.md"]
    assert text == (b"# X\n\n[a](../data/index.html.md) [b](../rules/index.html.md)\n")
