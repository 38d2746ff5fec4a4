"""The generated pages of the site as Markdown: records in, text out.

Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the address `/sizes/7b/` can take
the same files. Only the templates, `site/templates` of the dataset's root, are read from disk.

What contributors wrote reaches a page in one of four ways, each with its own escaping: in an HTML
block (Jinja2's autoescape), in a Markdown heading (`markdown`), in a fence (`fenced`), and in the
front matter (`front_matter`), whose values themes put into HTML as they are.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rl_resources.dataset import Dataset
from rl_resources.package import Field, Record, Resource, TableSchema
from rl_resources.page.rows import HEADERS
from rl_resources.query.configurations import Configuration
from rl_resources.query.sentences import resource
from rl_resources.site import metadata, recipes
from rl_resources.site.api import BASE, PROMISE
from rl_resources.site.cards import labelled
from rl_resources.site.dictionary import columns
from rl_resources.site.markdown import escape
from rl_resources.site.tuning_table import tuning_rows
from rl_resources.urls import is_web_address

if TYPE_CHECKING:
    from rl_resources.site.downloads import Download

TEMPLATES = PurePosixPath("site/templates")
_PAGE_OF_TABLE = {"models": "models", "devices": "devices"}


def pages(
    dataset: Dataset,
    repository_url: str | None,
    files: Sequence[Download] = (),
    site_url: str | None = None,
) -> dict[str, str]:
    """The pages of tables, by their paths below the folder of pages.

    `files` are the downloads that the page of the data lists.

    Without `repository_url` no page links to a file of the repository; without `site_url` what is
    to be copied names an address that readers have to replace. Raises
    `jinja2.TemplateError` for a template that cannot be used.
    """
    site = Site(dataset, repository_url)
    at = site_url or recipes.LOCAL
    tables = {
        f"{table}.md": site.page(
            f"{table}.md",
            sections=_sections(dataset, table, group),
            tabs=recipes.of_table(dataset, table, at),
        )
        for table, group in (("models", "size"), ("devices", "vendor"))
    }
    return tables | {
        "recipes.md": site.page(
            "recipes.md", recipes=recipes.recipes(dataset, at), address_known=bool(site_url)
        ),
        "data.md": site.page(
            "data.md", tables=_tables(dataset), **_files(dataset, files, site_url or "")
        ),
    }


class Site:
    """What all pages share."""

    def __init__(self, dataset: Dataset, repository_url: str | None) -> None:
        self.sizes = sizes(dataset)
        self._environment = _environment(dataset.package.root / TEMPLATES)
        self.repository = repository_url or ""
        if not is_web_address(self.repository):
            self.repository = ""
        self._shared = {
            "sizes": self.sizes,
            "api": BASE,
            "promise": PROMISE,
            "headers": HEADERS,
            "package": dataset.package,
            "records": len(dataset.records["tuning"]),
            "reports": len(dataset.records["reports"]),
            "repository": self.repository,
            "place": place,
            "resource": resource,
        }

    def page(self, path: str, template: str = "", /, **values: Any) -> str:
        """The text of the page at `path`, by the template of that name unless another is named."""
        chosen = self._environment.get_template(f"{template or path}.jinja")
        links = {
            "source": partial(source_address, self.repository),
            "to": partial(address, path),
        }
        return chosen.render(**self._shared, **values, **links)


@dataclass(frozen=True, slots=True)
class Size:
    """One section: its name, its row, how many records it has, the least hardware among them."""

    name: str
    record: Record
    count: int
    least: str

    @property
    def path(self) -> str:
        """Its page, relative to the folder of pages."""
        return f"sizes/{self.name.lower()}.md"

    @property
    def url(self) -> str:
        """Its page, relative to the root of the site."""
        return page_url(self.path)


@lru_cache(maxsize=1)
def sizes(dataset: Dataset) -> tuple[Size, ...]:
    """All sections in their order; `least` is blank where a section has no record."""
    return tuple(_size(dataset, record) for record in dataset.records["sizes"])


def _size(dataset: Dataset, record: Record) -> Size:
    name = str(record["size"])
    rows = tuning_rows(dataset, name)
    least = min((row.resource for row in rows), key=_accelerators, default="")
    return Size(name, record, len(rows), least)


def _accelerators(resource: str) -> int:
    return int(resource.partition("*")[0])


@dataclass(frozen=True, slots=True)
class Piece:
    """Text with, perhaps, the address that it links to: on the web, or below the site's root."""

    text: str
    address: str = ""
    title: str = ""

    @property
    def external(self) -> bool:
        """Whether the address leads away from the site."""
        return is_web_address(self.address)


