"""Everything that is published, from a root to files: the one place where renderings meet."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path

import yaml

from rl_resources.check import FAMILIES
from rl_resources.dataset import Dataset, read_dataset, script_path
from rl_resources.errors import InvalidOutput
from rl_resources.git import Repository, line_times, read_repository, utc
from rl_resources.package import Record, read_package
from rl_resources.site import api, finder, javascript, pages, record_page, rst
from rl_resources.site.downloads import BASE, downloads
from rl_resources.site.environment import Site

Files = dict[str, str | bytes]
FEED = "feeds/all.xml"
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")


def render(root: Path, repository: Repository | None = None) -> Files:
    """All generated files by path: Markdown pages, JSON with schemas, RST, scripts, downloads.

    Text in a file named `.md` is a page. Bytes are published as they are, whatever their name.
    `repository` is what git says of `root` unless it is given.

    All rules hold at `root`: an id that broke them might lead out of the site's directory. Raises
    `InvalidDataset`, `UnreadableDataset`, and `InvalidOutput` where a page has no title or
    description.
    """
    dataset = read_dataset(read_package(root))
    repository = repository or read_repository(root)
    site = Site(dataset, repository.url, site_url())
    scripts = _scripts(root, dataset)
    downloaded = list(downloads(site))
    tuning = dataset.package.resources["tuning"]
    files: Files = {
        **pages.pages(site, downloaded),
        "rules/index.md": site.page("rules/index.md", "rules.md", families=FAMILIES),
        **record_page.pages(site, scripts, repository),
        **{f"{api.SCRIPTS}/{name}": text for name, text in scripts.items()},
        **record_page.badges(dataset),
        **finder.files(site),
        **javascript.files(),
        **rst.files(dataset, repository.script_url()),
        **{f"{BASE}/{item.name}": item.content for item in downloaded},
        FEED: feed(site, line_times(root, tuning.path)),
    }
    by_hand = root / "site/pages"
    files["llms.txt"] = _llms_txt(site, files, by_hand)
    documents = api.documents(dataset, repository, files)
    return files | api.files(dataset, site.site_url, documents)


def _scripts(root: Path, dataset: Dataset) -> dict[str, str]:
    """The text of each record's script by its file name, with its ends of lines."""
    texts: dict[str, str] = {}
    for row in dataset.records["tuning"]:
        name = str(row["script"])
        path = root / script_path(dataset, row)
        texts[name] = path.read_bytes().decode()
    return texts


def _llms_txt(site: Site, files: Files, by_hand: Path) -> str:
    """Where assistants find the data, by the form of https://llmstxt.org."""
    texts = {path: str(text) for path, text in files.items() if path.endswith(".md")}
    for page in by_hand.glob("*.md"):
        texts[page.name] = page.read_text("utf-8")
    front_matter = {}
    for path, text in sorted(texts.items()):
        folder, _, name = path.rpartition("/")
        if folder and name != "index.md":
            continue
        url = path.replace("index.md", "").replace(".md", "/")
        front_matter[url] = _front_matter(path, text)
    return site.page("index.md", "llms.txt", pages=front_matter)


def _front_matter(path: str, text: str) -> Mapping[str, str]:
    """What a page says of itself above its text. Raises `InvalidOutput`."""
    _, _, below = text.partition("---\n")
    head, _, _ = below.partition("---\n")
    try:
        page = yaml.safe_load(head)
    except yaml.YAMLError:
        page = None
    if not isinstance(page, dict) or not page.keys() >= {"title", "description"}:
        raise InvalidOutput(
            f"site/pages/{path}: has no front matter with a title and a description",
            "Begin it with `---`, `title: …`, `description: …` and `---`, each on a line.",
        )
    return page


def feed(site: Site, times: Mapping[int, int]) -> str:
    """The Atom feed of all records (RFC 4287), the latest change first.

    `times` says when each line of their table was last written, in seconds since 1970, by line from
    1. A record of any other line changed on the day of the release. An entry keeps its id.
    """
    released = f"{site.dataset.package.created}T00:00:00Z"
    entries: list[tuple[str, Record]] = []
    rows = site.dataset.records["tuning"]
    for line, row in enumerate(rows, start=2):
        time = times.get(line)
        changed = released if time is None else utc(time)
        entries.append((changed, row))
    entries.sort(key=itemgetter(0), reverse=True)
    return site.page(
        FEED,
        entries=entries,
        released=released,
        record_id=api.record_id,
        urn=_urn,
    )


def _urn(name: str) -> str:
    return uuid.uuid5(_NAMESPACE, name).urn


def site_url() -> str | None:
    """Where the site is published, with a closing slash, from `SITE_URL` in the environment.

    `None` where that is no URL. MkDocs reads the same variable.
    """
    url = os.environ.get("SITE_URL", "")
    if not url.startswith(("https://", "http://")):
        return None
    return f"{url.rstrip('/')}/"
