"""A server's rebuild makes only those pages anew whose source has changed.

MkDocs makes all of them again after every edit. Here a page with the source of the last rebuild is
put out as it was then: it is not read as Markdown, put into the theme's frame or searched for
words. What decides over every page (settings, theme) makes all anew; which files there are decides
over those written by hand, for only their links are resolved by MkDocs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import ChoiceLoader, DictLoader, Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import TableOfContents

from rl_resources.build import MISTAKES

FIRST, LAST = 100, -100
NOTHING = "nothing.html"


@dataclass(frozen=True)
class Kept:
    """A page as it was built from `source`; `links` are the anchors that it names by file."""

    source: str
    title: str | None
    meta: Mapping[str, Any]
    toc: TableOfContents
    anchors: set[str] | None
    links: Mapping[str, dict[str, str]]
    entries: Sequence[Mapping[str, Any]]
    output: str


# MkDocs loads this file once a process, so what is kept here outlives the rebuilds of a server.
_session = SimpleNamespace(
    serving=False, keeping=False, frame=(), names=set(), kept={}, entries=[], indexed=0
)


def on_startup(*, command: str, **_: Any) -> None:
    """A build that ends has no use for what is kept."""
    _session.serving = command == "serve"


@event_priority(LAST)
def on_files(files: Files, config: MkDocsConfig) -> None:
    """Forget the pages over which something decides that has changed.

    Pages under a box of mistakes are not kept; those from before stay for when it is gone.
    """
    _session.keeping = _session.serving and not config.extra.get(MISTAKES)
    if _session.keeping:
        frame, names = _frame(config), set(files.src_uris)
        if frame != _session.frame:
            _session.kept = {}
        elif names != _session.names:
            generated = {file.src_uri for file in files if file.generated_by}
            _session.kept = {uri: kept for uri, kept in _session.kept.items() if uri in generated}
        _session.frame, _session.names = frame, names
    search = config.plugins.get("material/search")
    _session.entries, _session.indexed = getattr(search, "search_index").entries, 0  # noqa: B009


def _frame(config: MkDocsConfig) -> tuple[str, ...]:
    overrides = Path(config.theme.custom_dir or ".").rglob("*.html")
    texts = [Path(config.config_file_path), *sorted(overrides)]
    return tuple(path.read_text(encoding="utf-8") for path in texts)


def on_pre_page(page: Page, files: Files, **_: Any) -> None:
    """Spare a kept page what MkDocs does to its source."""
    if kept := _kept(page):
        page.read_source = page.render = lambda *_: None  # type: ignore[method-assign]
        page.markdown = page.content = ""
        page.title, page.toc, page.present_anchor_ids = kept.title, kept.toc, kept.anchors
        page.meta = {**kept.meta, "template": NOTHING}
        found = {files.get_file_from_path(uri): links for uri, links in kept.links.items()}
        page.links_to_anchors = {file: links for file, links in found.items() if file}


def _kept(page: Page) -> Kept | None:
    kept = _session.kept.get(page.file.src_uri) if _session.keeping else None
    return kept if kept and kept.source == page.file.content_string else None


def on_env(env: Environment, **_: Any) -> Environment:
    """A template that writes nothing, for pages whose output is there already."""
    env.loader = ChoiceLoader([*filter(None, [env.loader]), DictLoader({NOTHING: ""})])
    return env


@event_priority(LAST)
def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Put out a kept page, with its words for the search, and keep a new one."""
    kept = _kept(page)
    if kept:
        _session.entries.extend(kept.entries)
    elif _session.keeping:
        _session.kept[page.file.src_uri] = _keep(page, output)
    _session.indexed = len(_session.entries)
    return kept.output if kept else output


def _keep(page: Page, output: str) -> Kept:
    links = {file.src_uri: told for file, told in (page.links_to_anchors or {}).items()}
    return Kept(
        source=page.file.content_string,
        title=page.title,
        meta=page.meta,
        toc=page.toc,
        anchors=page.present_anchor_ids,
        links=links,
        entries=_session.entries[_session.indexed :],
        output=output,
    )


def on_build_error(**_: Any) -> None:
    """Keep nothing of a rebuild that failed: what it warns of must be told again."""
    _session.kept = {}
