"""MkDocs asks here for everything that is generated from the data.

In a build a mistake in the data ends it before anything is written. Under `mkdocs serve` the server
lives on and shows the last good pages, each below what is wrong, until the data are fixed.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import html
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import Environment
from material.plugins.search.plugin import SearchIndex
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from watchdog.observers.polling import PollingObserverVFS

from rl_resources import publish
from rl_resources.check import all_rules, check_root
from rl_resources.dataset import read_dataset
from rl_resources.errors import refuse_errors
from rl_resources.git import read_repository, utc
from rl_resources.package import read_package
from rl_resources.script_rules import shellcheck
from rl_resources.site import translation
from rl_resources.site.findings import error_as_text

_NO_ERRORS = {name for name, rule in all_rules().items() if rule.severity == "warning"}
# `check` has those, and exemptions from them without use. ShellCheck takes longer than all pages.
_NO_ERRORS |= shellcheck.RULES

_TABLE = re.compile(r"^<(table|figure)\b.*?^</\1>$", re.M | re.S)
_BLOCK = re.compile(r"^<(table|figure|div|details)\b.*?^</\1>$", re.M | re.S)
_HOLE = re.compile(r'<div data-table="([0-9]+)"></div>')
_CODE = re.compile(r"^(?:```|~~~)", re.M)
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)

_CONVERTED = ("content", "toc", "present_anchor_ids", "_title_from_render")
"""The attributes of a page that MkDocs sets when it converts its Markdown."""

# MkDocs loads this file once a process, so the session outlives the rebuilds of a server.
_session = SimpleNamespace(serving=False, files={}, mistakes="", pages={})
_session.frame = ()
_session.env = None


@dataclass
class _Built:
    """A page as it was built, from all that is its own.

    `tables` were cut out of its Markdown, `converted` is what the rest became, `found` what the
    search has of it.
    """

    source: Sequence[object]
    tables: Sequence[str]
    converted: Mapping[str, Any] = field(default_factory=dict)
    found: Sequence[object] | None = None
    html: str = ""
    translated: str = ""


class _Generated(File):
    """A generated file. A download in Markdown is no page of the site."""

    def is_documentation_page(self) -> bool:
        """Whether MkDocs makes a page of it."""
        return super().is_documentation_page() and not self.src_uri.startswith(
            "downloads/"
        )


def on_startup(*, command: str, **_: Any) -> None:
    """Note whether a server must live on."""
    _session.serving = command == "serve"


def on_serve(
    server: LiveReloadServer, config: MkDocsConfig, **_: Any
) -> LiveReloadServer:
    """Follow directories that are replaced as a whole: MkDocs' own observer forgets them.

    The back-test is watched here, because `watch` may name no directory that is not there.
    """
    watched = [config.docs_dir, config.config_file_path]
    for path in watched:
        server.unwatch(path)
    server.observer = PollingObserverVFS(_stat, os.scandir, polling_interval=0.25)
    backtest = Path(config.config_file_path).with_name("benchmarks")
    if backtest.is_dir():
        watched.append(str(backtest))
    for path in watched:
        server.watch(path)
    return server


def _stat(path: str) -> os.stat_result:
    """The state of a file; one that is gone may come back."""
    try:
        return os.stat(path)  # noqa: PTH116 (what the observer calls)
    except FileNotFoundError as error:
        raise OSError(errno.ESTALE, "is gone for now", path) from error


def on_pre_build(config: MkDocsConfig) -> None:
    """Check and render before MkDocs empties the directory of the last build."""
    root = Path(config.config_file_path).parent
    repository = read_repository(root)
    config.extra["repository"] = repository.url
    config.extra["updated"] = (
        utc(repository.commit_time or 0)[:10] if repository.commit_time else ""
    )
    try:
        refuse_errors(check_root(root, ignore=_NO_ERRORS))
        _session.files = publish.render(root, repository)
        _session.catalog = translation.translations(root / translation.CATALOG)
        _session.names = translation.names_of(read_dataset(read_package(root)))
        _session.mistakes = ""
    except Exception as error:  # whatever is wrong, a server must live on to show it
        if not _session.serving:
            raise
        _session.mistakes = error_as_text(error)
        if not _session.files:
            raise PluginError(f"nothing was built\n{_session.mistakes}") from error
        sys.stderr.write(_session.mistakes)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated files; build every page again where what all pages share is another."""
    frame = _frame(config)
    if frame != _session.frame:
        _session.pages = {}
        _session.env = None
    _session.frame = frame
    _keep_entries(config.plugins["material/search"].search_index)
    for path, content in _session.files.items():
        files.append(_Generated.generated(config, path, content=content))
    return files


