"""Everything that is published, from a root to files: the one place where renderings meet."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path, PurePosixPath

import yaml

from rl_resources.check.registry import FAMILIES
from rl_resources.dataset import read_dataset, script_path
from rl_resources.errors import InvalidOutput
from rl_resources.git import Repository, line_times, read_repository, utc
from rl_resources.package import read_package
from rl_resources.site import api, finder, pages, record_page, rst
from rl_resources.site.downloads import BASE, downloads
from rl_resources.site.environment import Site

Files = dict[str, str | bytes]
FEED = "feeds/all.xml"
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")


def render(root: Path, repository: Repository | None = None) -> Files:
    """All generated files by path: Markdown pages, JSON with schemas, RST, scripts, downloads.

    Text in a file named `.md` is a page. Bytes are published as they are, whatever their name.
    `repository` is what git says of `root` unless it is given.

    Raises `InvalidDataset`, `UnreadableDataset`, and `InvalidOutput` where a path leads out of the
    site's directory: the rules may not have been asked.
    """
    dataset, repository = read_dataset(read_package(root)), repository or read_repository(root)
    site = Site(dataset, repository.url, site_url())
    paths = {str(row["script"]): script_path(dataset, row) for row in dataset.records["tuning"]}
    scripts = {name: (root / path).read_bytes().decode() for name, path in paths.items()}
    downloaded = [*downloads(site)]
    tuning = dataset.package.resources["tuning"]
    files: Files = {
        **pages.pages(site, downloaded),
        "rules/index.md": site.page("rules/index.md", "rules.md", families=FAMILIES),
        **record_page.pages(site, scripts, repository),
        **{f"{api.SCRIPTS}/{name}": text for name, text in scripts.items()},
        **record_page.badges(dataset),
        **finder.files(dataset),
        **rst.files(dataset, repository.script_url()),
        **{f"{BASE}/{item.name}": item.content for item in downloaded},
        FEED: feed(site, line_times(root, tuning.path)),
    }
    if outside := [path for path in files if ".." in PurePosixPath(path).parts]:
        raise InvalidOutput(f"{outside[0]}: leads out of the directory of the site")
    # Where assistants find the data, by the form of https://llmstxt.org.
    by_hand = {path.name: path.read_text("utf-8") for path in (root / "site/pages").glob("*.md")}
    files["llms.txt"] = site.page("index.md", "llms.txt", pages=_front_matter({**files, **by_hand}))
    documents = api.documents(dataset, repository, files)
    return files | api.files(dataset, site.site_url, documents)


def _front_matter(texts: Mapping[str, str | bytes]) -> Mapping[str, Mapping[str, str]]:
    """Title and description of each page of the menu, by its path on the site."""
    return {
        path.replace("index.md", "").replace(".md", "/"): yaml.safe_load(
            str(text).split("---\n")[1]
        )
        for path, text in sorted(texts.items())
        if "/" not in path and path.endswith(".md")
    }


def feed(site: Site, times: Mapping[int, int]) -> str:
    """The Atom feed of all records (RFC 4287), the latest change first.

    `times` says when each line of their table was last written, in seconds since 1970, by line from
    1; where it does not, that was the day of the release. An entry keeps its id.
    """
    released = f"{site.dataset.package.created}T00:00:00Z"
    entries = [
        (utc(times[line]) if line in times else released, row)
        for line, row in enumerate(site.dataset.records["tuning"], start=2)
    ]
    entries.sort(key=itemgetter(0), reverse=True)
    values = {"entries": entries, "released": released, "record_id": api.record_id}
    return site.page(FEED, FEED, **values, urn=lambda name: uuid.uuid5(_NAMESPACE, name).urn)


def site_url() -> str | None:
    """Where the site is published, with a closing slash, from `SITE_URL` in the environment.

    `None` where that is no URL. MkDocs reads the same variable.
    """
    url = os.environ.get("SITE_URL", "")
    return f"{url.rstrip('/')}/" if url.startswith(("https://", "http://")) else None
