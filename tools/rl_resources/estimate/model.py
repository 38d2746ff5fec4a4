"""The figures of a model: of a row of the table `models`, of a config.json, or of a size alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.estimate import SPEEDS
from rl_resources.estimate.formula import Number, formula
from rl_resources.files import read_text
from rl_resources.package import Record
from rl_resources.text import shown

OWN_CONFIG = "Name a model, its size, or its config.json: --model path/to/config.json"
_NOT_KNOWN = "not known of this model"
_CORRECT = "Correct it there, or name a model or its size: --model 7B"
GUESSED = "guessed {}"
"""The key under which a row says why a figure is not its own."""
_REQUIRED = ("layers", "hidden_size", "attention_heads", "vocab_size")
_LARGEST_CONFIG = 2**20
_POSSIBLE = range(10**8)
_WIDTHS = ("intermediate_size", "moe_intermediate_size")


def model_figures(model: Record) -> tuple[dict[str, Number], dict[str, str]]:
    """The figures of a model, 0 where it lacks one, and why those are guessed that are.

    Raises `UnusableInput` with the figures without which there is no estimate.
    """
    lacking = " and ".join(_lacking(model))
    if lacking:
        message = f"{model['model']}: no {lacking} known"
        raise UnusableInput(message, OWN_CONFIG)
    figures = {name: figure(model, name) for name in _names()} | _by_name(model)
    figures["thinks"] = int(_thinks(model))
    reasons: dict[str, str] = {}
    for name in _names():
        reason = str(model.get(GUESSED.format(name), ""))
        if reason:
            reasons[name] = reason
    if not figures["kv_heads"]:
        figures["kv_heads"] = figures["attention_heads"]
        reasons["kv_heads"] = _NOT_KNOWN
    if model.get("tie_word_embeddings") is None:
        reasons["tie_word_embeddings"] = _NOT_KNOWN
    figures["tie_word_embeddings"] = int(figures["tie_word_embeddings"])
    return figures, reasons


def _names() -> Sequence[str]:
    """The figures of a model."""
    return ["parameters_b", *formula()["config"]]


def figure(model: Record, name: str) -> Number:
    """A number of a row; 0 where it is not known."""
    value = model.get(name)
    if isinstance(value, int | float):
        return value
    return 0


def device_inputs(device: Record) -> dict[str, Number]:
    """The inputs that a device's row has, besides its memory; 0 what is not known."""
    found = {name: figure(device, name) for name in SPEEDS}
    memory = str(device.get("memory_type", ""))
    found["unified_memory"] = int("unified" in memory)
    names = formula()["names"]
    found["corrects_errors"] = int(device["device"] in names["corrects_errors"])
    makers = names["without_bitsandbytes"]
    found["lacks_bitsandbytes"] = int(device["vendor"] in makers)
    return found


def estimable(model: Record) -> bool:
    """Whether all figures of a model are known that an estimate needs."""
    return not _lacking(model)


def _lacking(model: Record) -> list[str]:
    """The figures that an estimate needs and that are not known."""
    required = [*_REQUIRED, "intermediate_size"]
    if figure(model, "experts"):
        required = [*_REQUIRED, "experts_per_token"]
    return [name for name in required if not figure(model, name)]


def _thinks(model: Record) -> bool:
    """Whether a model thinks at length before it answers, by its name."""
    thinking: str = formula()["time"]["thinking"]["models"]
    return re.match(thinking, _own_name(model), re.IGNORECASE) is not None


def _own_name(model: Record) -> str:
    """The name of a model without its owner."""
    return str(model["model"]).rpartition("/")[2]


def _by_name(model: Record) -> dict[str, Number]:
    """The figures that the formula's file knows by the beginning of a model's name."""
    name = _own_name(model).lower()
    for row in formula()["named"]:
        if name.startswith(tuple(row["models"])):
            return {key: row[key] for key in formula()["config"] if key in row}
    return {}


def completed(
    model: Record, known: Iterable[Record], billions: float, usual: float = 0
) -> Record:
    """A row with what it lacks from the nearest model: one of its family, else a typical one.

    `billions` are the parameters that its name states, `usual` those of its size. Raises
    `UnusableInput` where nothing says how large it is.
    """
    if estimable(model):
        return model
    size = figure(model, "parameters_b") or billions or usual
    nearest = _nearest(model, known, size)
    if nearest is None:
        raise UnusableInput(
            f"{model['model']}: neither layers nor size known", OWN_CONFIG
        )
    filled = dict(model)
    if billions and not figure(model, "parameters_b"):
        filled["parameters_b"] = billions
        filled[GUESSED.format("parameters_b")] = "that of its name"
    _fill(filled, nearest)
    return filled


def _nearest(model: Record, known: Iterable[Record], size: float) -> Record | None:
    """The nearest model whose layers are known: of another family last, then by its size."""

    def distance(row: Record) -> tuple[bool, float]:
        own = figure(row, "parameters_b") or size or 1
        wanted = size or own
        is_other_family = row["family"] != model.get("family")
        return is_other_family, abs(math.log(own / wanted))

    return min(_alike(model, known, size), key=distance, default=None)


def _fill(filled: dict[str, Any], nearest: Record) -> None:
    """Take what a row lacks from another model, as wide as its size asks for."""
    reason = f"that of {nearest['model']}, the nearest model whose layers are known"
    own = figure(filled, "parameters_b")
    other = figure(nearest, "parameters_b")
    factor = 1.0
    if own and other:
        factor = own / other
    for name in _names():
        value = nearest.get(name)
        if value is None or filled.get(name) is not None:
            continue
        if name in _WIDTHS:
            value = round(factor * figure(nearest, name))
        filled[name] = value
        filled[GUESSED.format(name)] = reason


