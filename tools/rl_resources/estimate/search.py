"""What would lower a peak: single settings, the cheapest of their combinations that suffices, the
parallel sizes that suit, and how far one can go with all else unchanged.

Settings, their costs, sizes and the bounds of the search are in `formula.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from rl_resources.estimate.configuration import DERIVED, FITTING
from rl_resources.estimate.estimate import OTHERS, ROLLOUT, Estimate, Need
from rl_resources.estimate.formula import (
    ENGINE_SIZE,
    Number,
    backends,
    engine_sizes,
    formula,
    parallel_sizes,
)
from rl_resources.estimate.time import step_time

_CACHE = (ROLLOUT, "")
"""What is too small where the engine has no room for one sequence: no moment of its phase."""
_SHARE = "gpu_memory_utilization"


class Turn(NamedTuple):
    """A setting that is changed, its price, and the line of the script that has it, or 0."""

    setting: str
    price: str
    line: int


class Knob(NamedTuple):
    """A setting that would lower a peak: its value, what it saves by phase (GB), and its price.

    `line` is where the script sets it, 0 where it does not. `cost` ranks prices. `inputs` are
    those of the estimate that it changes. `gain` is what it saves of a tight moment, 0 if little;
    `helps` is whether it lowers a peak or the upper end by what matters. `estimate` is with it.
    """

    setting: str
    saves: Mapping[str, float]
    price: str
    line: int
    cost: float
    inputs: Mapping[str, Number]
    gain: float
    helps: bool
    estimate: Estimate


class Combination(NamedTuple):
    """Settings that suffice together, the estimate with them, their cost, and their inputs."""

    turns: Sequence[Turn]
    estimate: Estimate
    cost: int
    inputs: Mapping[str, Number]


def _bound(name: str) -> Any:
    """A bound of the search."""
    return formula()["search"][name]


def knobs(estimate: Estimate) -> list[Knob]:
    """The settings that would lower what is tight, by price and then by gain.

    Those that leave the peak nearly as high come last. LoRA with which it may fit takes the place
    of what saves the least in the second half, where it would be left out.
    """
    found = [knob for knob in _every_knob(estimate) if knob.gain]
    found = sorted(found, key=_rank)
    most = _bound("most_knobs")
    first = found[:most]
    adapters = next(filter(_may_fit_with_adapters, found), None)
    if adapters is None or adapters in first:
        return first
    weakest = min(first[most // 2 :], key=attrgetter("gain")).setting
    others = [knob for knob in first if knob.setting != weakest]
    return sorted([*others, adapters], key=_rank)


def _rank(knob: Knob) -> tuple[bool, float, float]:
    """What comes first: what helps, what is cheap, what saves much."""
    return not knob.helps, knob.cost, -knob.gain


def _may_fit_with_adapters(knob: Knob) -> bool:
    """Whether a setting makes adapters train, with which the run may fit."""
    return "lora_rank" in knob.inputs and may_fit(knob.estimate)


def _every_knob(estimate: Estimate) -> Iterator[Knob]:
    """All that can be set otherwise here."""
    places = _tight(estimate)
    for item, changed, turn in _changes(estimate):
        if not turn.setting:
            continue
        saves: dict[str, float] = {}
        for phase, moment in estimate.phases.items():
            saved = moment.peak_gb - changed.phases[phase].peak_gb
            if abs(saved) >= _bound("smallest_gb"):
                saves[phase] = saved
        most = 0.0
        helps = False
        for phase, name, gain in _gains(estimate, changed, places):
            most = max(most, gain)
            if not name or name == estimate.phases[phase].name:
                helps = True
            if name and phase not in saves:  # another moment of it is as high
                saves[name] = gain
        yield Knob(
            setting=turn.setting,
            saves=saves,
            price=turn.price,
            line=turn.line,
            cost=item.get("cost", item.get("rank", inf)),
            inputs=_inputs_of(item, changed.values[item["input"]]),
            gain=most,
            helps=helps or (most > 0 and _lowers_upper_end(estimate, changed)),
            estimate=changed,
        )


def _lowers_upper_end(before: Estimate, after: Estimate) -> bool:
    """Whether the upper end of what decides comes nearer to the memory by what matters."""
    saved = before.deciding.high_gb - after.deciding.high_gb
    lack = before.deciding.high_gb - before.device_gb
    return bool(saved > _bound("least_part") * max(0, lack))


def _gains(
    before: Estimate, after: Estimate, places: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str, float]]:
    """What is saved of each of these moments, if it is a part of it worth naming.

    Nothing is where the phase as a whole then needs more, at another moment, or where one needs
    more than before and than the GPU has.
    """
    if _overfills(before, after):
        return
    for phase, name in places:
        if name and after.phases[phase].peak_gb > before.phases[phase].peak_gb:
            continue
        need = _need(before, (phase, name))
        saved = need - _need(after, (phase, name))
        if saved >= max(_bound("least_gain") * need, _bound("smallest_gb")):
            yield phase, name, saved


def _overfills(before: Estimate, after: Estimate) -> bool:
    """Whether a phase needs more than before and than the GPU has."""
    return any(
        after.phases[phase].peak_gb > max(moment.peak_gb, before.device_gb)
        for phase, moment in before.phases.items()
    )


def _changes(estimate: Estimate) -> Iterator[tuple[Mapping[str, Any], Estimate, Turn]]:
    """Each row of the table that changes something: with it, and as a setting."""
    for item in formula()["knob"]:
        before = estimate.values[item["input"]]
        after = _turned(item, estimate)
        if after == before:
            continue
        changed = estimate.with_inputs(**_inputs_of(item, after))
        if not changed.values["undivided"]:
            yield item, changed, _turn(estimate, item, after)


def _inputs_of(item: Mapping[str, Any], value: Number) -> dict[str, Number]:
    """What a row of the table changes: its input, and what it needs with it."""
    return {item["input"]: value, **item.get("with", {})}


def seconds_of_knobs(estimate: Estimate) -> dict[str, float]:
    """By how many seconds a setting would change a step, if its price is a term of the time."""
    before = step_time(estimate)
    found: dict[str, float] = {}
    if before is None:
        return found
    for _, changed, turn in _changes(estimate):
        after = step_time(changed)
        if after is None:
            continue
        seconds = after.seconds.middle - before.seconds.middle
        if abs(seconds) >= _bound("smallest_seconds"):
            found[turn.setting] = seconds
    return found


def _turn(estimate: Estimate, item: Mapping[str, Any], value: Number) -> Turn:
    """A row of the table at a value."""
    setting = estimate.configuration.written(item, value)
    line = estimate.configuration.lines.get(item["input"], 0)
    price = str(item["price"])
    if estimate.configuration.profile.is_verl:
        price = item.get("price_in_verl", price)
    if estimate.configuration.offline:
        price = item.get("price_offline", price)
    return Turn(setting, price, line)


def _turned(item: Mapping[str, Any], estimate: Estimate) -> Number:
    """The value to which a knob sets its input; the value before where it cannot be turned."""
    before = estimate.values[item["input"]]
    if _is_idle(item, estimate):
        return before
    if before not in (item.get("from", before), item.get("partly")):
        return before
    if "from" in item:
        value: Number = item["value"]
        return value
    after: Number = min(before * item["times"], item.get("most", inf))
    if after >= 1:
        after = int(after)
    if after < item.get("least", 0):
        return before
    return after


def _is_idle(item: Mapping[str, Any], estimate: Estimate) -> bool:
    """Whether a knob does nothing, or is not possible with what is set and not just assumed."""
    values = estimate.values
    if item.get("on_host") and values["unified_memory"]:
        return True
    changed = item.get("with", {})
    if changed and all(values[name] == changed[name] for name in changed):
        return True  # another knob does the same
    assumed = [one.input for one in estimate.configuration.assumed]
    for name, excluded in item.get("excludes", {}).items():
        if values[name] in excluded and name not in assumed:
            return True
    return "needs" in item and not values[item["needs"]]


def _tightest(estimate: Estimate) -> tuple[str, str]:
    """The moment that must become smaller first."""
    if not estimate.cache_fits:
        return _CACHE
    training = estimate.training
    high_gb = training.peak_gb * estimate.upper_factor()
    needs = [Need(training, training.peak_gb, high_gb)]
    needs += [estimate.need_of(phase) for phase in OTHERS]
    moment = max(needs, key=attrgetter("high_gb")).moment
    return moment.phase, moment.name


def _tight(estimate: Estimate) -> list[tuple[str, str]]:
    """The tightest moment, those of its phase that are nearly as high, and rollouts that fill GPUs.

    What an engine finds free when it wakes up beside the training is less than arithmetic says.
    """
    tightest = _tightest(estimate)
    phase, name = tightest
    if not name:
        return [tightest]
    near_gb = _bound("near") * _need(estimate, tightest)
    found = [
        (moment.phase, moment.name)
        for moment in estimate.moments
        if moment.phase == phase and moment.peak_gb >= near_gb
    ]
    rollout = estimate.phases.get(ROLLOUT)
    room_gb = estimate.device_gb
    if estimate.values["shares"]:
        room_gb *= _bound("filled")
    if rollout and rollout.peak_gb >= room_gb:
        found.append((ROLLOUT, rollout.name))
    return found


def _need(estimate: Estimate, place: tuple[str, str]) -> float:
    """How much a moment needs; of the cache, how many tokens it lacks."""
    phase, name = place
    for moment in estimate.moments:
        if moment.phase == phase and moment.name == name:
            return moment.peak_gb
    return estimate.values["sequence_length"] - estimate.values["kv_tokens"]


def fits(estimate: Estimate) -> bool:
    """Whether all phases fit with their whole intervals."""
    return estimate.verdict == "fits"


def may_fit(estimate: Estimate) -> bool:
    """Whether all phases fit with the middles of their intervals."""
    return estimate.verdict in {"fits", "tight"}


def advised(estimate: Estimate) -> Combination | None:
    """The cheapest combination whose whole interval fits, else the cheapest whose middle does."""
    return cheapest(estimate) or cheapest(estimate, may_fit)


def cheapest(
    start: Estimate,
    suffices: Callable[[Estimate], bool] = fits,
    never: Collection[str] = (),
) -> Combination | None:
    """The combination of least cost that suffices; `None` where no tried one does."""
    return next(sufficient(start, suffices, never), None)


def sufficient(
    start: Estimate,
    suffices: Callable[[Estimate], bool],
    never: Collection[str] = (),
) -> Iterator[Combination]:
    """The combinations that suffice, in the order of their costs.

    They grow only by settings that lower the moment that was the tightest before. Inputs in `never`
    stay as they are.
    """
    order = count()
    table = list(_table(start, never))
    waiting: list[tuple[int, int, dict[str, Number], Estimate]] = []
    seen: set[str] = set()
    heappush(waiting, (0, next(order), {}, start))
    for _ in range(_bound("most")):
        if not waiting:
            return
        cost, _, turned, parent = heappop(waiting)
        found = start.with_inputs(**turned)
        key = str(sorted(turned.items()))
        if found.values["undivided"] or key in seen:
            continue
        if turned and not _lowers_the_tightest(parent, found):
            continue
        seen.add(key)
        if suffices(found):
            yield Combination(list(_turns(start, turned)), found, cost, turned)
            continue
        for item in table:
            name = item["input"]
            value = _turned(item, found)
            if value != found.values[name]:
                further = {**turned, name: value}
                heappush(waiting, (cost + item["cost"], next(order), further, found))


def _table(start: Estimate, never: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """The knobs of a search: those with a cost, which the framework has."""
    for item in formula()["knob"]:
        is_written = start.configuration.written(item, item.get("value", 1))
        if is_written and "cost" in item and item["input"] not in never:
            yield item


def _lowers_the_tightest(before: Estimate, after: Estimate) -> bool:
    """Whether what was the tightest needs less, by as much as is worth naming."""
    place = _tightest(before)
    saved = _need(before, place) - _need(after, place)
    return bool(saved >= _bound("smallest_gb"))


def _turns(start: Estimate, turned: Mapping[str, Number]) -> Iterator[Turn]:
    """The settings of a combination, in the order of the table."""
    for item in _table(start, ()):
        name = item["input"]
        if name not in turned:
            continue
        is_raised = turned[name] > start.values[name]
        if "times" not in item or is_raised == (item["times"] > 1):
            yield _turn(start, item, turned[name])


def limits(estimate: Estimate) -> dict[str, int | None]:
    """How far one can go with all else unchanged; `None` where no whole interval fits.

    The fewest GPUs of this device, the largest micro batch in sequences, or in tokens where it is
    filled up by them, and the longest response in tokens.
    """

    def runs(name: str, value: int) -> bool:
        changed = estimate.with_inputs(**{name: value})
        return is_divided(changed) and fits(changed)

    def largest(name: str, step: int) -> int | None:
        """The largest multiple of `step` that fits, if all smaller ones do."""
        size = 0
        further = _bound("largest_size")
        while further >= step:
            if runs(name, size + further):
                size += further
            further //= 2
        return size or None

    batch = "micro_batch"
    step = 1
    if estimate.values["max_tokens"] > 0:
        batch = "max_tokens"
        step = _bound("length_step")
    return {
        "gpus": next(
            (count for count in _bound("gpu_counts") if runs("gpus", count)), None
        ),
        batch: largest(batch, step),
        "response_length": largest("response_length", _bound("length_step")),
    }


def is_divided(found: Estimate) -> bool:
    """Whether parallel sizes divide the GPUs."""
    return not found.values["undivided"]


def sized(
    found: Estimate,
    *,
    settled: Collection[str] = (),
    is_possible: Callable[[Estimate], bool] = is_divided,
) -> Estimate:
    """The estimate at the smallest parallel sizes that fit, or the best where none does.

    Sizes that somebody gave stay, and those that are `settled`.
    """
    training = with_training_sized(found, settled, is_possible)
    return with_engine_sized(training, settled, is_possible)


def with_training_sized(
    found: Estimate,
    settled: Collection[str],
    is_possible: Callable[[Estimate], bool],
) -> Estimate:
    """That of training alone, if the training backend splits a model."""
    splits = backends()[found.configuration.train].get("splits")
    if not splits or has_usual_sizes(found):
        return found
    sizes = _possible_sizes(found)
    return _chosen(found, settled, sizes, lacking_memory, is_possible)


def with_engine_sized(
    found: Estimate,
    settled: Collection[str],
    is_possible: Callable[[Estimate], bool],
) -> Estimate:
    """That of a rollout engine alone, if one shares the GPUs."""
    if ROLLOUT not in found.phases:
        return found
    return _chosen(found, settled, _engines(found), _lacking_engine, is_possible)


def has_usual_sizes(found: Estimate) -> bool:
    """Whether a framework is named and one parallel size: the others are then its defaults."""
    splits = backends()[found.configuration.train].get("splits")
    if not (splits and found.configuration.framework):
        return False
    open_inputs = {item.input for item in found.configuration.assumed}
    return any(name not in open_inputs for name in parallel_sizes()[0])


def _possible_sizes(found: Estimate) -> Sequence[Mapping[str, Number]]:
    """No more stages than layers, and experts spread over no more GPUs than there are experts.

    Most of those that do not divide the GPUs are left out before all terms are evaluated.
    """
    values = found.values
    possible: list[Mapping[str, Number]] = []
    for sizes in parallel_sizes():
        stages = sizes["pipeline_parallel"]
        is_whole = values["gpus"] % (stages * sizes["tensor_parallel"]) == 0
        is_spread = sizes["expert_parallel"] <= max(1, values["experts"])
        if is_whole and is_spread and stages <= values["layers"]:
            possible.append(sizes)
    return possible


def _engines(found: Estimate) -> Sequence[Mapping[str, Number]]:
    """Sizes of an engine: with the usual share of the GPU first, each on the fewest GPUs first.

    Of other shares those alone that may hold the weights.
    """
    usual = found.values[_SHARE]
    possible = [{**size, _SHARE: usual} for size in engine_sizes()]
    for share in _bound("engine_shares"):
        every = [{**size, _SHARE: share} for size in engine_sizes()]
        possible += [one for one in every if _may_hold_weights(found, one)]
    return possible


def _may_hold_weights(found: Estimate, engine: Mapping[str, Number]) -> bool:
    """Whether an engine of such a size and share may, as far as a product shows it."""
    values = found.values
    if values["engine_shares_weights"] or values["engine_shares_rest"]:
        return True
    gpus = max(engine[ENGINE_SIZE], values["engine_expert_parallel"])
    weights = values["engine_weight_bytes"] * values["parameters"]
    return weights <= gpus * engine[_SHARE] * values["device_bytes"]


def lacking_memory(found: Estimate) -> Number:
    """The GB of one GPU that training lacks where nothing that decides is assumed."""
    _, high = found.known_factors
    return max(0, high * found.peak_gb - found.device_gb)


def _lacking_engine(found: Estimate) -> Number:
    if found.cache_fits and found.phases[ROLLOUT].peak_gb <= found.device_gb:
        return 0
    return 1 / found.values[ENGINE_SIZE]


def _chosen(
    found: Estimate,
    settled: Collection[str],
    sizes: Sequence[Mapping[str, Number]],
    lack: Callable[[Estimate], Number],
    is_possible: Callable[[Estimate], bool],
) -> Estimate:
    """The estimate at the sizes that lack the least, the first of equal ones, listed as assumed."""
    open_inputs = {item.input for item in found.configuration.assumed}
    names = [name for name in sizes[0] if name in open_inputs and name not in settled]
    if not names:
        return found
    best = found
    least = inf
    for one in sizes:
        tried = found.with_inputs(**{name: one[name] for name in names})
        if not is_possible(tried):
            continue
        lacking = lack(tried)
        if lacking < least:
            best = tried
            least = lacking
        if not lacking:
            break
    if best is found:
        return found
    return found.assuming({name: best.values[name] for name in names}, DERIVED)


def fitted(found: Estimate) -> Estimate:
    """The estimate with other usual values of what was assumed, so that training fits the GPU.

    The fewest of them, those that save most first; all where not even they are enough.
    Lengths and batches stay as they are, and what the model alone decides.
    """
    stay = {*formula()["often"]["any"], *formula()["span"]["any"]}
    taken: dict[str, Number] = {}
    tried = found
    doubts = found.doubts

    def gain(name: str) -> tuple[float, float, Number]:
        doubt = doubts[name]
        return doubt.least, doubt.most, doubt.saving

    for name in sorted(doubts, key=gain):
        doubt = doubts[name]
        if tried.peak_gb <= found.device_gb:
            return tried
        if doubt.least < 1 and name not in stay:
            taken[name] = doubt.saving
            tried = found.assuming(taken, FITTING)
    return tried
