"""Points in words: the names in a picture, and the rows of the table below it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import Configuration
from rl_resources.query.points import Panel, Point
from rl_resources.query.sentences import resource
from rl_resources.site.charts.plot import Row
from rl_resources.site.charts.scale import figure
from rl_resources.site.charts.scatter import Item
from rl_resources.site.charts.text import plain
from rl_resources.site.report_table import source_name
from rl_resources.site.site import Piece, slug

HEADERS = ("Task", "Size", "Model", "Parameters (B)", "Tag", "Known from", "Hardware")
LATER_HEADERS = ("Lengths (tokens)", "Generations", "Trust", "Source", "Notes")


class Words:
    """Writes points down, with the names that only the dataset knows."""

    def __init__(self, dataset: Dataset) -> None:
        self._reports = dataset.by_key["reports"]

    def item(self, point: Point, said: str, failed_at: float = 0) -> Item:
        """A point of a scatter plot."""
        item = point.configuration
        hardware = f"{item.gpus} x {item.device_shown}"
        return Item(
            point=point,
            name=_model(item),
            address=address(item),
            said=plain(" · ".join(filter(None, (said, hardware, self._publisher(item))))),
            doubt=_doubt(point),
            title=self._title(point),
            failed_at=failed_at,
        )

    def lanes(self, panel: Panel) -> list[Row]:
        """A line of a dot plot for all points of one model by one publisher."""
        groups = groupby(sorted(panel.points, key=self._lane), key=self._lane)
        return [
            Row(size, name, points := tuple(members), tuple(map(self._title, points)))
            for (_, _, size, name), members in groups
        ]

    def _lane(self, point: Point) -> tuple[int, float, str, str]:
        item = point.configuration
        name = " · ".join(filter(None, (_model(item), self._publisher(item))))
        return item.position, point.parameters_b, item.size, name

    def _publisher(self, item: Configuration) -> str:
        return plain(source_name(self._reports[item.id])) if item.kind == "report" else ""

    def _title(self, point: Point) -> str:
        item = point.configuration
        known = (figure(point.value), item.model_shown, item.task_shown, resource(item))
        kind = f"{item.tag} {item.kind}".strip()
        return plain("; ".join([*filter(None, (*known, kind, item.trust, self._publisher(item)))]))

    def cells(self, point: Point, figures: Sequence[str]) -> tuple[Piece, ...]:
        """The row of a point under `HEADERS`, the headers of `figures`, and `LATER_HEADERS`."""
        item = point.configuration
        trust = f"{item.trust}, contradicted" if item.contradicts else item.trust
        source = Piece(self._publisher(item) or "source", item.source) if item.source else Piece("")
        return (
            Piece(item.task_shown),
            Piece(item.size),
            Piece(plain(item.model_shown), address(item)),
            Piece(figure(point.parameters_b) if point.parameters_b else ""),
            Piece(item.tag),
            Piece(item.kind),
            Piece(plain(resource(item))),
            *map(Piece, figures),
            Piece(_lengths(item)),
            Piece(str(item.rollout_n or "")),
            Piece(trust.replace("-", " ")),
            source,
            Piece(plain(item.notes)),
        )


def address(item: Configuration) -> str:
    """Where more is said of a record or report, below the site's root."""
    if item.kind == "record":
        return f"records/{item.id}/"
    return f"reports/{slug(item.size)}/#{item.id}"


def _model(item: Configuration) -> str:
    return plain(item.model_shown.rpartition("/")[2])


def _doubt(point: Point) -> str:
    if point.untested:
        return "untested"
    if not point.doubted:
        return ""
    return "≠ disputed" if point.configuration.kind == "record" else "≠ contradicted"


def _lengths(item: Configuration) -> str:
    if item.max_total_length:
        return f"{item.max_total_length} in all"
    both = (item.max_prompt_length, item.max_response_length)
    return " + ".join(str(length or "?") for length in both) if any(both) else ""
