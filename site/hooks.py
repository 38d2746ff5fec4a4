"""MkDocs asks here for everything that is generated from the data.

In a build a mistake in the data ends it before anything is written. Under `mkdocs serve` the server
lives on: it shows the last good pages, each under what is wrong, until the data are mended.
"""

from __future__ import annotations

import html
import logging
import re
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from rl_resources import publish
from rl_resources.build import FINDINGS, MARK, UNKNOWN_DAY, judge
from rl_resources.site.errors import error_as_text
from rl_resources.site.policy import content_security_policy
from rl_resources.site.styles import classes_of_page, one_sheet, words_of_script

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# The theme's style sheets and ours in one file.
SHEET = "assets/stylesheets/all.css"
THEME_SHEETS = "assets/stylesheets/*.min.css"
WATCHED = ("records", "schema", "examples", "site/templates", "site/assets")

_TABLE = re.compile(r"^<(table|figure)\b.*?^</\1>$", re.M | re.S)
_CODE = re.compile(r"^(?:```|~~~)", re.M)

# MkDocs loads this file once a process, so what is kept here outlives the rebuilds of a server.
_session = SimpleNamespace(
    serving=False,
    files={},
    pages=set(),
    others=dict,
    complete=True,
    writing=Lock(),
    mistakes="",
    tables=[],
    sheets=[],
    classes=set(),
)


def on_startup(*, command: str, **_: Any) -> None:
    """Learn whether a server must be kept alive, and forget other builds of this process."""
    _session.serving = command == "serve"
    _session.classes = set()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name one style sheet for all; a preview, which has to show edits of each, keeps them."""
    if not _session.serving:
        _session.sheets = config.extra_css
        config.extra_css = [SHEET]
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Check and render before MkDocs empties the folder of the last build."""
    root = Path(config.config_file_path).parent
    with _session.writing:
        _session.complete = True  # as long as there is nothing that it could be completed to
    try:
        config.extra[FINDINGS] = judge(root)
        _session.files, _session.others = _parts(root)
        _session.mistakes = ""
    except Exception as error:  # whatever is wrong, a server must live on to show it
        _session.mistakes = error_as_text(error)
        if not _session.serving:
            raise PluginError(f"nothing was built\n{_session.mistakes}") from error
        sys.stderr.write(_session.mistakes)


def _parts(root: Path) -> publish.Parts:
    return publish.preview(root) if _session.serving else publish.Parts(publish.render(root), dict)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated files; while there are none, a placeholder for each page of the menu."""
    generated = _session.files or _placeholders(files, config)
    if not _session.files:
        links = config.validation.links
        links.not_found = links.anchors = logging.DEBUG  # what is not there yet is no mistake
    _session.pages = {path for path, content in generated.items() if _is_page(path, content)}
    if not _session.serving:
        _put_in_place(generated, config, files)
    for path, content in generated.items():
        if not _published_as_it_is(path, content):
            files.append(File.generated(config, path, content=content))
    return files


def _put_in_place(generated: dict[str, str | bytes], config: MkDocsConfig, files: Files) -> None:
    """Write what is no page and let go of it: of many records it takes more memory than the pages.

    MkDocs, which has emptied the folder by now, learns of the files and need not copy them.
    """
    folder = Path(config.site_dir)
    for path in generated.keys() - _session.pages:
        content = generated.pop(path)
        publish.write(folder, {path: content})
        if not _published_as_it_is(path, content):
            file = File.generated(config, path, abs_src_path=str(folder / path))
            file.copy_file = lambda dirty=False: None  # type: ignore[method-assign]
            files.append(file)


def _is_page(path: str, content: str | bytes) -> bool:
    return isinstance(content, str) and path.endswith(".md")


def _published_as_it_is(path: str, content: str | bytes) -> bool:
    """Whether MkDocs would take the file for a page, which it is not: `on_post_build` writes it."""
    return isinstance(content, bytes) and path.endswith(".md")


def _placeholders(files: Files, config: MkDocsConfig) -> dict[str, str | bytes]:
    pages = {path: title for item in config.nav or [] for title, path in item.items()}
    return {
        path: f"# {title}\n\nThis page comes with the data, which cannot be shown yet.\n"
        for path, title in pages.items()
        if files.get_file_from_path(path) is None
    }


def on_env(env: Environment, **_: Any) -> Environment:
    """Give the templates what they ask for."""
    env.filters["content_security_policy"] = partial(
        content_security_policy, any_inline=_session.serving
    )
    env.globals["sheets_stay_apart"] = _session.serving
    return env


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Keep tables from Markdown, which would read through them and give them back as they are.

    In generated pages alone, whose cells are escaped, and before the first code shown as written.
    """
    _session.tables = []
    if page.file.src_uri not in _session.pages:
        return markdown
    code = _CODE.search(markdown)
    end = code.start() if code else len(markdown)
    return _TABLE.sub(_cut, markdown[:end]) + markdown[end:]


