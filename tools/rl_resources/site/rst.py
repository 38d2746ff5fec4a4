"""The tables in reStructuredText: a page to drop into Sphinx documentation, and one table a size.

Cells are contributed text, so nothing of them may act as markup: every one goes through `escape`,
`literal` or `link`. Each is one line without control characters: `check` refuses others. Only
markup that docutils and Sphinx both know is written.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from rl_resources.dataset import Dataset
from rl_resources.facts.comparison import NO_TAG
from rl_resources.facts.script_names import FORM
from rl_resources.package import SCRIPTS, Record
from rl_resources.page.records import HEADERS
from rl_resources.site import rendered
from rl_resources.site.tuning_table import (
    escaped_cells,
    legend,
    meaning,
    records_of_size,
    script_line,
    sizes,
    sure_of,
    url,
)

TITLE = "Hardware That RL Training Needs"

_MARKUP = r"[\\`*_|:@\[<>\"']"
# Sphinx turns runs of these into typographic characters, and `\\.` or `&#46;` into a full stop.
_TYPOGRAPHY = r"-(?=-)|(?<=[-\\])-|\.(?= ?\.)|(?<=[.\\])\.|(?<=\. )\.|(?<=&)#"
_ACTIVE = re.compile(f"{_MARKUP}|{_TYPOGRAPHY}")
_PLAIN_START = re.compile(r"(?!\w+[.)](?:\s|$))\w")
_LITERAL = re.compile(r"[^\s`\\](?:[^`\\]*[^\s`\\])?")
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%~-._"


def files(dataset: Dataset, script_url: str | None) -> dict[str, str]:
    """The page and one table for every size, by path."""
    found = {"rst/device_tuning.rst": device_tuning(dataset, script_url)}
    for size in sizes(dataset):
        found[f"rst/{size.lower()}.rst"] = size_table(dataset, size, script_url)
    return found


def head_of(text: str) -> str:
    """A page from its first line to its title, labels and comments included; empty without one."""
    # What writes a page without its own title does without docutils.
    from rl_resources.page.reader import read_page

    page = read_page(text, "")
    for heading in page.headings:
        if heading.made:
            return "\n".join(page.lines[: heading.line + 1])
    return ""


def device_tuning(dataset: Dataset, script_url: str | None, head: str = "") -> str:
    """The whole page: introduction, then one section with one table for every size.

    `script_url` is a template for the URLs of scripts (see `tuning_table.url`); without one the
    scripts are named and not linked. `head` is in place of our title.
    """
    head = head or _heading(TITLE, "=")
    tag = dataset.package.resources["tuning"].schema.field("tag")
    return rendered(
        "device_tuning.rst",
        head=head,
        heading=_heading,
        underline="=" if head.endswith("-") else "-",
        updated=dataset.package.created,
        version=dataset.version,
        form=FORM,
        scripts=SCRIPTS,
        tag=tag,
        meaning=meaning,
        no_tag=NO_TAG,
        legend=legend(dataset.records["tuning"]),
        escape=escape,
        tables={size: _table(dataset, size, script_url) for size in sizes(dataset)},
    )


def size_table(dataset: Dataset, size: str, script_url: str | None) -> str:
    """The table of one size with its notes, for `.. include::` under a heading of the reader's."""
    origin = f"Size {size}, dataset version {dataset.version}"
    return f"..\n    {origin}\n\n{_table(dataset, size, script_url)}"


def _table(dataset: Dataset, size: str, script_url: str | None) -> str:
    def cells(record: Record) -> list[str]:
        name = str(record["script"])
        found = url(dataset, record, script_url)
        script = link(name, found) if found else literal(name)
        return escaped_cells(dataset, record, escape, script)

    return rendered(
        "table.rst",
        records=records_of_size(dataset, size),
        headers=HEADERS,
        cells=cells,
        escape=escape,
        literal=literal,
        sure=sure_of,
        script_line=script_line,
        inline=_inline,
    )


def _heading(title: str, underline: str) -> str:
    text = escape(title)
    # An underline shorter than its title or 4 is an error; no character is wider than its bytes.
    width = max(4, len(text.encode()))
    return f"{text}\n{underline * width}"


def escape(text: str) -> str:
    """Markup whose text is `text`, at the start of a paragraph or anywhere in it."""
    if not text:
        return "\\"  # an empty cell
    if _PLAIN_START.match(text):
        return _inline(text)
    return "\\ " + _inline(text)


def _inline(line: str) -> str:
    """Markup whose text is `line`, anywhere but at the start of a paragraph."""
    start = "\\ " if line[:1].isspace() else ""
    end = "\\" if line[-1:].isspace() else ""
    return start + _ACTIVE.sub(r"\\\g<0>", line) + end


def literal(text: str) -> str:
    """`text` as an inline literal; as plain text where no literal can contain it."""
    if _LITERAL.fullmatch(text):
        return f"``{text}``"
    return escape(text)


def link(label: str, url: str) -> str:
    """An anonymous hyperlink: equal labels do not clash. The URL is percent-encoded."""
    encoded = re.sub("_$", "%5F", quote(url, safe=_URL_CHARACTERS))
    return f"`{escape(label)} <{encoded}>`__"
