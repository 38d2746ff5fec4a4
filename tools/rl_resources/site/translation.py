"""A finished page in another language: its texts are replaced one by one, its markup stays.

What stands in one block is one message. `<p>The <a href="…">estimate</a> knows 96 runs.</p>` is
`The <1>estimate</1> knows {1} runs.` in the catalog: tags, numbers and names from the data are
holes, so a new record needs no new translation. A text without a translation stays as it is. So do
data, but for the words in them that the catalog has: `measured`, `8 rollouts per prompt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import join, normpath, relpath
from typing import Literal
from urllib.parse import urlsplit

from babel.messages.pofile import read_po

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of

LANGUAGE = "zh-CN"
FOLDER = "zh/"
"""Where its pages lie below the root of the site."""
CATALOG = PurePosixPath("site/locale/zh.po")
PAGES = ("", "estimate/", "sizes/", "records/", "contributing/")
"""The pages that exist in both languages, as URLs below the root of the site."""

_INLINE = re.compile(
    "a|abbr|b|br|code|em|i|kbd|mark|small|span|strong|sub|sup|svg|time"
)
_OPAQUE = re.compile("code|kbd|pre|script|style|svg|textarea")
"""Elements that are copied as they are."""
_WITHOUT_WORDS = re.compile(f"{_OPAQUE.pattern}|datalist|option")
_BETWEEN_WORDS = re.compile(r"(^\s+|\s+$|, | · )")
_COMMAS = {", ": "、"}
_NAMES = {
    "models": ("model", "slug"),
    "devices": ("device", "name"),
    "tasks": ("task", "title"),
    "frameworks": ("framework", "title"),
    "backends": ("backend", "title"),
    "sizes": ("size",),
}
"""The columns with names, which are the same in every language."""
_VOID = re.compile("br|col|hr|img|input|link|meta|wbr")
_SPOKEN = re.compile(r'(?<= )((?:alt|aria-label|placeholder|title)=)"([^"]*)"')
_DESCRIPTION = re.compile(r'(?<=<meta name="description" )(content=)"([^"]*)"')
_LINKED = re.compile(
    r'(?<= )((?:action|data-url|data-formula|data-words|href|src)=)"([^"]*)"'
)
_BASE = re.compile(r'(?:(?<=new URL\()|(?<="base": )|(?<="search": ))"([^"]*)"')
"""Where the theme's scripts name the root of the site, or a file below it."""
_HOLE = re.compile(r"</?\d+/?>|\{\w+\}|[&<>]")
_NUMBER = r"\d+(?:[.,]\d+)*(?: ?(?:GB|GiB|TB|[BKMT])\b)?"
_LETTERS = re.compile(r"[^\W\d_]{2}")


def translations(path: Path) -> dict[str, str]:
    """The translations of a catalog by message; without those that are missing or fuzzy.

    Raises `OSError` for a file that cannot be read.
    """
    with path.open("rb") as file:
        entries = read_po(file, locale="zh")
    known: dict[str, str] = {}
    for entry in entries:
        if entry.id and entry.string and not entry.fuzzy:
            known[str(entry.id)] = str(entry.string)
    return known


def url_of(url: str) -> str:
    """The Chinese URL of a page, or that of the front page if the page is in English only."""
    return FOLDER + (url if url in PAGES else "")


