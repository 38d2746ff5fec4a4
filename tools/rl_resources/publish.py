"""Everything that is published, from a root to files: the one place where renderings meet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rl_resources.check.registry import FAMILIES, rules_by_family
from rl_resources.check.subject import FRAMEWORK, script_text
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import InvalidDataset
from rl_resources.finding import Finding
from rl_resources.history import read_history
from rl_resources.moments import moments
from rl_resources.package import read_package
from rl_resources.render import (
    api,
    assistants,
    coverage_page,
    embed,
    feeds,
    finder,
    front,
    record_page,
    reports,
    rst,
    rules,
    site,
    validation,
)
from rl_resources.render.charts import page as charts
from rl_resources.render.downloads import downloads
from rl_resources.repository import Repository, read_repository, site_address
from rl_resources.script.overrides import Run

PAGES = "site/pages"


def render(root: Path, *, preview: bool = False) -> dict[str, str | bytes]:
    """All generated files by path: Markdown pages, JSON with schemas, RST, scripts, downloads.

    Text that is called `.md` is a page. Bytes are published as they are, whatever they are called.

    The JSON is held to the schemas that are published beside it. A `preview` is spared that, and
    what only programs and assistants read.

    Raises `InvalidDataset`, `UnreadableDataset` and `InvalidOutput`. Nothing is written.
    """
    dataset = read_dataset(read_package(root))
    repository = read_repository(root)
    address = site_address()
    releases = read_history(root)
    found = render_dataset(dataset, _script_texts(root, dataset), repository, address)
    unreleased = releases[0].since or () if releases else ()
    times = moments(root, dataset, unreleased)
    found |= feeds.feeds(dataset, releases, times, repository.commit_time, address or "")
    found |= embed.files(dataset, address or "")
    publication = api.Publication(
        repository.commit, repository.commit_time, address or "", found, releases
    )
    documents = api.documents(dataset, publication)
    if not preview:
        validation.hold_to_schemas(documents, api.schemas(dataset))
        pages = {k: v for k, v in found.items() if isinstance(v, str) and k.endswith(".md")}
        found |= assistants.files(dataset, pages, _pages_by_hand(root), address or "")
    return found | api.files(dataset, publication, documents)


def render_dataset(
    dataset: Dataset,
    scripts: Mapping[str, str],
    repository: Repository,
    site_url: str | None = None,
) -> dict[str, str | bytes]:
    """All but the JSON, from values alone. `scripts` maps the name of a script to its text.

    Where the `site_url` is unknown, what is meant for other pages is relative.
    """
    files = downloads(dataset, site_url or "")
    return {
        **site.pages(dataset, repository.url, files, site_url),
        **record_page.pages(dataset, scripts, _runs(dataset, scripts), repository, site_url),
        **record_page.files(dataset, scripts),
        **front.pages(dataset, repository.url),
        **reports.pages(dataset, repository.url, site_url),
        **coverage_page.pages(dataset, repository.url),
        **charts.pages(dataset, repository.url),
        **rules.pages(dataset, repository.url, FAMILIES, rules_by_family()),
        **finder.files(dataset),
        **_rst_files(dataset, repository.script_url()),
        **{item.path: item.content for item in files},
    }


def _runs(dataset: Dataset, scripts: Mapping[str, str]) -> dict[str, Run]:
    """What the scripts do whose framework's configuration is known."""
    read = {
        str(record["script"]): script_text(
            script_path(dataset, record), scripts[str(record["script"])]
        ).run
        for record in dataset.records["tuning"]
        if record["framework"] == FRAMEWORK
    }
    return {name: run for name, run in read.items() if run}


def _rst_files(dataset: Dataset, script_url: str | None) -> dict[str, str]:
    sizes = [str(size["size"]) for size in dataset.records["sizes"]]
    return {
        "rst/device_tuning.rst": rst.device_tuning(dataset, script_url),
        **{f"rst/{size.lower()}.rst": rst.size_table(dataset, size, script_url) for size in sizes},
    }


def _pages_by_hand(root: Path) -> dict[str, str]:
    folder = root / PAGES
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.md"))
    }


def _script_texts(root: Path, dataset: Dataset) -> dict[str, str]:
    return {
        str(record["script"]): _script_text(root, script_path(dataset, record))
        for record in dataset.records["tuning"]
    }


def _script_text(root: Path, path: str) -> str:
    try:
        return (root / path).read_bytes().decode("utf-8")
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
    raise InvalidDataset(
        [Finding("script-text", "error", path, 1, 1, message, "Save it as UTF-8.")]
    )