def _cut(table: re.Match[str]) -> str:
    _session.tables.append(table[0])
    return _place(len(_session.tables) - 1)


def _place(number: int) -> str:
    return f'<div data-table="{number}"></div>'


def on_page_content(content: str, page: Page, **_: Any) -> str:
    """Put the tables back, and what is wrong with the data before the text of every page."""
    if not _session.serving:
        _let_go(page)
    for number, table in enumerate(_session.tables):
        content = content.replace(_place(number), table, 1)
    return _box(_session.mistakes) + content if _session.mistakes else content


def _let_go(page: Page) -> None:
    """Hold no longer the Markdown of a page that has been read, in a build that reads it once."""
    page.markdown = ""
    if page.file.src_uri in _session.pages:
        _session.files.pop(page.file.src_uri, None)
        page.file.content_string = ""


def _box(mistakes: str) -> str:
    return (
        '<div class="admonition failure mistakes" role="alert">'
        '<p class="admonition-title">These pages are older than the data, which have mistakes</p>'
        f"<pre>{html.escape(mistakes)}</pre></div>"
    )


def on_post_page(output: str, page: Page, **_: Any) -> None:
    """Keep what style sheets are for, and of a page that is written nothing else."""
    if not _session.serving:
        _session.classes |= classes_of_page(output)
        page.content = None


def on_post_template(output_content: str, **_: Any) -> str:
    """Keep what style sheets are for, and tell no day in the site map that nobody knows."""
    if not _session.serving:
        _session.classes |= classes_of_page(output_content)
    return output_content.replace(f"<lastmod>{UNKNOWN_DAY}</lastmod>", "")


def on_post_build(config: MkDocsConfig) -> None:
    """Write what is no page, and mark the folder as one that may be replaced, whoever built it."""
    folder = Path(config.site_dir)
    (folder / MARK).touch()
    publish.write(folder, {k: v for k, v in _session.files.items() if _published_as_it_is(k, v)})
    _session.complete = not _session.serving
    if not _session.serving:
        _join_sheets(folder)


def _join_sheets(folder: Path) -> None:
    scripts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.js"))
    used = _session.classes.union(*map(words_of_script, scripts))
    parts = [*sorted(folder.glob(THEME_SHEETS)), *(folder / name for name in _session.sheets)]
    sheet = one_sheet([part.read_text(encoding="utf-8") for part in parts], used)
    for part in (*parts, *folder.glob(THEME_SHEETS + ".map")):
        part.unlink()
    (folder / SHEET).write_text(sheet, encoding="utf-8")


def on_serve(server: LiveReloadServer, config: MkDocsConfig, **_: Any) -> LiveReloadServer:
    """Rebuild when data, schemas, scripts, templates or assets change."""
    root = Path(config.config_file_path).parent
    # A watch on datapackage.json itself would end when git or an editor replaces the file.
    server.watch(str(root), recursive=False)
    for folder in WATCHED:
        if (root / folder).is_dir():
            server.watch(str(root / folder))
    server.set_app(_completing(server.get_app(), Path(config.site_dir)))
    return server


def _completing(app: WSGIApplication, folder: Path) -> WSGIApplication:
    """Make what no page shows when somebody first asks for a file that is not there."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        heads: list[Any] = []

        def note(*head: Any) -> Any:
            heads.append(head)

        body = app(environ, note)
        if heads[-1][0].startswith("404") and _complete(folder):
            body = app(environ, note)
        start_response(*heads[-1])
        return body

    return answer


def _complete(folder: Path) -> bool:
    """Write what no page shows, and say whether it was not there."""
    with _session.writing:
        if _session.complete:
            return False
        publish.write(folder, _session.others())
        _session.complete = True
        return True