def _keep_entries(index: SearchIndex) -> None:
    """Let the search read the text of a page only where the page changed."""
    read = index.add_entry_from_context

    def add(page: Page) -> None:
        built = _session.pages[page.file.src_uri]
        if built.found is None:
            before = len(index.entries)
            read(page)
            built.found = index.entries[before:]
        else:
            index.entries += built.found

    index.add_entry_from_context = add


def _frame(config: MkDocsConfig) -> Sequence[object]:
    """All that a page shows besides what is its own."""
    templates = sorted(Path(config.theme.custom_dir).rglob("*.html"))
    return (
        Path(config.config_file_path).read_bytes(),
        *map(Path.read_bytes, templates),
        dict(config.extra),
        _session.catalog,
        _session.names,
        _session.mistakes,
    )


def on_env(env: Environment, **_: Any) -> Environment:
    """Add what the main template needs: the policy of a page, its URL in the other language.

    A preview goes on with the templates that it has compiled.
    """
    if _session.serving and _session.env:
        return _session.env
    _session.env = env
    env.globals["as_built"] = env.from_string("{{ built }}")
    env.filters["script_sources"] = script_sources
    env.filters["other_language"] = translation.url_of
    env.globals["translated"] = translation.PAGES
    return env


def script_sources(frame: str) -> str:
    """What allows the inline scripts of `frame`, and no other, to run.

    `frame` is HTML of the theme alone, so a script in contributed text is not among its scripts. A
    preview allows all inline scripts: its server makes up one for each request, to reload the page.
    """
    if _session.serving:
        return "'unsafe-inline'"
    scripts = _INLINE_SCRIPT.findall(frame)
    return " ".join(map(_source, scripts))


def _source(script: str) -> str:
    """A script as a Content Security Policy names it: by its checksum."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Convert a page again only where its Markdown changed; take tables in HTML out of it.

    Markdown takes long to copy them as they are. Of a page that the search excludes, such as a
    record's, every block goes. Their texts are escaped. Code blocks may hold anything, so what
    follows the first one stays.
    """
    path = page.file.src_uri
    source = (markdown, page.meta)
    built = _session.pages.get(path)
    if _session.serving and built and built.source == source:
        vars(page)["render"] = lambda *_: vars(page).update(built.converted)
        return markdown
    tables: list[str] = []

    def cut(table: re.Match[str]) -> str:
        hole = f'<div data-table="{len(tables)}"></div>'
        tables.append(table[0])
        return hole

    excluded = page.meta.get("search", {}).get("exclude")
    blocks = _BLOCK if excluded else _TABLE
    code = _CODE.search(markdown)
    end = code.start() if code else len(markdown)
    _session.pages[path] = _Built(source, tables)
    return blocks.sub(cut, markdown[:end]) + markdown[end:]


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Keep what the Markdown of a page became: a preview builds only what an edit changed."""
    built = _session.pages[page.file.src_uri]
    built.converted = {name: vars(page)[name] for name in _CONVERTED}
    return html


@event_priority(-100)  # after the search, which indexes no table
def on_page_context(context: dict[str, Any], page: Page, **_: Any) -> dict[str, Any]:
    """Put the tables back, and in a preview the mistakes in the data above the text."""
    built = _session.pages[page.file.src_uri]
    if built.html:  # the main template extends this one
        context["built"] = built.html
        return context
    page.content = _HOLE.sub(lambda hole: built.tables[int(hole[1])], str(page.content))
    if _session.mistakes:
        page.content = (
            '<div class="admonition failure mistakes" role="alert" data-search-exclude>'
            '<p class="admonition-title">These pages are older than the data, which have mistakes'
            f"</p><pre>{html.escape(_session.mistakes)}</pre></div>{page.content}"
        )
    return context


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Keep the HTML of a page; write it in the other language, too."""
    built = _session.pages[page.file.src_uri]
    built.html = output
    if page.url not in translation.PAGES:
        return output
    url = translation.url_of(page.url)
    path = Path(config.site_dir, url, "index.html")
    if not built.translated:
        built.translated = _translated(output, page, config.site_url, url)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(built.translated, "utf-8")
    return output


def _translated(html: str, page: Page, site_url: str | None, url: str) -> str:
    """A page in the other language, where it has this URL below that of the site."""
    translator = translation.Translator(page.url, _session.catalog, _session.names)
    start = f'<html lang="{translation.LANGUAGE}"'
    translator.feed(html.replace('<html lang="en"', start))
    translator.close()
    text = translator.html
    for script, moved in translator.moved_scripts.items():
        text = text.replace(_source(script), _source(moved))
    if site_url:
        text = text.replace(f'"{page.canonical_url}"', f'"{site_url}{url}"')
    return text
