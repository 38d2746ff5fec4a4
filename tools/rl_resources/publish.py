"""Everything that is published, from a root to files: the one place where renderings meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from rl_resources.cache import recalled
from rl_resources.check.registry import FAMILIES, rules_by_family
from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES
from rl_resources.check.subject import FRAMEWORK, script_text
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import InvalidDataset, InvalidOutput
from rl_resources.finding import Finding
from rl_resources.history import Release, read_history
from rl_resources.moments import moments
from rl_resources.package import Record, read_package
from rl_resources.regular import read_regular
from rl_resources.render import (
    api,
    assistants,
    coverage_page,
    feeds,
    finder,
    front,
    record_page,
    reports,
    rst,
    rules,
    site,
    size_page,
    validation,
)
from rl_resources.render.charts import page as charts
from rl_resources.render.downloads import Download, downloads
from rl_resources.render.kept import keeping
from rl_resources.render.record_page import path_of
from rl_resources.repository import Repository, read_repository, site_address

PAGES = "site/pages"


Files = dict[str, str | bytes]


Elsewhere = Callable[[], Sequence[Download]]
"""Gives the downloads that another process makes, which also writes the pages of records."""


class Parts(NamedTuple):
    """What the pages show, and what makes all else that is published, also in another process.

    Pages that come `late`, by their paths, are written elsewhere.
    """

    shown: Files
    fetched: Callable[[], Files]
    late: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """All that the published files follow from. `address` is blank where nobody knows it."""

    root: Path
    dataset: Dataset
    scripts: Mapping[str, str]
    repository: Repository
    address: str
    releases: Sequence[Release]

    def shown(self, elsewhere: Elsewhere | None = None) -> Files:
        """The pages, with the files that they show or tell the size of."""
        repository, address = self.repository, self.address or None
        return _within(render_dataset(self.dataset, self.scripts, repository, address, elsewhere))

    def late(self) -> list[str]:
        """The pages that are written elsewhere, in the order in which scripts are judged."""
        records = sorted(
            self.dataset.records["tuning"], key=lambda record: script_path(self.dataset, record)
        )
        return _paths_of(records)

    def fetched(self, shown: Files, *, hold: bool) -> Files:
        """What programs, readers of feeds and assistants fetch."""
        dataset, time = self.dataset, self.repository.commit_time
        unreleased = self.releases[0].since or () if self.releases else ()
        times = moments(self.root, dataset, unreleased)
        found: Files = dict(feeds.feeds(dataset, self.releases, times, time, self.address))
        publication = api.Publication(
            self.repository.commit, time, self.address, shown | found, self.releases
        )
        documents = api.documents(dataset, publication)
        if hold:
            validation.hold_to_schemas(documents, api.schemas(dataset))
        found |= assistants.files(dataset, self.address)
        found |= api.files(dataset, publication, documents)
        return _within(found)


def render(root: Path) -> Files:
    """All generated files by path: Markdown pages, JSON with schemas, RST, scripts, downloads.

    Text that is called `.md` is a page. Bytes are published as they are, whatever they are called.

    The JSON is held to the schemas that are published beside it. Raises `InvalidDataset`,
    `UnreadableDataset` and `InvalidOutput`. Nothing is written, and no path leaves the folder that
    it is to be written to, whether or not the rules have been asked.
    """
    source = _source(root)
    shown = source.shown()
    return shown | source.fetched(shown, hold=True)


def parts(root: Path, elsewhere: Elsewhere) -> Parts:
    """What `render` gives, where another process makes part of it."""
    source = _source(root)
    shown = source.shown(elsewhere)
    fetched = partial(source.fetched, shown, hold=True)
    return Parts(shown, fetched, source.late())


def preview(root: Path) -> Parts:
    """What `render` gives for who edits, and asks for what no page shows seldom.

    A page that follows from the same values as the last time is not rendered again, and no JSON is
    held to its schema.
    """
    source = _source(root)
    with keeping(root / site.TEMPLATES):
        shown = source.shown()
    return Parts(shown, partial(source.fetched, shown, hold=False))


def write(folder: Path, files: Files) -> None:
    """Write files below a folder, text as UTF-8."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def write_made(folder: Path, make: Callable[[], Files]) -> None:
    """Make files and write them: in a process of its own, nobody else has to hold them."""
    write(folder, make())