@dataclass(frozen=True, slots=True)
class Fact:
    """One filled cell with the column it stands in."""

    field: Field
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one table under one heading, with the columns that any of them fills."""

    id: str
    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[str, tuple[tuple[Piece, ...], ...]], ...]


def _sections(dataset: Dataset, resource: str, group: str) -> list[Section]:
    titles = dict.fromkeys(str(row[group]) for row in dataset.records[resource])
    return [_section(dataset, resource, group, title) for title in titles]


def _section(dataset: Dataset, resource: str, group: str, title: str) -> Section:
    schema = dataset.package.resources[resource].schema
    rows = [row for row in dataset.records[resource] if row[group] == title]
    fields = tuple(
        field
        for field in schema.fields
        if field.name != group and any(row[field.name] is not None for row in rows)
    )
    return Section(
        slug(title),
        title,
        fields,
        tuple(
            (anchor(schema, row), tuple(pieces(dataset, schema, field, row) for field in fields))
            for row in rows
        ),
    )


def _files(dataset: Dataset, files: Sequence[Download], address: str) -> Mapping[str, Any]:
    return {
        "rows": {name: len(rows) for name, rows in dataset.records.items()},
        "formats": [(name, list(found)) for name, found in groupby(files, attrgetter("format"))],
        "structured": embedded(metadata.data_page(dataset.package, files, address)),
    }


def _tables(dataset: Dataset) -> list[Mapping[str, Any]]:
    return [
        {
            "resource": resource,
            "count": len(dataset.records[name]),
            "columns": columns(resource),
            "document": "records" if name == "tuning" else name,
        }
        for name, resource in dataset.package.resources.items()
    ]


def facts(dataset: Dataset, resource: Resource, record: Record) -> list[Fact]:
    """The filled cells of a row, in the order of the columns."""
    schema = resource.schema
    return [
        Fact(field, pieces(dataset, schema, field, record))
        for field in schema.fields
        if record[field.name] is not None
    ]


def pieces(
    dataset: Dataset, schema: TableSchema, field: Field, record: Record
) -> tuple[Piece, ...]:
    """A cell as text and links; a cell that is a web address as a whole links there."""
    value = record[field.name]
    if value is None:
        return ()
    if isinstance(value, tuple) and all(map(is_web_address, value)):
        return tuple(Piece(str(place), url, url) for place, url in enumerate(value, start=1))
    text = field.write(value)
    if is_web_address(text):
        return (Piece(text, text),)
    key = schema.foreign_key(field.name)
    return (Piece(text, _row_address(dataset, key.resource, text) if key else ""),)


def _row_address(dataset: Dataset, resource: str, key: str) -> str:
    """Where more is said about a row of another table: its page here, or its own link."""
    row = dataset.by_key.get(resource, {}).get(key)
    if row is None:
        return ""
    if resource in _PAGE_OF_TABLE:
        schema = dataset.package.resources[resource].schema
        return f"{_PAGE_OF_TABLE[resource]}/#{quote(anchor(schema, row))}"
    link = row.get("link")
    return link if isinstance(link, str) and is_web_address(link) else ""


def anchor(schema: TableSchema, record: Record) -> str:
    """The id of a row on its page."""
    return f"row-{slug(str(record[schema.primary_key[0]]))}"


def slug(text: str) -> str:
    """A text as part of an address."""
    return re.sub(r"[^a-z0-9.-]+", "-", text.lower())


def place(row: Configuration) -> str:
    """The page of a record or report, below the site's root."""
    if row.kind == "record":
        return f"records/{row.id}/"
    return f"reports/{slug(row.size or 'Unknown size')}/#{row.id}"


def page_url(path: str) -> str:
    """The address of a page below the site's root: `sizes/7b.md` has `sizes/7b/`."""
    stem = path.removesuffix(".md")
    return stem.removesuffix("index") if PurePosixPath(stem).name == "index" else f"{stem}/"


def address(page: str, target: str) -> str:
    """`target`, a path below the site's root, as it is written in a link on `page`."""
    path, mark, fragment = target.partition("#")
    relative = posixpath.relpath(f"/{path}", f"/{page_url(page)}")
    closing = "/" if path.endswith("/") or not path else ""
    return f"{quote(relative)}{closing}{mark}{fragment}"


def source_address(repository_url: str | None, path: str) -> str:
    """Where a file of the repository can be read; blank where nobody knows."""
    if repository_url is None or not is_web_address(repository_url):
        return ""
    return f"{repository_url.rstrip('/')}/blob/HEAD/{quote(path)}"


@cache  # a changed template is still seen: Jinja2 compares its time
def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    own = (visible, in_bytes, front_matter, markdown, fenced, coded, breakable, heading, labelled)
    environment.tests["web_address"] = is_web_address
    environment.filters |= {filter_.__name__: filter_ for filter_ in own}
    return environment


def embedded(value: Mapping[str, Any]) -> Markup:
    """JSON for a `script` element, which no text in it can end."""
    return Markup(json.dumps(value, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704


def in_bytes(length: int) -> str:
    """A length for readers, to two or three digits."""
    for power, unit in ((6, "MB"), (3, "kB")):
        if length >= 10**power:
            figure = length / 10**power
            return f"{figure:.1f} {unit}" if figure < 10 else f"{figure:.0f} {unit}"
    return f"{length} B"


def visible(text: str) -> str:
    """The text with a replacement character for each character that XML and YAML may refuse."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def front_matter(text: str) -> Markup:
    """A YAML string of HTML text: themes put titles and descriptions into pages unescaped."""
    return Markup(json.dumps(html.escape(visible(text)), ensure_ascii=False))  # noqa: S704


def markdown(text: str) -> Markup:
    """One line of Markdown that shows `text` as it is."""
    return Markup(escape(" ".join(text.split())))  # noqa: S704 (`escape` has left no markup)


def fenced(text: str, language: str = "") -> Markup:
    """A code block that nothing in `text` can end, because its fence is longer than any in it.

    `language` is a word, or attributes in braces.
    """
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    closing = "" if text.endswith("\n") else "\n"
    return Markup(f"{fence}{language}\n{text}{closing}{fence}\n")  # noqa: S704


def coded(text: str) -> Markup:
    """HTML of a schema's sentence, in which backticks enclose code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 and place < len(parts) - 1 else part
        for place, part in enumerate(parts)
    )


def breakable(text: str) -> Markup:
    """HTML of a long name that may be broken after each `_` and `/`."""
    return Markup("/<wbr>").join(Markup("_<wbr>").join(part.split("_")) for part in text.split("/"))


def heading(field: Field) -> str:
    """A column's title with its unit."""
    return f"{field.title} ({field.unit})" if field.unit else field.title
