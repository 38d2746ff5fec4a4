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
from rl_resources.site.rst import device_tuning, escape, size_table
from rl_resources.site.tuning_table import cells, records_of_size, script_line
from sample_tree import ran, with_tables

RECORD = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
TEMPLATE = "https://example.org/blob/main/{path}"
HOSTILE = Path(__file__).parent / "hostile"

RST = tomllib.loads((HOSTILE / "rst.toml").read_text())
PAYLOADS = [
    *dict.fromkeys([*RST["payloads"], *filter(str.isprintable, corpus.PAYLOADS)])
]

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
    rows = []
    for number, text in enumerate(PAYLOADS):
        name = f"hostile-{number}.sh"
        rows.append(first | {"script": name, "contributor": text, "notes": text})
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
        (source / f"{name}.rst").write_text(text)
    out = folder / "html"
    done = ran(sys.executable, "-m", "sphinx", "-W", "-n", "-q", source, out)
    assert done.stderr == ""
    assert done.returncode == 0
    return {path.stem: path.read_text() for path in out.glob("*.html")}


def _html_cells(page: str) -> list[list[str]]:
    """The text of every row of every table body of a built page."""
    found = []
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL):
        cells = re.findall(r"<td>(.*?)</td>", row, re.DOTALL)
        if cells:
            found.append([_text(cell) for cell in cells])
    return found


def _text(fragment: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


# What Sphinx makes of it


def test_sphinx_shows_every_record_and_hostile_cells_as_the_text_that_they_are(
    dataset, tmp_path
):
    pages = {
        "ours": device_tuning(dataset, TEMPLATE),
        "hostile": ":orphan:\n\n" + device_tuning(_hostile(dataset), None),
        "host": ":orphan:\n\nTheirs\n~~~~~~\n\n.. include:: 7b.rst\n\nAfter it.\n",
        "7b": size_table(dataset, "7B", TEMPLATE),
    }
    built = _build(tmp_path, pages, excluded="7b.rst")
    _has_every_record(dataset, built["ours"])
    models = [row[1] for row in _html_cells(built["host"])]
    records = records_of_size(dataset, "7B")
    assert models == [cells(dataset, record)["Model"] for record in records]
    assert "After it." in built["host"]
    _shows_payloads_as_text(dataset, built["hostile"])


def _has_every_record(dataset: Dataset, page: str) -> None:
    scripts = {str(row["script"]) for row in dataset.records["tuning"]}
    assert {row[7] for row in _html_cells(page) if row[7]} == scripts
    links = re.findall(r'href="(https://example[^"]*)"', page)
    assert len(set(links)) == len(scripts)


def _shows_payloads_as_text(dataset: Dataset, page: str) -> None:
    shown = [row for row in _html_cells(page) if row[0]]
    assert [row[8].removesuffix("\n") for row in shown] == PAYLOADS
    record = dataset.by_key["tuning"][RECORD]
    said = script_line(record)
    sure = f"{certainty(record)}, disputed"
    text = _text(page)
    for number, payload in enumerate(PAYLOADS):
        assert f"hostile-{number}.sh ({sure}): {said}. {payload}" in text
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
    found = {type(node) for node in cell.findall()}
    assert found <= {nodes.entry, nodes.paragraph, nodes.Text}
