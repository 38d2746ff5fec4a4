"""A record's badge: one line that says what runs where, and how sure that is.

As SVG, and as the JSON that https://shields.io/badges/endpoint-badge reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.render.api import record_id
from rl_resources.render.tuning_table import tuning_row

COLOURS = {
    "untested": "51606a",
    "reported": "12405a",
    "reproduced": "0b6b4b",
    "disputed": "a3202c",
}
_LABEL_GROUND = "2f3b43"
_MARKDOWN_ACTIVE = re.compile(r"[\\\[\]*_`<]")
_HEIGHT = 20
_MARGIN = 6
# Widths of Verdana at 11 px in tenths of a pixel; `textLength` makes any other font keep to them.
_NARROW, _MIDDLE, _WIDE = 40, 68, 93


@dataclass(frozen=True, slots=True)
class Badge:
    """Two texts beside each other; `colour` is the ground of the second, in six digits."""

    label: str
    message: str
    colour: str

    @property
    def words(self) -> str:
        """Both texts, for those who do not see the picture."""
        return f"{self.label}: {self.message}"

    @property
    def width(self) -> int:
        """The width of the picture in pixels."""
        return _width(self.label) + _width(self.message)

    def endpoint(self) -> str:
        """The JSON document that Shields' endpoint badge asks for."""
        words = {"label": self.label, "message": self.message, "color": self.colour}
        return json.dumps({"schemaVersion": 1, **words}, ensure_ascii=False, indent=2) + "\n"

    def svg(self) -> str:
        """A picture 20 px high, which needs no font, style or script from elsewhere."""
        left, right, width = _width(self.label), _width(self.message), self.width
        title = escape(_printable(self.words))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}"'
            f' viewBox="0 0 {width} {_HEIGHT}" role="img" aria-label="{title}">\n'
            f"<title>{title}</title>\n"
            f'<rect width="{left}" height="{_HEIGHT}" fill="#{_LABEL_GROUND}"/>\n'
            f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="#{self.colour}"/>\n'
            '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
            f"{_text(self.label, 0, left)}\n{_text(self.message, left, right)}\n</g>\n</svg>\n"
        )


@dataclass(frozen=True, slots=True)
class Snippet:
    """What shows the badge, with a link to the record, in one markup."""

    markup: str
    text: str


def of_record(record: Record) -> Badge:
    """The badge of a record: model and task, then hardware, tag and status."""
    row = tuning_row(record, "")
    message = f"{row.resource} · {row.tag} · {row.status}"
    return Badge(f"{row.model} {row.task}", message, COLOURS.get(row.status, _LABEL_GROUND))


def files(dataset: Dataset) -> dict[str, str]:
    """The badges of all records by their paths, `badges/<id>.json` and `badges/<id>.svg`."""
    return dict(_files(dataset))


def _files(dataset: Dataset) -> Iterator[tuple[str, str]]:
    for record in dataset.records["tuning"]:
        drawn = of_record(record)
        yield path(record, "json"), drawn.endpoint()
        yield path(record, "svg"), drawn.svg()


def path(record: Record, ending: str) -> str:
    """Where a record's badge is published."""
    return f"badges/{record_id(record)}.{ending}"


def snippets(record: Record, address: str) -> list[Snippet]:
    """The badge in three markups; relative where `address`, the site's own, is blank."""
    base = f"{address}/" if address else ""
    picture = base + quote(path(record, "svg"))
    page = f"{base}records/{quote(record_id(record))}/"
    alt = of_record(record).words
    texts = {
        "Markdown": f"[![{_MARKDOWN_ACTIVE.sub(_backslashed, alt)}]({picture})]({page})",
        "reStructuredText": f".. image:: {picture}\n   :target: {page}\n   :alt: {alt}",
        "HTML": f'<a href="{page}"><img src="{picture}" alt="{escape(alt)}"></a>',
    }
    return [Snippet(markup, text) for markup, text in texts.items()]


def _backslashed(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _text(text: str, start: int, width: int) -> str:
    length = width - 2 * _MARGIN
    return (
        f'<text x="{start + _MARGIN}" y="14" textLength="{length}"'
        f' lengthAdjust="spacingAndGlyphs">{escape(_printable(text))}</text>'
    )


def _printable(text: str) -> str:
    """What XML can hold: it knows no control signs and no lone surrogates."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def _width(text: str) -> int:
    return round(sum(map(_tenths, text)) / 10) + 2 * _MARGIN


def _tenths(sign: str) -> int:
    if sign in "iljtfI.,:;·|!'()[]-/ ":
        return _NARROW
    return _WIDE if sign in "mwMW@%" or ord(sign) > 0x2000 else _MIDDLE