def names_of(dataset: Dataset) -> re.Pattern[str]:
    """A pattern of numbers and of names from the data, which stay the same in every language."""
    devices = devices_of(dataset)
    names = {device.label for device in devices.known.values()}
    for table, columns in _NAMES.items():
        for row in dataset.records[table]:
            for column in columns:
                _, _, name = str(row[column]).rpartition("/")
                names.add(name)
    longest_first = sorted(names, key=len, reverse=True)
    known = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<![\w.-])(?:{known})(?![\w-])|{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a block: text, a tag, or an element without one: a word of code, or a mark."""

    kind: Literal["text", "open", "close", "word", "mark"]
    html: str


class Message:
    """The text of a block as the catalog names it, with what its holes stand for."""

    def __init__(self, pieces: Iterable[Piece], names: re.Pattern[str]) -> None:
        self._holes: dict[str, str] = {}
        self._names = names
        self._words = 0
        text = "".join(self._parts(pieces))
        self.id = " ".join(text.split())

    def _parts(self, pieces: Iterable[Piece]) -> Iterator[str]:
        opened: list[int] = []
        for number, piece in enumerate(pieces, start=1):
            if piece.kind == "text":
                text = unescape(piece.html)
                yield self._names.sub(self._word, text)
                continue
            hole = f"<{number}/>"
            if piece.kind == "open":
                hole = f"<{number}>"
                opened.append(number)
            elif piece.kind == "close" and opened:
                hole = f"</{opened.pop()}>"
            self._holes[hole] = piece.html
            yield hole

    def _word(self, name: re.Match[str]) -> str:
        self._words += 1
        hole = f"{{{self._words}}}"
        self._holes[hole] = escape(name[0])
        return hole

    def filled(self, text: str) -> str:
        """A translation as HTML."""

        def html(hole: re.Match[str]) -> str:
            return self._holes.get(hole[0], escape(hole[0]))

        return _HOLE.sub(html, text)


class Translator(HTMLParser):
    """Reads a page of the site and writes it in the other language.

    `url` is the page below the site's root. After `feed` and `close`, `html` is the translated page
    and `messages` all that was looked up, translated or not.
    """

    def __init__(
        self, url: str, catalog: Mapping[str, str], names: re.Pattern[str]
    ) -> None:
        super().__init__(convert_charrefs=False)
        self.messages: list[str] = []
        self.moved_scripts: dict[str, str] = {}
        """Each inline script as it was, and as it is."""
        self._url = url
        self._catalog = catalog
        self._names = names
        self._written: list[str] = []
        self._block: list[Piece] = []
        self._whole: list[str] = []
        """The HTML of an element that is copied as a whole, while it is open."""
        self._open: list[str] = []
        """Its name, and those of the elements in it of the same name."""

    @property
    def html(self) -> str:
        """The translated page."""
        return "".join(self._written)

    def close(self) -> None:
        """Write the last block."""
        super().close()
        self._end_block()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an inline element; any other ends the block."""
        text = self._translated_tag(attrs)
        if self._open:
            self._whole.append(text)
            if tag == self._open[0]:
                self._open.append(tag)
        elif _OPAQUE.fullmatch(tag) or ("translate", "no") in attrs:
            self._whole = [text]
            self._open = [tag]
        elif _VOID.fullmatch(tag):
            self._add(tag, Piece("mark", text))
        else:
            self._add(tag, Piece("open", text))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an element that closes itself."""
        text = self._translated_tag(attrs)
        if self._open:
            self._whole.append(text)
        else:
            self._add(tag, Piece("mark", text))

    def handle_endtag(self, tag: str) -> None:
        """Collect the end of an inline element, or end the block."""
        text = f"</{tag}>"
        if not self._open:
            self._add(tag, Piece("close", text))
            return
        self._whole.append(text)
        if tag != self._open[0]:
            return
        self._open.pop()
        if self._open:
            return
        html = "".join(self._whole)
        if tag == "svg":
            self._add(tag, Piece("mark", html))
        else:
            self._add(tag, Piece("word", html))

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._open:
            self._block.append(Piece("text", data))
            return
        if self._open == ["script"]:
            script = data
            data = _BASE.sub(self._moved_base, script)
            self.moved_scripts[script] = data
        elif not _WITHOUT_WORDS.fullmatch(self._open[0]):
            data = self._said_of_list(data)
        self._whole.append(data)

    def _said_of_list(self, data: str) -> str:
        """The words of the data; with any in this language, so are the commas between them."""
        parts = _BETWEEN_WORDS.split(data)
        said = list(map(self._said, parts))
        if said == parts:
            return data
        return "".join(_COMMAS.get(part, part) for part in said)

    def _said(self, data: str) -> str:
        """A word of the data, in this language if the catalog has it."""
        if not _LETTERS.search(data):
            return data
        message = Message([Piece("text", data)], self._names)
        if self._catalog.get(message.id, message.id) == message.id:
            return data
        return f'<span lang="{LANGUAGE}">{self._translation(message)}</span>'

    def _moved_base(self, url: re.Match[str]) -> str:
        moved = self.moved(url[1], to_english=True)
        return f'"{moved}"'

    def handle_entityref(self, name: str) -> None:
        """Collect a character reference unchanged."""
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Collect a character reference unchanged."""
        self.handle_data(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Copy the document type."""
        self._written.append(f"<!{decl}>")

    def _add(self, tag: str, piece: Piece) -> None:
        if _INLINE.fullmatch(tag):
            self._block.append(piece)
            return
        self._end_block()
        self._written.append(piece.html)

    def _end_block(self) -> None:
        """Write the block, its text translated; what surrounds the text stays where it is."""
        text = _text_of(self._block)
        message = Message(self._block[text], self._names)
        written = [piece.html for piece in self._block]
        translation = self._translation(message)
        if translation:
            written[text] = [translation]
        self._written.extend(written)
        self._block.clear()

    def _translation(self, message: Message) -> str:
        words = _HOLE.sub("", message.id)
        if not _LETTERS.search(words):
            return ""
        self.messages.append(message.id)
        translation = self._catalog.get(message.id, "")
        return message.filled(translation)

    def _translated_tag(self, attrs: Iterable[tuple[str, str | None]]) -> str:
        """The tag with its texts translated, and with links as they are one folder further down."""
        attributes = dict(attrs)
        is_switch = "hreflang" in attributes

        def linked(link: re.Match[str]) -> str:
            moved = self.moved(link[2], to_english=is_switch)
            return f'{link[1]}"{moved}"'

        tag = self.get_starttag_text() or ""
        text = _LINKED.sub(linked, tag)
        if self._open or {"lang", "translate"} <= attributes.keys():
            return text
        if "translate" in attributes:
            return text.replace(' translate="no"', ' lang="en" translate="no"')
        text = _SPOKEN.sub(self._spoken, text)
        return _DESCRIPTION.sub(self._spoken, text)

    def _spoken(self, attribute: re.Match[str]) -> str:
        text = Piece("text", attribute[2])
        translation = self._translation(Message([text], self._names))
        if not translation:
            return attribute[0]
        quoted = translation.replace('"', "&quot;")
        return f'{attribute[1]}"{quoted}"'

    def moved(self, link: str, to_english: bool = False) -> str:
        """A link of the page as the translated page needs it: to a translated page where one is."""
        path, *_ = re.split("[?#]", link)
        is_elsewhere = path.startswith("/") or urlsplit(link).scheme
        if not path or is_elsewhere:
            return link
        joined = join(self._url, path)
        target = normpath(joined).lstrip(".")
        if _is_translated(target) and not to_english:
            target = FOLDER + target
        moved = relpath(target or ".", FOLDER + self._url)
        if path.endswith("/"):
            moved += "/"
        return moved + link.removeprefix(path)


def _is_translated(path: str) -> bool:
    return path in {page.removesuffix("/") for page in PAGES}


def _text_of(block: Sequence[Piece]) -> slice:
    """Where the text of a block begins and ends, without the tags that surround all of it."""
    first = 0
    last = len(block)
    while first < last and _is_around(block[first]):
        first += 1
    while first < last and _is_around(block[last - 1]):
        last -= 1
    # What opens before the text and closes in it belongs to it, and what closes after it.
    while first > 0 and _balance(block[first:last]) < 0:
        first -= 1
    while last < len(block) and _balance(block[first:last]) > 0:
        last += 1
    return slice(first, last)


def _is_around(piece: Piece) -> bool:
    return piece.kind not in {"text", "word"} or not piece.html.strip()


def _balance(pieces: Sequence[Piece]) -> int:
    """How many tags stay open, or below 0 how many close that were not opened."""
    kinds = [piece.kind for piece in pieces]
    return kinds.count("open") - kinds.count("close")
