"""The CSV reader: what is written is read, every cell is found where it stands, nothing is lost."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from rl_resources.tabular import Row, Text, quote, read, write

# What makes CSV hard, beside ordinary text.
SIGNS = [*'",\r\t ;=<>|', '""', "\u2028", "\x85", "\ufeff", "é", "😀"]
SIGN = st.sampled_from(SIGNS)
CHARACTERS = st.characters(exclude_characters="\n")
TEXT = st.text(CHARACTERS, max_size=4)
PIECES = st.lists(SIGN | TEXT, max_size=6)
CELL = PIECES.map("".join)
WORD = st.text(alphabet="ab é😀\u2028;\t", max_size=6)
ROW = st.tuples(WORD, WORD)
ROWS = st.lists(ROW, max_size=6)
LETTERS = st.text(alphabet="abc_,é", min_size=1, max_size=5)
NAME = LETTERS.filter(str.strip)
HEADER = st.lists(NAME, min_size=2, max_size=5)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """A header and rows of its width, whatever their cells hold."""
    header = draw(HEADER)
    width = len(header)
    row = st.lists(CELL, min_size=width, max_size=width)
    some_rows = st.lists(row, max_size=5)
    rows = draw(some_rows)
    return [header, *rows]


def records(text: Text) -> list[Row]:
    """The header, if there is one, and the rows."""
    if text.header is None:
        return list(text.rows)
    return [text.header, *text.rows]


def rows_of(text: Text) -> list[tuple[str, ...]]:
    """The cells below the header."""
    return [row.cells for row in text.rows]


def places(text: Text) -> list[tuple[str, int]]:
    """Kind and line of each defect."""
    return [(defect.kind, defect.line) for defect in text.defects]


@given(tables())
def test_what_is_written_is_read_here_and_by_others(table):
    written = write(table)
    text = read(written)
    cells = [list(row.cells) for row in records(text)]
    assert cells == table
    assert text.defects == ()
    file = io.StringIO(written, newline="")
    by_others = csv.reader(file, strict=True)
    assert list(by_others) == table


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
            start = column - 1
            assert line.startswith(quote(cell), start)
            before = line[:start]
            if index == 0:
                assert before == ""
            else:
                assert before.endswith(",")


@given(ROWS, ROW, ROWS)
def test_an_unclosed_quote_swallows_no_row(above, row, below):
    table = [("a", "b"), *above, row, *below]
    lines = [",".join(cells) for cells in table]
    broken = len(above) + 1
    lines[broken] = '"' + lines[broken]
    text = read("\n".join(lines))
    (defect,) = text.defects
    assert defect.kind == "unclosed-quote"
    assert defect.line == broken + 1  # counted from 1
    assert defect.column == 1
    assert rows_of(text) == above + below


def test_two_quotes_that_nobody_closed_do_not_close_each_other():
    text = read('a,b,c\n"1,2,3\n4,5,6\n7,8,9"\n')
    unclosed, stray = places(text)
    assert unclosed == ("unclosed-quote", 2)
    assert stray == ("stray-quote", 4)
    assert rows_of(text) == [("4", "5", "6")]


def test_a_cell_with_line_breaks_is_one_defect():
    text = read('a,b,c\n1,"2\n\n3 4",5\n6,7,8\n')
    assert places(text) == [("unclosed-quote", 2)]
    assert rows_of(text) == [("6", "7", "8")]
