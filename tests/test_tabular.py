"""The CSV reader: what is written is read, every cell is found where it stands, nothing is lost."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from rl_resources.tabular import Row, Text, quote, read, write

# What makes CSV hard, beside ordinary text.
SIGNS = st.sampled_from([*'",\r\t ;=<>|', '""', "\u2028", "\x85", "\ufeff", "é", "😀"])
TEXT = st.text(st.characters(exclude_characters="\n"), max_size=4)
CELL = st.lists(st.one_of(SIGNS, TEXT), max_size=6).map("".join)
WORD = st.text(alphabet="ab é😀\u2028;\t", max_size=6)
NAME = st.text(alphabet="abc_,é", min_size=1, max_size=5).filter(str.strip)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """A header and rows of its width, whatever their cells hold."""
    header = draw(st.lists(NAME, min_size=2, max_size=5))
    row = st.lists(CELL, min_size=len(header), max_size=len(header))
    return [header, *draw(st.lists(row, max_size=5))]


def records(text: Text) -> list[Row]:
    """The header, if there is one, and the rows."""
    if text.header is None:
        return list(text.rows)
    return [text.header, *text.rows]


def cells(text: Text) -> list[list[str]]:
    return [list(row.cells) for row in records(text)]


def places(text: Text) -> list[tuple[str, int, int]]:
    """Kind, line and column of each defect."""
    return [(defect.kind, defect.line, defect.column) for defect in text.defects]


@given(tables())
def test_what_is_written_is_read_here_and_by_others(table):
    written = write(table)
    text = read(written)
    assert cells(text) == table
    assert text.defects == ()
    file = io.StringIO(written, newline="")
    assert list(csv.reader(file, strict=True)) == table


@given(tables())
def test_a_cell_stands_where_its_place_says(table):
    written = write(table)
    lines = written.split("\n")
    text = read(written)
    for row in records(text):
        line = lines[row.line - 1]
        for index, cell in enumerate(row.cells):
            number, column = row.place(index)
            assert number == row.line
            assert line.startswith(quote(cell), column - 1)
            before = line[: column - 1]
            if index == 0:
                assert before == ""
            else:
                assert before.endswith(",")


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=6), st.data())
def test_an_unclosed_quote_swallows_no_row(rows, data):
    broken = data.draw(st.integers(0, len(rows) - 1))
    lines = [f"{one},{other}" for one, other in rows]
    lines[broken] = '"' + lines[broken]
    text = read("\n".join(["a,b", *lines]))
    line = broken + 2  # below the header, counted from 1
    assert places(text) == [("unclosed-quote", line, 1)]
    del rows[broken]
    assert [row.cells for row in text.rows] == rows


def test_two_quotes_that_nobody_closed_do_not_close_each_other():
    text = read('a,b,c\n"1,2,3\n4,5,6\n7,8,9"\n')
    unclosed, stray = text.defects
    assert unclosed.kind == "unclosed-quote"
    assert unclosed.line == 2
    assert stray.kind == "stray-quote"
    assert stray.line == 4
    assert [row.cells for row in text.rows] == [("4", "5", "6")]


def test_a_cell_with_line_breaks_is_one_defect():
    text = read('a,b,c\n1,"2\n\n3 4",5\n6,7,8\n')
    (unclosed,) = text.defects
    assert unclosed.kind == "unclosed-quote"
    assert unclosed.line == 2
    assert [row.cells for row in text.rows] == [("6", "7", "8")]
