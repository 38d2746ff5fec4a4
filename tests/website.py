"""Helpers for tests of the site: a copy of the checkout, MkDocs on it, a page in a browser."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

from playwright.sync_api import Browser, Page, Request

ROOT = Path(__file__).parents[1]
SOURCES = ("datapackage.json", "mkdocs.yml", "records", "schema", "examples", "site")
MKDOCS = (sys.executable, "-m", "mkdocs")
# For data that no rule would let through: what is shown must be safe without the rules as well.
MKDOCS_WITHOUT_RULES = (
    sys.executable,
    "-c",
    "from rl_resources import check; check.check_root = lambda root, **_: [];"
    "from rl_resources.site import api_schema;"
    "api_schema.validate = lambda documents, schemas: None;"
    "from mkdocs.__main__ import cli; cli()",
)
PATIENCE_SECONDS = 60
RECORD = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm"
# One page of each kind.
PAGES = ("/", "/sizes/7b/", "/sizes/405b/", f"/records/{RECORD}/", "/models/", "/devices/")
PAGES += ("/data/", "/contributing/", "/rules/")
PAGES += ("/what-fits/", "/reports/", "/reports/7b/", "/coverage/", "/charts/")
PAGES += ("/recipes/", "/404.html")


def copy_checkout(target: Path) -> Path:
    """A checkout at `target` whose files may be changed."""
    target.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(ROOT / name, target / name)
    return target


def environment() -> Mapping[str, str]:
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "1700000000"}


def build_site(
    root: Path, target: Path, mkdocs: tuple[str, ...] = MKDOCS, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `mkdocs build` on the checkout at `root`, with `variables` in its environment."""
    command = [*mkdocs, "build", "--config-file", str(root / "mkdocs.yml"), "-d", str(target)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**environment(), **variables},
        check=False,
        cwd=root,
    )


class _Handler(SimpleHTTPRequestHandler):
    """Says nothing; sends files compressed where `sent` notes how many bytes that takes."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args: Any, sent: dict[str, int] | None, any_origin: bool, **more: Any):
        self._sent, self._any_origin = sent, any_origin
        super().__init__(*args, **more)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def end_headers(self) -> None:
        """Add what lets pages of any origin read the reply, as public static hosts do."""
        if self._any_origin:
            self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def do_GET(self) -> None:
        """Answer with the file, or with what any server says of one that is not there."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if self._sent is None or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        head = sum(map(len, self._headers_buffer))  # type: ignore[attr-defined]
        self._sent[self.path] = head + len(body)
        self.end_headers()
        self.wfile.write(body)
        return None


@contextmanager
def served(
    folder: Path, *, any_origin: bool = False, sent: dict[str, int] | None = None
) -> Iterator[str]:
    """Serve a folder on this machine; gives its URL without a closing slash.

    With `sent` files are compressed, and it gets the bytes sent for each path so far.
    """
    handler = partial(_Handler, directory=str(folder), any_origin=any_origin, sent=sent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def served_compressed(folder: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """The same compressed; gives the bytes sent too."""
    sent: dict[str, int] = {}
    with served(folder, sent=sent) as origin:
        yield origin, sent


@contextmanager
def visited(
    browser: Browser,
    address: str,
    width: int = 1280,
    colours: Literal["light", "dark"] = "light",
    until: Literal["load", "networkidle"] = "networkidle",
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page; gives it with a list that collects all that goes wrong on it."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=colours)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    wrong: list[str] = []
    origin = "/".join(address.split("/")[:3])
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("requestfailed", lambda request: _note_failed(wrong, request))
    page.on("request", lambda request: _note_foreign(wrong, request.url, origin))
    page.on("response", lambda reply: _note_status(wrong, reply.url, reply.status))
    page.goto(address)
    page.wait_for_load_state(until)
    yield page, wrong
    context.close()


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


@contextmanager
def mkdocs_serve(root: Path, log: Path) -> Iterator[str]:
    """Run `mkdocs serve` on the checkout at `root`; gives its address, and writes `log`."""
    port = _free_port()
    command = [*MKDOCS, "serve", "-f", str(root / "mkdocs.yml"), "-a", f"127.0.0.1:{port}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment(), cwd=root
        )
        try:
            address = f"http://127.0.0.1:{port}"
            seconds_until(lambda: read(f"{address}/") != "")
            yield address
            assert process.poll() is None, "the server has died"
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def read(address: str) -> str:
    """The text at an address; empty while there is none."""
    try:
        with urllib.request.urlopen(address, timeout=30) as reply:  # noqa: S310
            text: str = reply.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return ""
    return text


def seconds_until(condition: Callable[[], bool]) -> float:
    """Wait for a condition; fails when it does not come true."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < PATIENCE_SECONDS, "waited in vain"
        time.sleep(0.05)
    return time.monotonic() - start


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.targets += [found[name] or "" for name in ("href", "src") if name in found]
        self.ids |= {found["id"] or ""} if "id" in found else set()


def _links_of(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def broken_links(site: Path) -> list[str]:
    """Page and target of every link inside a built site that leads to no file or no element."""
    pages = {path: _links_of(path) for path in site.rglob("*.html") if path.name != "404.html"}
    broken = []
    for path, links in pages.items():
        here = "/" + path.relative_to(site).as_posix()
        for target in links.targets:
            whole = urlsplit(urljoin(here, target))
            if whole.scheme or whole.netloc:
                continue
            file = site / unquote(whole.path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            known = pages[file].ids if file in pages else set()
            if not file.is_file() or (whole.fragment and unquote(whole.fragment) not in known):
                broken.append(f"{here}: {target}")
    return broken


def edit_row(root: Path, table: str, key: str, **cells: str) -> None:
    """Change cells of the row whose first cell is `key`."""
    path = root / "records" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    next(row for row in rows if next(iter(row.values())) == key).update(cells)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def replace_in(path: Path, old: str, new: str) -> None:
    """Edit a file as an editor does."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
