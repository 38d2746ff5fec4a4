"""For assistants: `llms.txt`, and beside every page the same as plain Markdown.

Names and places are those of the llms.txt proposal: an address that ends in `/` has its Markdown at
`index.html.md`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

from rl_resources.dataset import Dataset
from rl_resources.render.plain import PAGE, escape, plain, without_front_matter
from rl_resources.render.site import address, page_url
from rl_resources.render.tuning_table import tuning_rows

INDEX = "llms.txt"
_LINK_TO_SOURCE = re.compile(r"\]\((?P<path>[\w./-]+\.md)(?:#[^)\s]*)?\)")


def files(
    dataset: Dataset, generated: Mapping[str, str], by_hand: Mapping[str, str], site: str
) -> dict[str, str | bytes]:
    """The files by path. `generated` and `by_hand` are all pages, as Markdown with HTML.

    `site` is the address of the site with its closing slash, or blank: links are then relative.
    """
    found: dict[str, str | bytes] = {INDEX: _index(dataset, site)}
    found |= {_place(path): plain(text).encode() for path, text in generated.items()}
    for path, text in by_hand.items():
        found[_place(path)] = _with_links(path, without_front_matter(text)).encode()
    return found


def _place(path: str) -> str:
    return f"{page_url(path)}{PAGE}"


def _with_links(page: str, text: str) -> str:
    """A page written by hand, whose links name the sources of other pages."""

    def link(match: re.Match[str]) -> str:
        folder = page.rpartition("/")[0]
        target = f"{folder}/{match['path']}".lstrip("/")
        return f"]({address(page, page_url(target))}{PAGE})"

    return _LINK_TO_SOURCE.sub(link, text).lstrip()


def _index(dataset: Dataset, site: str) -> str:
    package = dataset.package
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    reports = Counter(row["size"] for row in dataset.records["reports"])
    sections = {
        "Records by size": [
            _item(site, f"sizes/{size.lower()}/{PAGE}", f"{size} models", _told(dataset, size))
            for size in sizes
        ],
        "Reports by size": [
            _item(site, f"reports/{size.lower()}/{PAGE}", f"{size} models", _count(told, "report"))
            for size in sizes
            if (told := reports[size])
        ],
        "By hardware": [
            _item(site, f"what-fits/{PAGE}", "What fits", "the largest size by hardware, and back")
        ],
        "Data": [
            _item(site, "api/v1/index.json", "Index of the API", "every document and download"),
            _item(site, "api/v1/openapi.json", "OpenAPI document", "addresses, schemas, examples"),
            _item(site, "api/v1/all.json", "All tables", "one JSON document, some megabytes"),
            _item(site, f"data/{PAGE}", "Data dictionary", "what every column means"),
            _item(site, f"recipes/{PAGE}", "Recipes", "code that takes the data into other tools"),
        ],
        "More pages": [
            _item(
                site, f"reports/{PAGE}", "Reports", "what others have published, and how sure it is"
            ),
            _item(site, f"coverage/{PAGE}", "Coverage", "what is known and what is missing"),
            _item(site, f"models/{PAGE}", "Models", "sizes and shapes, with sources"),
            _item(site, f"devices/{PAGE}", "Devices", "memory and speed, with sources"),
            _item(site, f"contributing/{PAGE}", "Contributing", "how a record is added"),
        ],
        "Optional": [
            _item(site, f"records/{row.record_id}/{PAGE}", row.record_id, _facts(row.cells()[:5]))
            for size in sizes
            for row in tuning_rows(dataset, size)
        ],
    }
    parts = [f"# {escape(package.title)}", f"> {escape(package.description)}", _MEANING]
    parts += [f"## {title}\n\n" + "\n".join(items) for title, items in sections.items() if items]
    return "\n\n".join(parts) + "\n"


_MEANING = """\
A record is a tested configuration with a script in this repository; a report was published
elsewhere. Tag MIN: runs with everything on that saves memory. Tag RECOMMENDED: fast, without what
trades time for memory. MaxBatch is the most prompts for one training step that are known to run;
blank means that nobody has searched. Say the status with every figure: `untested` has never run,
`disputed` means that published facts contradict each other, `reproduced` that others ran it too.
Every page has its Markdown at `index.html.md` below its address."""


def _told(dataset: Dataset, size: str) -> str:
    return _count(len(tuning_rows(dataset, size)), "record")


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def _facts(cells: tuple[str, ...]) -> str:
    return ", ".join(cell for cell in cells if cell)


def _item(site: str, path: str, name: str, notes: str) -> str:
    return f"- [{escape(name)}]({site}{quote(path)}): {escape(notes)}"
