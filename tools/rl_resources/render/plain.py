"""Our own pages as plain Markdown, for assistants and terminals: tables as tables, no markup.

Pages are Markdown with HTML blocks that templates wrote, so their tags are well formed and their
text is escaped; a reader for any HTML is not needed, and would take a hundred times as long. What
contributors wrote is escaped again on the way out: it makes no link, no markup and no table cell.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

PAGE = "index.html.md"
"""What the page at an address that ends in `/` is called as Markdown, by the llms.txt proposal."""

_TOKEN = re.compile(
    r"""(?=[<`~/\#])(?:  # how all of them begin, asked first since most letters are none of these
      ^(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??(?P=fence)[ ]*$
    | ^///(?:[ ]tab[ ]\|[ ](?P<tab>[^\n]+))?$
    | ^(?P<rank>\#{1,6})[ ](?P<heading>[^\n]*)$
    | <pre\b[^>]*>(?P<pre>.*?)</pre>
    | <(?P<skipped>nav|svg|script|style|template|form|select|button|dialog)\b.*?</(?P=skipped)>
    | <!--.*?-->
    | <(?P<cell>t[dh]|d[td])\b[^>]*>(?P<words>[^<]*)</(?P=cell)>
    | <(?P<close>/?)(?P<tag>[a-zA-Z][\w-]*)(?P<attributes>(?:[^>"]|"[^"]*")*)>
    )""",
    re.M | re.S | re.X,
)
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys and no page shows."""
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_HEADING_ID = re.compile(r"\s*\{[ :#.][^{}]*\}\s*$")
_ACTIVE = re.compile(r"[\\`*\[\]|]|<|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=\S)~")
_OPENING = re.compile(r"^([#>+-]|\d+(?=[.)]\s)|~{3,})")
_BLOCKS = frozenset({"p", "div", "section", "article", "details", "figure", "figcaption", "header"})
_BLOCKS |= {"ul", "ol", "dl", "caption", "blockquote", "footer", "aside", "main"}


def plain(page: str) -> str:
    """The text of a generated page as Markdown."""
    return _Writer().text(without_front_matter(page))


def without_front_matter(page: str) -> str:
    """The text of a page behind what its first lines say about it."""
    return _FRONT.sub("", page, count=1)


def escape(text: str) -> str:
    """Text that Markdown shows as it is, with as few signs as that needs."""
    return _ACTIVE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    # Not every renderer takes a backslash before these two.
    return {"<": "&lt;", "&": "&amp;"}.get(match[0], f"\\{match[0]}")


def code(text: str) -> str:
    """A code span that nothing in `text` ends."""
    text = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


