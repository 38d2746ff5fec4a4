"""Helpers for tests of the site: the tables of a checkout, its site and a page in a browser."""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urljoin, urlsplit

from lxml import html
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

ROOT = Path(__file__).parents[1]


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by column."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def compressed_bytes(path: Path) -> int:
    """The size of a file as it is sent."""
    return len(gzip.compress(path.read_bytes()))


SEARCHED = [row["script"] for row in read_rows(ROOT / "records/trials.csv")]
RECORD = next(name for name in SEARCHED if "-7b-" in name).removesuffix(".sh")
"""A record of a 7B model whose largest batch was searched."""
MENU = re.findall(
    r"^  - [^:]+: (.+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
)


def address_of(name: str) -> str:
    """Where a page of the menu is, by its name there."""
    folder = name.removesuffix("index").rstrip("/")
    return f"/{folder}/".replace("//", "/")


PAGES = (
    *map(address_of, MENU),
    "/sizes/7b/",
    "/sizes/405b/",
    f"/records/{RECORD}/",
    "/models/qwen2-7b-instruct/",
    "/devices/h100/",
    "/frameworks/verl/",
    "/sizes/",
    "/rules/",
    "/reports/7b/",
    "/estimate/accuracy/",
    "/estimate/formula/",
    "/404.html",
)
"""Those of the menu, and one of each other kind."""


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def end_headers(self) -> None:
        """Let pages of any origin read the reply, as public static hosts do."""
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine; gives its URL without a closing slash."""
    handler = partial(_Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def visited(
    browser: Browser,
    address: str,
    width: int = 1280,
    colors: Literal["light", "dark"] = "light",
    *,
    fails: bool = False,
) -> Iterator[Page]:
    """Open a page, on which nothing may go wrong in the end unless the test lets requests fail."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=colors
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    wrong = []
    origin = "/".join(address.split("/")[:3])
    page.on("console", lambda message: _note_message(wrong, message))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("requestfailed", lambda request: _note_failed(wrong, request))
    page.on("request", lambda request: _note_foreign(wrong, request.url, origin))
    page.on("response", lambda reply: _note_status(wrong, reply.url, reply.status))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    yield page
    context.close()
    assert fails or not wrong, wrong


def _note_message(wrong: list[str], message: ConsoleMessage) -> None:
    if message.type == "error":
        wrong.append(message.text)


def _note_foreign(wrong: list[str], url: str, origin: str) -> None:
    if not url.startswith((f"{origin}/", "data:", "blob:")):
        wrong.append(f"leaves the origin: {url}")


def _note_failed(wrong: list[str], request: Request) -> None:
    """A request that was given up because the reader left the page is no failure."""
    if request.failure != "net::ERR_ABORTED":
        wrong.append(f"failed: {request.url}")


def _note_status(wrong: list[str], url: str, status: int) -> None:
    if status >= 400:
        wrong.append(f"{status}: {url}")


def query_of(page: Page) -> dict[str, str]:
    """The query of a page's URL by name."""
    url = urlsplit(page.url)
    return dict(parse_qsl(url.query))


def broken_links(site: Path) -> list[str]:
    """Page and target of every link inside a built site that leads to no file or no element.

    Links of templates have holes, which scripts fill.
    """
    trees = {}
    ids = {}
    for path in site.rglob("*.html"):
        if path.name != "404.html":
            trees[path] = html.parse(path)
            ids[path] = set(trees[path].xpath("//@id"))
    broken = []
    whole = "//*[not(ancestor::template)]"
    for path, tree in trees.items():
        here = "/" + path.relative_to(site).as_posix()
        for link in tree.xpath(f"{whole}/@href | {whole}/@src"):
            target = urlsplit(urljoin(here, link))
            if not _leads_somewhere(target, site, ids):
                broken += [f"{here}: {link}"]
    return broken


def _leads_somewhere(
    target: SplitResult, site: Path, ids: Mapping[Path, set[str]]
) -> bool:
    """Whether a link leads out of the site, or to a file and an element of that file."""
    if target.scheme or target.netloc:
        return True
    file = site / unquote(target.path).lstrip("/")
    if file.is_dir():
        file = file / "index.html"
    if not file.is_file():
        return False
    if not target.fragment:
        return True
    return unquote(target.fragment) in ids.get(file, set())


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """Write rows as a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def edit_row(root: Path, table: str, key: str, **cells: str) -> None:
    """Change cells of the row whose first cell is `key`."""
    path = root / "records" / f"{table}.csv"
    rows = read_rows(path)
    for row in rows:
        first, *_ = row.values()
        if first == key:
            row.update(cells)
            break
    else:
        raise AssertionError(f"no row of {table} begins with {key}")
    write_rows(path, rows)
