"""The RST page and tables: what Sphinx makes of them, and that no cell acts as markup."""

import html
import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st

import payloads as corpus
from rl_resources.certainty import certainty
from rl_resources.dataset import Dataset
from rl_resources.site.rst import device_tuning, escape, one_line, size_table
from rl_resources.site.tuning_table import cells, records_of_size, script_line
from sample_tree import ran, with_tables

RECORD = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
TEMPLATE = "https://example.org/blob/main/{path}"
HOSTILE = Path(__file__).parent / "hostile"

RST = tomllib.loads((HOSTILE / "rst.toml").read_text(encoding="utf-8"))
PAYLOADS = RST["payloads"]
PAYLOADS += [text for text in map(one_line, corpus.PAYLOADS) if text not in set(PAYLOADS)]

_CELL_SIGNS = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
_MARKUP = st.sampled_from(RST["markup"])
ONE_LINE = st.one_of(
    st.text(_CELL_SIGNS),
    st.lists(st.one_of(_MARKUP, st.text(_CELL_SIGNS, max_size=3))).map("".join),
)
PARSER_SETTINGS = {
    "report_level": 2,
    "halt_level": 2,
    "warning_stream": False,
    "_disable_config": True,
    "smart_quotes": True,
}


def _hostile(dataset: Dataset) -> Dataset:
    """One record of the 7B section for each payload, disputed, with the payload in free text."""
    first = dataset.by_key["tuning"][RECORD] | {"status": "disputed"}
    rows = [
        {**first, "script": f"hostile-{at}.sh", "contributor": text, "notes": text}
        for at, text in enumerate(PAYLOADS)
    ]
    return with_tables(dataset, tuning=rows)


def _cell(markup: str) -> nodes.entry:
    """The first cell of a table that holds `markup`, as a writer gets it.

    Without what docutils remarks below a warning.
    """
    text = f".. list-table::\n\n    * - {markup}\n      - second\n"
    tree = publish_doctree(text, settings_overrides=PARSER_SETTINGS)
    for message in list(tree.findall(nodes.system_message)):
        message.parent.remove(message)
    first, second = tree.findall(nodes.entry)
    assert second.astext() == "second"
    return first


def _build(folder: Path, pages: dict[str, str], excluded: str = "") -> dict[str, str]:
    """HTML bodies of a Sphinx project of nothing but `pages`; any warning fails the build."""
    source = folder / "source"
    source.mkdir()
    first = next(iter(pages))
    (source / "conf.py").write_text(
        f"root_doc = {first!r}\nhtml_theme = 'basic'\nversion = release = 'SECRET-VERSION'\n"
        f"exclude_patterns = [{excluded!r}]\n",
        encoding="utf-8",
    )
    for name, text in pages.items():
        (source / f"{name}.rst").write_text(text, encoding="utf-8")
    done = ran(sys.executable, *["-m", "sphinx", "-W", "-n", "-q"], source, folder / "html")
    assert (done.returncode, done.stderr) == (0, "")
    return {path.stem: path.read_text("utf-8") for path in (folder / "html").glob("*.html")}


def _html_cells(page: str) -> list[list[str]]:
    """The text of every row of every table body of a built page."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    return [[_text(cell) for cell in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)] for row in rows]


def _text(fragment: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


# What Sphinx makes of it


def test_sphinx_shows_every_record_and_hostile_cells_as_the_text_that_they_are(dataset, tmp_path):
    pages = {"ours": device_tuning(dataset, TEMPLATE)}
    pages["hostile"] = ":orphan:\n\n" + device_tuning(_hostile(dataset), None)
    pages["host"] = ":orphan:\n\nTheirs\n~~~~~~\n\n.. include:: 7b.rst\n\nAfter it.\n"
    pages["7b"] = size_table(dataset, "7B", TEMPLATE)
    built = _build(tmp_path, pages, excluded="7b.rst")
    models = [row[1] for row in _html_cells(built["host"]) if row]
    records = records_of_size(dataset, "7B")
    assert models == [cells(dataset, record)["Model"] for record in records]
    assert "After it." in built["host"]
    scripts = {str(row["script"]) for row in dataset.records["tuning"]}
    assert scripts == {row[7] for row in _html_cells(built["ours"]) if row and row[7]}
    assert len(set(re.findall(r'href="(https://example[^"]*)"', built["ours"]))) == len(scripts)
    page = built["hostile"]
    shown = [row for row in _html_cells(page) if row and row[0]]
    assert [row[8].removesuffix("\n") for row in shown] == PAYLOADS
    record = dataset.by_key["tuning"][RECORD]
    said = script_line(record)
    sure = f"{certainty(record)}, disputed"
    for number, payload in enumerate(PAYLOADS):
        assert f"hostile-{number}.sh ({sure}): {said}. {payload}" in _text(page)
    html_cells = "".join(re.findall(r"<td>.*?</td>", page, re.DOTALL))
    assert "SECRET-VERSION" not in html_cells
    assert "root:x:" not in page
    assert set(re.findall(r"<(\w+)[^>]*>", html_cells)) == {"td", "p", "code", "span"}


# Escaping


@settings(max_examples=50, deadline=None)
@given(ONE_LINE)
def test_escaped_text_reads_as_the_text_and_is_nothing_else(text):
    cell = _cell(escape(text))
    assert cell.astext() == text
    assert {type(node) for node in cell.findall()} <= {nodes.entry, nodes.paragraph, nodes.Text}


def test_controls_become_visible_and_line_breaks_become_spaces():
    assert one_line("a\nb\u2028c\x00d\x07") == "a b c\ufffdd\ufffd"
