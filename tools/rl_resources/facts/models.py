"""Models: their slugs and sizes, what people call them, and the minimum memory of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set
from functools import lru_cache
from math import inf, nan
from posixpath import basename, dirname

from rl_resources.facts import TableRow, once, records
from rl_resources.files import table_beside
from rl_resources.package import number
from rl_resources.snapshot import Snapshot
from rl_resources.text import only

_NO_PART = re.compile(r"[^\w.-]|_")


def fitting_size(snapshot: Snapshot, model: TableRow) -> str:
    """The last size that fits the parameters of a model; empty if that is in doubt.

    A size without an end reaches up to the next one.
    """
    # Without a number nothing fits: no comparison with `nan` is true.
    value = model.number("parameters_b") or nan
    found = ""
    for size in _sizes(snapshot):
        start = size.number("from_parameters_b")
        end = size.number("below_parameters_b") or inf
        if start <= value < end:
            found = size.text("size")
    return found


@once
def _sizes(snapshot: Snapshot) -> Iterator[TableRow]:
    return records(snapshot, "sizes", "size", "from_parameters_b", "below_parameters_b")


def size_of(snapshot: Snapshot, slug: str) -> str:
    """The size of the model with this slug; empty where its row is in doubt."""
    model = _models_by_slug(snapshot).get(slug)
    if model is None:
        return ""
    size = model.text("size")
    if fitting_size(snapshot, model) not in {size, ""}:
        return ""
    return size


@lru_cache(maxsize=1)
def _models_by_slug(snapshot: Snapshot) -> Mapping[str, TableRow]:
    """The models with a sound size, by the slug that they should have."""
    models = records(snapshot, "models", "model", "size")
    return {slug_of(record.text("model")): record for record in models}


def slug_of(model: str) -> str:
    """The model's part of a script name; a character that parts cannot have becomes `-`."""
    return _NO_PART.sub("-", basename(model).lower())


SIZE_IN_NAME = re.compile(
    r"(?<![0-9.x])(?<!-a)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])(?!-[0-9]+e)", re.IGNORECASE
)
"""Not what is active of a mixture of experts: `-a3b`, `8x7b`, `17b-16e`."""


def parameters_in_name(name: str) -> float:
    """The billions of parameters in a model's name; 0 if it has none."""
    found = SIZE_IN_NAME.search(name)
    if found is None:
        return 0
    return float(found[1])


_SIZE = re.compile(r"(?<![a-z0-9])\d+(?:[.-]\d+)?[bm](?![a-z0-9])")
"""A size in the name of a folder: `1.5b`, `1-5b`, `500m`."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""An owner and a name on Hugging Face; a folder and a file look the same."""
_FOLDER = re.compile(
    r".*(?:model|ckpt|checkpoint|weight|pretrain).*|data|llms?|hf|hub|huggingface|outputs?|workspace"
    r"|home|root|mnt|nas|share|shared|cache|local|verl"
)
"""What is called so is a folder and no owner."""
_CACHED = re.compile(r"(?:^|/)models--(?P<owner>[\w.-]+?)--(?P<name>[\w.-]+)(?:/|$)")
"""A folder of the cache of Hugging Face."""
_INSIDE = re.compile(
    r"(?:/(?:snapshots|main|master|hf|huggingface|base|[0-9a-f]{7,40})?)*"
)
"""What may follow the folder of a model that is still that model."""
_VARIANT = re.compile(r"-(?:instruct|base|chat|it|pt)$")
"""The end of a name that says how a model of the family was trained."""


def model_in_path(path: str, known: Collection[str]) -> str | None:
    """The name of the model that a path means; `None` where it cannot be determined.

    A directory is one if its name is like one of the `known` ones, or contains a size.
    """
    cached = _CACHED.search(path)
    if cached:
        return f"{cached['owner']}/{cached['name']}"
    if is_id(path):
        return path
    parts = list(filter(None, path.split("/")))
    alike = {_bare_name(name) for name in known}
    for part in reversed(parts):
        if _bare_name(part) in alike:
            return part
    if parts and _SIZE.search(parts[-1].lower()):
        return parts[-1]
    return None


