"""What all pages share: the templates with their filters, links, and cells as text and links.

Contributed text reaches a page in one of four ways, each with its own escaping: in an HTML block
(Jinja2's autoescape), in a Markdown heading (`markdown`), in a fence (`fenced`), and in the front
matter (the macro `front`), whose values themes put into HTML as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import cycle
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from jinja2 import Environment
from markupsafe import Markup
from markupsafe import escape as escape_html

from rl_resources.certainty import FIGURES, MARKS, REWRITTEN, SCALE, TESTED
from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of, hardware
from rl_resources.facts.comparison import NO_TAG
from rl_resources.files import environment, table_beside
from rl_resources.package import Field, Record, TableSchema, text_of
from rl_resources.page.records import HEADERS
from rl_resources.query.configurations import Configuration
from rl_resources.query.sentences import resource, step_time, sure, tag
from rl_resources.query.vocabulary import architectures
from rl_resources.site import OWN
from rl_resources.site.api import BASE, record_id
from rl_resources.site.tuning_table import escape, meaning, records_of_size, sure_of
from rl_resources.snapshot import TABLES_OF_RUNS
from rl_resources.text import is_web_address, printable

Made = TypeVar("Made")
TEMPLATES = PurePosixPath("site/templates")
UNKNOWN_SIZE = "Unknown size"
LOCAL = "http://localhost:8000/"
"""In place of the site's URL where it is not configured: there `make serve` shows the site."""
_THREAD = re.compile(
    r"^https://[^/]+/(.+?/.+?)/(?:issues|pull|discussions)/.*?([^/]*)$"
)
TABLES = table_beside(str(OWN / "run_pages.py"))
"""The columns of runs, what the pages of things show, and what code examples print."""
SHOWN: Mapping[str, Sequence[str]] = TABLES["examples"]


@dataclass(frozen=True, slots=True)
class Size:
    """One section of models: its name, its row in `sizes`, its numbers of records and reports."""

    name: str
    record: Record
    count: int
    reports: int

    @property
    def url(self) -> str:
        """Its page, relative to the root of the site."""
        return f"sizes/{self.name.lower()}/"


class Piece(NamedTuple):
    """Text with, perhaps, the URL that it links to: on the web, or below the site's root."""

    text: str
    url: str = ""
    title: str = ""


