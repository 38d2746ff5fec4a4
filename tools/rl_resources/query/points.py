"""What the pictures show: one point for each figure that somebody has published.

Nothing is estimated and nothing averaged. Of the configurations that are `known`, each is either
behind a point or counted among those left out, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.order import in_turn
from rl_resources.package import Record
from rl_resources.query.configurations import RUNS, UNTESTED, Configuration

FEWEST_SIZES = 4
"""A task has a panel of its own from so many sizes on: fewer points show no picture."""
MOST_RUNS = 100
"""Where each point is a single run, a picture has room for so many."""


@dataclass(frozen=True, slots=True)
class Point:
    """One published figure. `parameters_b` is in billions, in all, 0 if unknown.

    It was chosen from `of` configurations, `alike` more of which have the same figure.
    """

    configuration: Configuration
    value: float
    parameters_b: float
    of: int = 1
    alike: int = 0

    @property
    def doubted(self) -> bool:
        """Whether a published figure contradicts it."""
        return self.configuration.trust == "disputed" or bool(self.configuration.contradicts)

    @property
    def untested(self) -> bool:
        """Whether it is a record that nobody has run yet."""
        return self.configuration.trust == UNTESTED


@dataclass(frozen=True, slots=True)
class Panel:
    """The points of one task or one device, by size, parameters and figure."""

    name: str
    points: tuple[Point, ...]

    def behind(self, kind: str) -> int:
        """How many configurations of a kind (`record`, `report`) the points stand for."""
        return sum(point.of for point in self.points if point.configuration.kind == kind)


@dataclass(frozen=True, slots=True)
class Points:
    """The panels, those with most behind them first; why others were left out, and how many.

    `beyond` counts the points for which there is no room.
    """

    panels: tuple[Panel, ...]
    left_out: tuple[tuple[str, int], ...]
    beyond: int = 0


def fewest_gigabytes(dataset: Dataset, known: Sequence[Configuration]) -> Points:
    """The least memory of all accelerators together, in GB, that a task is known to run on.

    One point a task, size, kind and tag. An untested record is a class of its own, so that it never
    stands for what ran. Of equal ones the model with most parameters counts.
    """
    left, usable = _parted(known, _reason_without_memory)
    sizes = _sizes_by_task(usable)
    few, usable = _parted(usable, lambda item: _few(len(sizes[item.task])))
    parameters = _Parameters(dataset)
    points = [_chosen(group, min, _memory, parameters) for group in _groups(usable, _class)]
    return Points(_panels(points, lambda item: item.task), _counted([*left, *few]))


def largest_batches(dataset: Dataset, known: Sequence[Configuration]) -> Points:
    """The largest batch, in prompts a step, that records of a task are known to run.

    Chosen as `fewest_gigabytes` chooses, so that a picture grows with what is known and not with
    how many know it.
    """
    records = [item for item in known if item.kind == "record"]
    left, usable = _parted(records, lambda item: "" if item.batch else "name no largest batch")
    parameters = _Parameters(dataset)
    points = [_chosen(group, max, _batch, parameters) for group in _groups(usable, _class)]
    return Points(_panels(points, lambda item: item.task), _counted(left))


def throughputs(dataset: Dataset, known: Sequence[Configuration]) -> Points:
    """Records and reports with tokens per second and accelerator, by device.

    Of more than `MOST_RUNS` the fastest of each device and model come first.
    """
    speeds = {
        **{
            str(row["script"]).removesuffix(".sh"): _speed(row) for row in dataset.records["tuning"]
        },
        **{str(row["report"]): _speed(row) for row in dataset.records["reports"]},
    }
    left, usable = _parted(
        known,
        lambda item: (
            "" if speeds[item.id] and item.device_shown and item.size else "publish no such figure"
        ),
    )
    parameters = _Parameters(dataset)
    points = [Point(item, speeds[item.id], parameters.of(item)) for item in usable]
    drawn = in_turn(sorted(points, key=lambda point: -point.value), _line)[:MOST_RUNS]
    panels = _panels(drawn, lambda item: item.device_shown)
    return Points(panels, _counted(left), len(points) - len(drawn))


def _line(point: Point) -> tuple[str, str]:
    return point.configuration.device_shown, point.configuration.model_shown


class _Parameters:
    def __init__(self, dataset: Dataset) -> None:
        self._models = dataset.by_key["models"]

    def of(self, item: Configuration) -> float:
        value = self._models[item.model]["parameters_b"] if item.model in self._models else None
        return float(value) if isinstance(value, int | float) else 0


def _reason_without_memory(item: Configuration) -> str:
    if item.outcome != "ran":
        return "ran out of memory"
    if item.statement not in RUNS and item.trust != UNTESTED:
        return "are claims, not runs"
    if not item.weights:
        return "do not say what trains"
    known = item.task and item.size and item.total_memory_gb
    return "" if known else "leave task, size or memory open"


def _few(sizes: int) -> str:
    return "" if sizes >= FEWEST_SIZES else f"are of tasks known at fewer than {FEWEST_SIZES} sizes"


def _sizes_by_task(items: Iterable[Configuration]) -> dict[str, set[str]]:
    sizes: dict[str, set[str]] = {}
    for item in items:
        sizes.setdefault(item.task, set()).add(item.size)
    return sizes


def _parted(
    items: Iterable[Configuration], reason: Callable[[Configuration], str]
) -> tuple[list[str], list[Configuration]]:
    """The reasons of those that are left out, one each, and the others."""
    judged = [(reason(item), item) for item in items]
    return [word for word, _ in judged if word], [item for word, item in judged if not word]


def _counted(reasons: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(reasons).most_common())


def _groups(
    items: Iterable[Configuration], key: Callable[[Configuration], Hashable]
) -> Iterable[Sequence[Configuration]]:
    groups: dict[Hashable, list[Configuration]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def _class(item: Configuration) -> tuple[object, ...]:
    return item.task, item.size, item.kind, item.tag, item.trust == UNTESTED


def _memory(item: Configuration) -> float:
    return item.total_memory_gb


def _batch(item: Configuration) -> float:
    return item.batch


def _chosen(
    group: Sequence[Configuration],
    choose: Callable[[Iterable[float]], float],
    value: Callable[[Configuration], float],
    parameters: _Parameters,
) -> Point:
    """The point of a class, which has the least or the most of something."""
    best = choose(map(value, group))
    equal = [item for item in group if value(item) == best]
    largest = max(equal, key=parameters.of)
    return Point(largest, best, parameters.of(largest), of=len(group), alike=len(equal) - 1)


def _panels(points: list[Point], name: Callable[[Configuration], str]) -> tuple[Panel, ...]:
    panels: dict[str, list[Point]] = {}
    for point in sorted(points, key=_rank):
        panels.setdefault(name(point.configuration), []).append(point)
    found = [Panel(name, tuple(points)) for name, points in panels.items()]
    return tuple(sorted(found, key=lambda panel: (-sum(p.of for p in panel.points), panel.name)))


def _rank(point: Point) -> tuple[object, ...]:
    item = point.configuration
    return item.position, point.parameters_b, item.model_shown, point.value, item.kind, item.id


def _speed(row: Record) -> float:
    value = row["tokens_per_second_per_gpu"]
    return float(value) if isinstance(value, int | float) else 0