def _within(files: Files) -> Files:
    for path in files:
        # The strictest reading of a path: its drives and both of its slashes.
        pure = PureWindowsPath(path)
        if pure.anchor or ".." in pure.parts:
            raise InvalidOutput(f"{path!r} would not lie in the folder of the site")
    return files


def _paths_of(records: Sequence[Record]) -> list[str]:
    return list(_within(dict.fromkeys(map(path_of, records), "")))


def _source(root: Path) -> _Source:
    dataset = read_dataset(read_package(root))
    texts, repository = _script_texts(root, dataset), read_repository(root)
    return _Source(root, dataset, texts, repository, site_address() or "", read_history(root))


def render_dataset(
    dataset: Dataset,
    scripts: Mapping[str, str],
    repository: Repository,
    site_url: str | None = None,
    elsewhere: Elsewhere | None = None,
) -> Files:
    """All but the JSON, from values alone. `scripts` maps the name of a script to its text.

    Where the `site_url` is unknown, what is meant for other pages is relative. What is made
    `elsewhere` is left to it.
    """
    told, url = _tells(dataset, scripts), repository.url
    of_records = (
        record_page.moved(dataset, repository)
        if elsewhere
        else record_page.pages(dataset, scripts, told, repository, site_url)
    )
    pages = {
        **size_page.pages(dataset, url, site_url),
        **of_records,
        **record_page.files(dataset, scripts),
        **front.pages(dataset, url),
        **reports.pages(dataset, url, site_url),
        **coverage_page.pages(dataset, url),
        **charts.pages(dataset, url),
        **rules.pages(dataset, url, FAMILIES, rules_by_family()),
        **finder.files(dataset),
        **_rst_files(dataset, repository.script_url()),
    }
    # Asked for last: whoever makes them elsewhere has had time to.
    files = elsewhere() if elsewhere else downloads(dataset, site_url or "")
    of_tables = site.pages(dataset, url, files, site_url)
    return {**of_tables, **pages, **{item.path: item.content for item in files}}


def record_pages(dataset: Dataset) -> record_page.RecordPages:
    """The pages of records one by one, as `render` gives them, and refused as it does."""
    _paths_of(dataset.records["tuning"])
    root = dataset.package.root
    scripts, repository = _script_texts(root, dataset), read_repository(root)
    return record_page.RecordPages(
        dataset, scripts, _tells(dataset, scripts), repository, site_address()
    )


def _tells(dataset: Dataset, scripts: Mapping[str, str]) -> record_page.Tells:
    """What is told of a script whose framework's configuration is known."""

    def told(record: Record) -> record_page.Told | None:
        if record["framework"] != FRAMEWORK:
            return None
        return _told(script_path(dataset, record), scripts[str(record["script"])])

    return told


def _told(path: str, text: str) -> record_page.Told | None:
    """What is told of a script, which is read only when it is new."""

    def read() -> record_page.Told | None:
        run = script_text(path, text).run
        return record_page.told(run, text) if run else None

    return recalled("runs", (path, text), read)


def _rst_files(dataset: Dataset, script_url: str | None) -> dict[str, str]:
    sizes = [str(size["size"]) for size in dataset.records["sizes"]]
    return {
        "rst/device_tuning.rst": rst.device_tuning(dataset, script_url),
        **{f"rst/{size.lower()}.rst": rst.size_table(dataset, size, script_url) for size in sizes},
    }


def _script_texts(root: Path, dataset: Dataset) -> dict[str, str]:
    return {
        str(record["script"]): _script_text(root, script_path(dataset, record))
        for record in dataset.records["tuning"]
    }


def _script_text(root: Path, path: str) -> str:
    try:
        return read_regular(root / path, LARGEST_SCRIPT_BYTES).decode("utf-8")
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
    raise InvalidDataset(
        [Finding("script-text", "error", path, 1, 1, message, "Save it as UTF-8.")]
    )
