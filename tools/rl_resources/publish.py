"""Everything that is published, from a root to files: the one place where renderings meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES
from rl_resources.check.subject import FRAMEWORK, script_text
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import InvalidDataset, InvalidOutput
from rl_resources.finding import Finding
from rl_resources.git import Repository, line_times, read_repository
from rl_resources.package import Record, read_package
from rl_resources.regular import read_regular
from rl_resources.revision import Release, read_releases
from rl_resources.rules import FAMILIES, rules_by_family
from rl_resources.site import (
    api,
    assistants,
    charts,
    coverage_page,
    feed,
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
from rl_resources.site.downloads import downloads
from rl_resources.urls import site_url as read_site_url

PAGES = "site/pages"


Files = dict[str, str | bytes]


class Parts(NamedTuple):
    """What the pages show, and what makes all else that is published."""

    shown: Files
    fetched: Callable[[], Files]


@dataclass(frozen=True, slots=True)
class _Source:
    """All that the published files follow from. `address` is blank where nobody knows it."""

    root: Path
    dataset: Dataset
    scripts: Mapping[str, str]
    repository: Repository
    address: str
    releases: Sequence[Release]

    def shown(self) -> Files:
        """The pages, with the files that they show or tell the size of."""
        repository, address = self.repository, self.address or None
        return _within(render_dataset(self.dataset, self.scripts, repository, address))

    def fetched(self, shown: Files, *, hold: bool) -> Files:
        """What programs, readers of feeds and assistants fetch."""
        dataset, time = self.dataset, self.repository.commit_time
        paths = {name: dataset.package.resources[name].path for name in ("tuning", "moved")}
        times = {name: line_times(self.root, path) for name, path in paths.items()}
        found: Files = {feed.PATH: feed.feed(dataset, times, self.address)}
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


def preview(root: Path) -> Parts:
    """What `render` gives for who edits, and asks for what no page shows seldom.

    No JSON is held to its schema.
    """
    source = _source(root)
    shown = source.shown()
    return Parts(shown, partial(source.fetched, shown, hold=False))


def write(folder: Path, files: Files) -> None:
    """Write files below a folder, text as UTF-8."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def _within(files: Files) -> Files:
    for path in files:
        # The strictest reading of a path: its drives and both of its slashes.
        pure = PureWindowsPath(path)
        if pure.anchor or ".." in pure.parts:
            raise InvalidOutput(f"{path!r} would not lie in the folder of the site")
    return files


def _source(root: Path) -> _Source:
    dataset = read_dataset(read_package(root))
    texts, repository = _script_texts(root, dataset), read_repository(root)
    return _Source(root, dataset, texts, repository, read_site_url() or "", read_releases(root))


def render_dataset(
    dataset: Dataset,
    scripts: Mapping[str, str],
    repository: Repository,
    site_url: str | None = None,
) -> Files:
    """All but the JSON, from values alone. `scripts` maps the name of a script to its text.

    Where the `site_url` is unknown, what is meant for other pages is relative.
    """
    told, url = _tells(dataset, scripts), repository.url
    pages = {
        **size_page.pages(dataset, url, site_url),
        **record_page.pages(dataset, scripts, told, repository, site_url),
        **record_page.files(dataset, scripts),
        **front.pages(dataset, url),
        **reports.pages(dataset, url, site_url),
        **coverage_page.pages(dataset, url),
        **charts.pages(dataset, url),
        **rules.pages(dataset, url, FAMILIES, rules_by_family()),
        **finder.files(dataset),
        **_rst_files(dataset, repository.script_url()),
    }
    files = downloads(dataset, site_url or "")
    of_tables = site.pages(dataset, url, files, site_url)
    return {**of_tables, **pages, **{item.path: item.content for item in files}}


def _tells(dataset: Dataset, scripts: Mapping[str, str]) -> record_page.Tells:
    """What is told of a script whose framework's configuration is known."""

    def told(record: Record) -> record_page.Told | None:
        if record["framework"] != FRAMEWORK:
            return None
        text = scripts[str(record["script"])]
        run = script_text(script_path(dataset, record), text).run
        return record_page.told(run, text) if run else None

    return told


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
