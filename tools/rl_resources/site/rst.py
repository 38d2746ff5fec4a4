"""The tables in reStructuredText: a page to drop into Sphinx documentation, and one table a size.

Cells are contributed text, so nothing of them may act as markup: every one goes through `escape`,
`literal` or `link`. Only markup that docutils and Sphinx both know is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import quote

from rl_resources.dataset import Dataset
from rl_resources.package import SCRIPTS
from rl_resources.page.rows import HEADERS
from rl_resources.script.name import FORM
from rl_resources.site.tuning_table import TuningRow, link_target, tuning_rows

TITLE = "Hardware That RL Training Needs"
UNKNOWN = "\\"
_SHORTEST_UNDERLINE = 4

_MARKUP = r"[\\`*_|:@\[<>\"']"
# Sphinx turns runs of these into typographic characters, and `\\.` or `&#46;` into a full stop.
_TYPOGRAPHY = r"-(?=-)|(?<=[-\\])-|\.(?= ?\.)|(?<=[.\\])\.|(?<=\. )\.|(?<=&)#"
_ACTIVE = re.compile(f"{_MARKUP}|{_TYPOGRAPHY}")
_PLAIN_START = re.compile(r"(?!\w+[.)](?:\s|$))\w")
_LITERAL = re.compile(r"[^\s`\\](?:[^`\\]*[^\s`\\])?")
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%~-._"

_PAGE = """\
{title}

A reinforcement-learning run of a language model keeps a training engine and a generation engine in
memory, so what is known from fine-tuning says little about the accelerators it takes. The tables
below collect configurations that somebody has run, by the size of the model. Each row names the
script with which to run it again.

Dataset version: {version}

A row carries one of two tags:

MIN
    The script runs with every memory optimization on, such as offloading to host memory and
    gradient checkpointing.

RECOMMENDED
    The script runs without the optimizations that cost time, for the best throughput.

MaxBatch is the most prompts in one training step that are known to run. It is empty where nobody
has searched for the limit. It reads *disputed* where published facts contradict each other; a note
below the table then says which. It reads *untested* where nobody has run the script yet.

A script is named ``{form}``
and lies in ``{scripts}/<size>/``, the size in lower case.

{sections}"""

_TABLE = """\
.. list-table::
    :widths: auto
    :header-rows: 1

{rows}
"""

_NO_RECORD = """
There is no record of this size yet. To add one, put a script that ran into {folder}, named
``{form}``, and its row into
``records/tuning.csv``; ``rl-resources check`` then says whether the two agree.
"""


def files(dataset: Dataset, script_url: str | None) -> dict[str, str]:
    """The page and one table for every size, by path."""
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    tables = {f"rst/{size.lower()}.rst": size_table(dataset, size, script_url) for size in sizes}
    return {"rst/device_tuning.rst": device_tuning(dataset, script_url), **tables}


def device_tuning(dataset: Dataset, script_url: str | None) -> str:
    """The whole page: introduction, then one section with one table for every size.

    `script_url` is a template for the URLs of scripts (see `link_target`); without one the
    scripts are named and not linked.
    """
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    sections = [f"{_heading(size, '-')}\n\n{_table(dataset, size, script_url)}" for size in sizes]
    return _PAGE.format(
        title=_heading(TITLE, "="),
        version=escape(dataset.version),
        form=FORM,
        scripts=SCRIPTS,
        sections="\n".join(sections),
    )


def size_table(dataset: Dataset, size: str, script_url: str | None) -> str:
    """The table of one size with its notes, for `.. include::` under a heading of the reader's."""
    origin = one_line(f"Size {size}, dataset version {dataset.version}")
    return f"..\n    {origin}\n\n{_table(dataset, size, script_url)}"


def _table(dataset: Dataset, size: str, script_url: str | None) -> str:
    rows = tuning_rows(dataset, size)
    cells = [_cells(row, link_target(script_url, row, size)) for row in rows]
    lines = [_row(line) for line in (HEADERS, *(cells or [[UNKNOWN] * len(HEADERS)]))]
    return _TABLE.format(rows="\n".join(lines)) + (_notes(rows) if rows else _no_record(size))


def _cells(row: TuningRow, url: str | None) -> list[str]:
    cells = [escape(cell) for cell in row.cells()]
    cells[HEADERS.index("Link")] = link(row.script, url) if url else literal(row.script)
    return cells


def _row(cells: Sequence[str]) -> str:
    return "    * - " + "\n      - ".join(cells)


def _notes(rows: Sequence[TuningRow]) -> str:
    notes = [_note(row) for row in rows if row.notes or row.status != "reported"]
    return "".join(["\nNotes:\n\n", *notes]) if notes else ""


def _note(row: TuningRow) -> str:
    status = f" ({escape(row.status)})" if row.status != "reported" else ""
    notes = f": {_inline(one_line(row.notes))}" if row.notes else ""
    return f"* {literal(row.script)}{status}{notes}\n"


def _no_record(size: str) -> str:
    return _NO_RECORD.format(folder=literal(f"{SCRIPTS}/{size.lower()}/"), form=FORM)


def _heading(title: str, underline: str) -> str:
    text = escape(title)
    # An underline shorter than its title is an error; no character is wider than it has bytes.
    return f"{text}\n{underline * max(_SHORTEST_UNDERLINE, len(text.encode()))}"


def escape(text: str) -> str:
    """Markup whose text is `text`, at the start of a paragraph or anywhere in it."""
    line = one_line(text)
    if not line:
        return UNKNOWN
    return _inline(line) if _PLAIN_START.match(line) else "\\ " + _inline(line)


def _inline(line: str) -> str:
    """Markup whose text is `line`, anywhere but at the start of a paragraph."""
    start = "\\ " if line[:1].isspace() else ""
    end = "\\" if line[-1:].isspace() else ""
    return start + _ACTIVE.sub(r"\\\g<0>", line) + end


def literal(text: str) -> str:
    """`text` as an inline literal; as plain text where a literal cannot hold it."""
    line = one_line(text)
    return f"``{line}``" if _LITERAL.fullmatch(line) else escape(line)


def link(label: str, url: str) -> str:
    """An anonymous hyperlink: equal labels do not clash. The URL is percent-encoded."""
    encoded = re.sub("_$", "%5F", quote(url, safe=_URL_CHARACTERS))
    return f"`{escape(label)} <{encoded}>`__"


def one_line(text: str) -> str:
    """`text` without what a line cannot hold: breaks become spaces, other controls U+FFFD."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}:
        return character
    return " " if character.isspace() else "\ufffd"