def _alike(model: Record, known: Iterable[Record], billions: float) -> Iterator[Record]:
    """The models of its family and size and, if its parameters are known, typical ones.

    Those are dense or mixtures of experts as this model is, or have just its number: 671B is
    DeepSeek-V3.
    """
    has_experts = figure(model, "experts") or figure(model, "active_parameters_b")
    family = model.get("family") or ""
    size = model.get("size")
    typical: Collection[str] = formula()["typical"]["models"]
    for row in filter(estimable, known):
        is_of_family = row["family"] == family and row["size"] == size
        is_typical = billions and row["model"] in typical
        is_of_kind = bool(figure(row, "experts")) == bool(has_experts)
        is_of_number = figure(row, "parameters_b") == billions
        if is_of_family or (is_typical and (is_of_kind or is_of_number)):
            yield row


def config_file(named: str) -> Path | None:
    """The config.json that a word names, itself or by the directory of its model."""
    if named.endswith(".json"):
        return Path(named)
    inside = Path(named) / "config.json"
    if named and inside.is_file():
        return inside
    return None


class _ConfigFile:
    """A model's `config.json`, with the line of each of its keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = read_text(path, _LARGEST_CONFIG, OWN_CONFIG)
        try:
            found = json.loads(self._text)
        except (ValueError, RecursionError) as error:
            raise UnusableInput(
                f"{path}: cannot be read: {error}", OWN_CONFIG
            ) from error
        if not isinstance(found, dict):
            message = f"{path}: is not the configuration of a model"
            raise UnusableInput(message, OWN_CONFIG)
        parts = formula()["config_parts"]
        self.vision: Mapping[str, Any] = _first_of(found, parts["vision"])
        for name in parts["text"]:
            found |= _first_of(found, [name])
        self.found: Mapping[str, Any] = found

    def mistake(self, key: str, message: str) -> UnusableInput:
        """What to raise about a key, with its line; line 1 where it is not there."""
        line = 1
        for number, text in enumerate(self._text.split("\n"), 1):
            if f'"{key}"' in text:
                line = number
                break
        return UnusableInput(f"{self.path}:{line}: {message}", _CORRECT)

    def figure(self, keys: Sequence[str]) -> int | None:
        """The first value under these keys. Raises `UnusableInput` where it is not possible."""
        for key in keys:
            value = self.found.get(key)
            if isinstance(value, int) and value in _POSSIBLE:
                return value
            if value is not None:
                text = shown(str(value))
                message = f"{key}: `{text}` is not a whole number from 0 to 99,999,999"
                raise self.mistake(key, message)
        return None


def _first_of(found: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    """The first inner object under these names; nothing where there is none."""
    for name in names:
        inner = found.get(name)
        if isinstance(inner, dict):
            return inner
    return {}


def read_config(path: Path) -> Record:
    """The figures of a model's `config.json`, under the names of the table `models`.

    Raises `UnusableInput` for a file that is none, lacks a figure or has an impossible one.
    """
    config = _ConfigFile(path)
    row: dict[str, Any] = {"model": str(path)}
    keys_by_figure: Mapping[str, list[str]] = formula()["config"]
    silent = formula()["config_default"].get(config.found.get("model_type"), {})
    for name, keys in keys_by_figure.items():
        row[name] = config.figure(keys)
        if row[name] is None:
            row[name] = silent.get(name)
    if row["kv_rank"]:
        row["kv_cache_width"] = row["kv_rank"] + (row["rope_width"] or 0)
    row.update(_attention_of(config, row["layers"]))
    row.update(_tower_of(config))
    for name in _lacking(row):
        key = keys_by_figure[name][0]
        raise config.mistake(key, f"no {key}")
    return row


def _attention_of(config: _ConfigFile, layers: int | None) -> Mapping[str, Number]:
    """The layers that see the whole sequence, where it says which, and the state of the others."""
    words = formula()["attention"]
    kinds: Sequence[str] = _first_list(config.found, words["kinds"])
    every = config.figure(words["every"])
    whole = linear = 0
    if kinds:
        whole = sum(kind in words["whole"] for kind in kinds)
        linear = sum(kind in words["linear"] for kind in kinds)
    elif every and layers:
        whole = layers // every
        linear = layers - whole
    found: dict[str, Number] = {}
    if whole:
        found["full_attention_layers"] = whole
    for keys in words["states"]:
        sizes = [config.figure([key]) or 0 for key in keys]
        if linear and all(sizes):
            found["state_size"] = linear * math.prod(sizes)
    return found


def _first_list(found: Mapping[str, Any], names: Iterable[str]) -> Sequence[str]:
    """The first list or text under these names; an empty one where there is none."""
    for name in names:
        inner = found.get(name)
        if isinstance(inner, list | str):
            return inner
    return ()


def _tower_of(config: _ConfigFile) -> Mapping[str, Number]:
    found: dict[str, Number] = {}
    for name, keys in formula()["config_vision"].items():
        for key in keys:
            value = config.vision.get(key)
            if isinstance(value, int):
                found.setdefault(name, value)
    gated = formula()["config_parts"]["gated"]
    if "vision_layers" in found and config.vision.get("hidden_act") in gated:
        found["vision_matrices"] = 3
    return found