def model_meant(path: str, known: Collection[str]) -> str:
    """The one of the `known` ids that a path means; empty if it is none, or more than one.

    A folder below that of a model may hold something made from it, and another owner's model may
    differ.
    """
    name = model_in_path(path, known)
    if not name:
        return ""
    _, _, inside = path.rpartition(name)
    if not is_id(name) and not _INSIDE.fullmatch(inside):
        return ""
    same = [model for model in known if likeness(name, [model]) == "same"]
    if is_id(name):
        owner = dirname(name.lower())
        same = [model for model in same if dirname(model.lower()) == owner]
    return only(same)


def is_id(path: str) -> bool:
    """Whether a path looks like an owner and a name on Hugging Face."""
    if _ID.fullmatch(path) is None:
        return False
    return _FOLDER.fullmatch(dirname(path.lower())) is None


def likeness(name: str, known: Collection[str]) -> str:
    """Whether a model is the `same` as the one with the `known` names, a `variant` of it or an
    `other` one; empty if that is unknown.
    """
    plain = _bare_name(name)
    others = [_bare_name(other) for other in known]
    if not plain or not others or plain in others:
        return "same"
    families = {_VARIANT.sub("", other) for other in others}
    if _VARIANT.sub("", plain) in families:
        return "variant"
    # A path with a family's name in it may be any model that was made from it.
    may_be = any(family in plain for family in families)
    if may_be and not is_id(name):
        return ""
    return "other"


def names_variant(model: str) -> bool:
    """Whether a model's name says how it was trained: `-instruct`, `-base`."""
    return _VARIANT.search(_bare_name(model)) is not None


def _bare_name(name: str) -> str:
    """A model's name in lower case, without its owner, with `-` between its words."""
    words = re.sub(r"[\W_]+", "-", basename(name.rstrip("/")).lower())
    words = words.strip("-")
    return words.removeprefix("meta-").removesuffix("-hf")


GB_PER_GIB = 1.073741824
"""A device sold with 80 GB has 80 GiB; peaks and sums here are decimal GB."""
_BYTES: Mapping[str, Mapping[str, float]] = table_beside(__file__)


def minimum_memory_gb(
    parameters_b: float, weights: str, saved: Collection[str]
) -> float:
    """The minimum memory over all devices together, in decimal GB.

    `parameters_b` are all parameters in 10⁹, including all experts, `weights` is what trains,
    `saved` are words of the table `memory_optimizations`. Unknown `weights` count as `full`.
    `models.toml` says what each parameter takes.

    Training and the rollout engine both need the weights; the larger of the two counts.
    Activations, logits, caches, a reference model and a critic are not counted. They have at least
    the 7 % by which a device has more than its nominal GB.
    """
    words = {weights, *saved}
    training = _least_bytes("weight", words)
    training += _least_bytes("gradient", words)
    training += _least_bytes("optimizer", words)
    return parameters_b * max(training, _least_bytes("engine", words))


def _least_bytes(part: str, words: Set[str]) -> float:
    """The fewest bytes of each parameter that one of these words stands for."""
    bytes_of = _BYTES[part]
    return min(
        [bytes_of[word] for word in words if word in bytes_of],
        default=bytes_of["usual"],
    )


def devices_memory(snapshot: Snapshot, record: TableRow) -> float:
    """Nominal GB of all devices of a record together; 0 if unknown."""
    gpus = record.number("gpus_maximum") or record.number("gpus")
    return gpus * device_memory(snapshot, record)


def device_memory(snapshot: Snapshot, record: TableRow) -> float:
    """Nominal GB of one device, the largest for a name such as `A100`; 0 if unknown."""
    device = snapshot.row("devices", record.text("device"))
    if device:
        return number(device["memory_gb"]) or 0
    stated = record.number("device_memory_gb")
    if stated:
        return stated
    published = record.text("device_as_published").lower()
    known = [0.0]
    for name, memory in snapshot.tables["devices"].cells(("device", "memory_gb")):
        if f"{name}-".startswith(f"{published}-"):
            known.append(number(memory) or 0)
    return max(known)