class _Writer:
    """Tags and text in, blocks of Markdown out."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._rows: list[list[str]] = []
        self._links: list[tuple[str, int]] = []
        self._lists: list[str] = []
        self._item = ""
        self._table = False
        self._code = -1

    def text(self, page: str) -> str:
        """The page that begins where its front matter ends."""
        page = _OBEYED.sub("", page).replace("_<wbr>", "_").replace("/<wbr>", "/")
        end = 0
        for match in _TOKEN.finditer(page):
            start, after = match.span()
            if start > end:
                self._words(page[end:start])
            end = after
            self._token(match)
        self._words(page[end:])
        self._flush()
        return "\n\n".join(self._blocks) + "\n"

    def _words(self, text: str) -> None:
        if text.isspace():
            self._line.append(" ")
        elif text:
            shown = html.unescape(text)
            self._line.append(shown if self._code >= 0 else escape(shown))

    def _token(self, match: re.Match[str]) -> None:
        kind = match.lastgroup
        if kind == "attributes":
            self._tag(match["tag"].lower(), bool(match["close"]), match["attributes"])
        elif kind == "words":
            self._simple(match["cell"], match["words"])
        elif kind == "heading":
            title = html.unescape(_HEADING_ID.sub("", match["heading"]))
            self._flush()
            self._blocks.append(f"{match['rank']} {escape(title)}")
        elif kind == "fence":
            self._flush()
            self._blocks.append(match[0])
        elif match[0].startswith("///"):
            self._flush()
            self._blocks += [f"**{escape(match['tab'])}**"] if match["tab"] else []
        elif kind == "pre":
            self._pre(html.unescape(re.sub(r"<[^>]*>", "", match["pre"])))

    def _pre(self, text: str) -> None:
        if self._table:
            self._line.append(code(text))
            return
        self._flush()
        fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
        self._blocks.append(f"{fence}\n{text.rstrip()}\n{fence}")

    def _tag(self, tag: str, close: bool, attributes: str) -> None:
        if tag == "code":
            self._code_span(close)
        elif tag == "a":
            self._link(close, attributes)
        elif tag in {"strong", "b", "summary"}:
            self._line.append("" if self._table else "**")
        elif tag == "br" or (tag == "span" and not close):
            self._space()
        elif tag in {"span", "wbr"}:
            pass
        elif tag in {"td", "th"}:
            self._cell(close, attributes)
        elif tag == "tr" and not close:
            self._rows.append([])
        elif tag == "table":
            self._whole_table(close)
        elif self._table:
            self._line.append(_BETWEEN.get(tag, " ") if close else " ")
        elif tag == "img":
            self._picture(dict(_ATTRIBUTE.findall(attributes)))
        else:
            self._block(tag, close)

    def _block(self, tag: str, close: bool) -> None:
        if tag[0] == "h" and tag[1:].isdigit():
            self._flush("" if not close else "#" * int(tag[1:]) + " ")
        elif tag in {"ul", "ol"}:
            self._flush()
            self._lists = self._lists[:-1] if close else [*self._lists, tag]
        elif tag in {"li", "dt"} and not close:
            self._flush()
            indent = "  " * max(0, len(self._lists) - 1)
            self._item = indent + ("1. " if self._lists[-1:] == ["ol"] and tag == "li" else "- ")
        elif tag == "dt":
            self._line.append(": ")
        elif (tag in {"li", "dd"} and close) or (tag in _BLOCKS and (self._line or not self._item)):
            self._flush()

    def _flush(self, before: str = "") -> None:
        """End the block that is being written; items of one list stand without a line between."""
        text = " ".join("".join(self._line).replace("****", "").split())
        self._line = []
        item, self._item = self._item, ""
        if not text.strip("*"):
            return
        if not before and not item:
            text = _OPENING.sub(r"\\\1", text)
        if item and self._blocks and _is_item(self._blocks[-1]):
            self._blocks[-1] += f"\n{item}{text}"
        else:
            self._blocks.append(f"{item}{before}{text}")

    def _code_span(self, close: bool) -> None:
        if not close:
            self._space()
            self._code = len(self._line)
        elif self._code >= 0:
            inner = "".join(self._line[self._code :])
            shown = code(inner).replace("|", "\\|") if self._table else code(inner)
            self._line[self._code :] = [shown]
            self._code = -1

    def _link(self, close: bool, attributes: str) -> None:
        if not close:
            target = html.unescape(dict(_ATTRIBUTE.findall(attributes)).get("href", ""))
            self._links.append((_address(target), len(self._line)))
        elif self._links:
            target, start = self._links.pop()
            words = " ".join("".join(self._line[start:]).split())
            self._line[start:] = [f"[{words}]({target})" if target and words else words]

    def _picture(self, attributes: dict[str, str]) -> None:
        alt, source = (html.unescape(attributes.get(name, "")) for name in ("alt", "src"))
        self._line.append(f"![{escape(alt)}]({_address(source)})")

    def _space(self) -> None:
        """Keep apart what only style keeps apart on the page."""
        if self._code < 0 and self._line and self._line[-1][-1:].isalnum():
            self._line.append(" ")

    def _simple(self, tag: str, words: str) -> None:
        """An element that holds text alone: most of a table, so no tags are asked about."""
        text = _one_line(words) if words else ""
        if tag[0] == "t" and self._rows:
            self._rows[-1].append(text)
        elif self._table:
            self._line += [" ", text, _BETWEEN[tag]]
        else:
            self._tag(tag, False, "")
            self._line.append(text)
            self._tag(tag, True, "")

    def _cell(self, close: bool, attributes: str) -> None:
        if not close:
            self._line = []
            return
        text = " ".join("".join(self._line).split()).strip("; ")
        self._line = []
        if self._rows:
            self._rows[-1].append(text)

    def _whole_table(self, close: bool) -> None:
        if not close:
            self._flush()
            self._rows, self._table = [], True
            return
        self._table = False
        rows = [row for row in self._rows if any(row)]
        width = max(map(len, rows), default=0)
        if not width:
            return
        if len(rows[0]) < width or width == 2:
            rows.insert(0, [""] * width)  # facts have no header, which Markdown wants
        lines = [[*row, *[""] * (width - len(row))] for row in rows]
        lines.insert(1, ["---"] * width)
        self._blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))


_BETWEEN = {"dt": ": ", "dd": "; ", "li": "; ", "p": "; "}


@lru_cache(maxsize=1024)
def _one_line(words: str) -> str:
    """What an element that holds text alone shows; tables say the same many times."""
    return escape(" ".join(html.unescape(words).split()))


def _is_item(block: str) -> bool:
    return block.rpartition("\n")[2].lstrip().startswith(("- ", "1. "))


@lru_cache(maxsize=1024)
def _address(target: str) -> str:
    """Where a link leads, from the page as Markdown: to other pages as Markdown too."""
    parts = urlsplit(target)
    if parts.scheme not in {"", "https"} or (not parts.path and not parts.netloc):
        return ""
    if not parts.netloc and parts.path.endswith("/") and not parts.query:
        parts = parts._replace(path=parts.path + PAGE, fragment="")
    return re.sub(r"[\s<>()]", lambda match: f"%{ord(match[0]):02X}", urlunsplit(parts))
