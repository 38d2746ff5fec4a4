"""What the signs of a picture mean: those that occur in it, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rl_resources.site.charts.marks import SHAPES, Mark, Sign
from rl_resources.site.charts.matrix import SHADES, Matrix
from rl_resources.site.charts.plot import WIDTH, Plot
from rl_resources.site.charts.scatter import Scatter

_STEP = 19.0
_KINDS = {"record": "record: its script is here", "report": "report: published by others"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A sign, a cell of that shade and state, or a stroke (`failed`, `span`), and its meaning."""

    text: str
    sign: Sign | None = None
    shade: int = 0
    state: str = ""
    stroke: str = ""
    y: float = 0


@dataclass(frozen=True, slots=True)
class Legend:
    """The entries from the top."""

    entries: tuple[Entry, ...]

    kind = "legend"
    width = WIDTH

    @property
    def height(self) -> float:
        """In units of the picture."""
        return len(self.entries) * _STEP + 4


def legend_of(panels: Sequence[Scatter | Plot | Matrix]) -> Legend:
    """The legend of panels of one kind."""
    plots = [panel for panel in panels if not isinstance(panel, Matrix)]
    entries = _of_plots(plots) if plots else _of_maps()
    return Legend(tuple(replace(entry, y=_STEP * (at + 0.5)) for at, entry in enumerate(entries)))


def _of_plots(plots: Sequence[Scatter | Plot]) -> Iterator[Entry]:
    marks = [mark for plot in plots for mark in plot.marks]
    items = [item for plot in plots if isinstance(plot, Scatter) for item in plot.items]
    signs = [mark.sign for mark in marks]
    yield from _shapes(marks)
    if any(sign.measured for sign in signs):
        without = "" if all(sign.measured for sign in signs) else "; without: only stated"
        yield Entry(f"dot inside: measured{without}", Sign("", "report", measured=True))
    if any(sign.untested for sign in signs):
        yield Entry("broken outline: untested record", Sign("MIN", "record", untested=True))
    if any(sign.doubted for sign in signs):
        yield Entry("≠ ring: another published figure differs", Sign("", "ring", doubted=True))
    if any(item.cross for item in items):
        yield Entry("smallest batch that failed", stroke="failed")
    if any(item.span for item in items):
        yield Entry("bar: of the model only the size is known", stroke="span")


def _shapes(marks: Iterable[Mark]) -> Iterator[Entry]:
    held = {(mark.sign.tag, mark.sign.kind) for mark in marks}
    for kind, words in _KINDS.items():
        for tag in SHAPES:
            if (tag, kind) in held:
                yield Entry(f"{tag or 'no tag'}, {words}", Sign(tag, kind))


def _of_maps() -> Iterator[Entry]:
    yield Entry("MIN record", Sign("MIN", "record"))
    yield Entry("RECOMMENDED record", Sign("RECOMMENDED", "record"))
    yield Entry("thick frame: at least one record", state="held")
    yield Entry("broken frame: only untested records", state="untested")
    for shade, (_, words) in enumerate(SHADES, start=1):
        yield Entry(f"{words} reports that ran", shade=shade)
    yield Entry("reports only of running out of memory", stroke="failed")