class Site:
    """A dataset and where it is published, rendered page by page.

    Without `repository_url` no page links to a file of the repository; without `site_url` the code
    examples name a URL that readers have to replace.
    """

    def __init__(
        self,
        dataset: Dataset,
        repository_url: str | None = None,
        site_url: str | None = None,
    ) -> None:
        self.dataset = dataset
        self.package = dataset.package
        self.records = dataset.records
        self.devices = devices_of(dataset)
        self.repository = ""
        if repository_url and is_web_address(repository_url):
            self.repository = repository_url
        self.site_url = site_url or ""
        self.at = site_url or LOCAL
        reports = Counter(text_of(row, "size") for row in dataset.records["reports"])
        self._things = urls_of_things(dataset)
        self.sizes: list[Size] = []
        for row in dataset.records["sizes"]:
            name = str(row["size"])
            records = len(records_of_size(dataset, name))
            self.sizes.append(Size(name, row, records, reports[name]))

    def page(self, path: str, template: str = "", /, **values: Any) -> str:
        """The text of the file at `path`, by the template of that name unless another is named.

        Raises `jinja2.TemplateError` for a template that cannot be used.
        """
        templates = _environment(self.package.root / TEMPLATES)
        shared = {
            "site": self,
            "tag_field": self.package.resources["tuning"].schema.field("tag"),
            "device": self.devices.label,
            "to": partial(link, path),
        }
        return templates.get_template(f"{template or path}.jinja").render(
            shared | values
        )

    def once(self, facts: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` makes from `facts` alone and from what all pages share.

        A preview reuses it from an earlier build as long as nothing that all pages share changes.
        """
        if facts not in self._made:
            self._made[facts] = make()
        made: Made = self._made[facts]
        return made

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return _made(repr(list(self._surroundings())))

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """All that the row of each run says, as one text, by the id of its record or report."""
        found = {record_id(row): repr(row) for row in self.records["tuning"]}
        for row in self.records["reports"]:
            found[str(row["report"])] = repr(row)
        return found

    def _surroundings(self) -> Iterator[object]:
        """What the pages of runs and of the estimate depend on besides rows and scripts of runs."""
        yield self.repository, self.site_url, self.package.document
        for table in self.package.resources.values():
            yield table.schema.document
            if table.name not in TABLES_OF_RUNS:
                yield self.records[table.name]
        root = self.package.root
        templates = (*root.glob(f"{TEMPLATES}/*.jinja"), *OWN.glob("*.jinja"))
        for path in sorted([*templates, *root.glob("benchmarks/*.csv")]):
            yield path.read_bytes()

    def thing(self, table: str, key: str) -> str:
        """The page of a row below the root: of a record, model, device or framework; else empty."""
        if table == "tuning":
            return f"records/{key.removesuffix('.sh')}/"
        return self._things.get((table, key), "")

    def pieces(self, table: str, field: Field, record: Record) -> Sequence[Piece]:
        """A cell as text and links: URLs link to themselves, keys to the row that they name."""
        value = record[field.name]
        if value is None:
            return ()
        if isinstance(value, tuple) and all(map(is_web_address, value)):
            return [
                Piece(str(place), url, url) for place, url in enumerate(value, start=1)
            ]
        text = field.write(value)
        key = self.package.resources[table].schema.foreign_key(field.name)
        if not key:
            return [Piece(text, text if is_web_address(text) else "")]
        name = self.devices.label(text) if key.resource == "devices" else text
        return [Piece(name, self._url_of_row(key.resource, text))]

    def _url_of_row(self, table: str, key: str) -> str:
        """The row of another table on its page, if it has one, or the row's own link."""
        row = self.dataset.by_key.get(table, {}).get(key)
        if not row:
            return ""
        url = self.thing(table, key)
        if url:
            return url
        found = str(row.get("link"))
        return found if is_web_address(found) else ""


def urls_of_things(dataset: Dataset) -> dict[tuple[str, str], str]:
    """The page of each model, device and framework below the root.

    A model's is that of its architecture.
    """
    models = dataset.by_key["models"]
    firsts = architectures(dataset)
    found: dict[tuple[str, str], str] = {}
    for key, row in models.items():
        first = models[firsts.get(str(key), key)]
        mark = "" if first is row else f"#{row['slug']}"
        found["models", str(key)] = f"models/{first['slug']}/{mark}"
    for table in ("devices", "frameworks"):
        for name in map(str, dataset.by_key[table]):
            found[table, name] = f"{table}/{name}/"
    return found


def anchor(schema: TableSchema, record: Record) -> str:
    """The id of a row on its page."""
    return f"row-{slug(str(record[schema.primary_key[0]]))}"


def slug(text: str) -> str:
    """A text as part of a URL."""
    return re.sub(r"[^a-z0-9.-]+", "-", text.lower())


def place(row: Configuration) -> str:
    """The page of a record or report, below the site's root."""
    if row.kind == "record":
        return f"records/{row.id}/"
    return f"{reports_url(row.size)}#{row.id}"


def reports_url(size: str) -> str:
    """The page of the reports of a size, below the site's root."""
    return f"reports/{slug(size or UNKNOWN_SIZE)}/"


def link(page: str, target: str) -> str:
    """`target`, a path below the site's root, as it is written in a link on `page`.

    The URL of `sizes/7b.md` is `sizes/7b/`, that of `sizes/index.md` is `sizes/`.
    """
    path, mark, fragment = target.partition("#")
    depth = page.count("/")
    if PurePosixPath(page).name != "index.md":
        depth += 1
    root = "../" * depth or "./"
    return f"{root}{quote(path)}{mark}{fragment}"


def source_name(report: Record) -> str:
    """Who published a report: a repository, a thread such as `owner/name#12`, or a host."""
    if report["source_repo"]:
        return str(report["source_repo"])
    url = str(report["source_url"])
    if not is_web_address(url):
        return url
    thread = _THREAD.search(url)
    if thread:
        return f"{thread[1]}#{thread[2]}"
    return urlsplit(url).netloc


@lru_cache(maxsize=1)
def _made(_: str) -> dict[Hashable, Any]:
    """What was made, by its facts; emptied when what all pages share changes."""
    return {}


@cache
def _environment(templates: Path) -> Environment:
    found = environment(templates, OWN, autoescape=True)
    found.tests |= {
        "web_address": is_web_address,
    }
    found.filters |= {
        "breakable": breakable,
        "coded": coded,
        "fenced": fenced,
        "heading": heading,
        "labelled": labelled,
        "markdown": markdown,
        "visible": printable,
    }
    found.globals |= {
        "anchor": anchor,
        "api": BASE,
        "figures": FIGURES,
        "hardware": hardware,
        "headers": HEADERS,
        "marks": MARKS,
        "meaning": meaning,
        "no_tag": NO_TAG,
        "place": place,
        "reports_url": reports_url,
        "resource": resource,
        "rewritten": REWRITTEN,
        "run_table": TABLES,
        "scale": SCALE,
        "shown": SHOWN,
        "slug": slug,
        "source_name": source_name,
        "step_time": step_time,
        "sure": sure,
        "sure_of": sure_of,
        "tag": tag,
        "tested_word": TESTED,
    }
    return found


def markdown(text: str) -> Markup:
    """One line of Markdown that shows `text` as it is."""
    return Markup(escape(" ".join(text.split())))  # noqa: S704 (`escape` leaves no markup)


def fenced(text: str, language: str = "") -> Markup:
    """A code block that nothing in `text` can end, because its fence is longer than any in it.

    `language` is a word, or attributes in braces.
    """
    inside = re.findall(r"`+", text)
    longest = max(map(len, inside), default=0)
    fence = "`" * max(3, longest + 1)
    if not text.endswith("\n"):
        text += "\n"
    return Markup(f"{fence}{language}\n{text}{fence}\n")  # noqa: S704


def coded(text: str) -> Markup:
    """HTML of a sentence in which backticks enclose code."""
    escaped = str(escape_html(text))
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))  # noqa: S704


def breakable(text: str) -> Markup:
    """HTML of a long name that may be broken after each `_` and `/`."""
    escaped = str(escape_html(text))
    return Markup(re.sub(r"[_/]", r"\g<0><wbr>", escaped))  # noqa: S704


def heading(field: Field) -> str:
    """A column's title with its unit."""
    if not field.unit:
        return field.title
    return f"{field.title} ({field.unit})"


def labelled(rows: str, headers: Sequence[str]) -> Markup:
    """HTML of a table's body whose cells have the header of their column as `data-label`.

    A style sheet shows the labels where rows are cards, on a narrow screen.
    """
    labels = cycle([f' data-label="{escape_html(header)}"' for header in headers])

    def with_label(start: re.Match[str]) -> str:
        return f"{start[0]}{next(labels)}"

    # The cells of one column each; their texts were escaped before.
    cells = re.compile(r"<t[dh]\b(?![^>]*\bcolspan=)")
    return Markup(cells.sub(with_label, rows))  # noqa: S704
