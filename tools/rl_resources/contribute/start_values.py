"""Starting values for batch and parallel sizes: rules of thumb, stated here and tested nowhere.

* A node has 8 GPUs, or the largest number below that divides them all.
* A step has four updates of 64 prompts or more, each a multiple of the GPUs; one from 512 on.
* A rollout engine is the smallest group of GPUs in whose memory the weights in 16 bits take no
  more than half of its share; if that is not known it is a whole node.
* Megatron splits a model into the fewest parts that leave half of the memory to activations, with
  6 bytes per parameter for weights and gradients, and 12 for the optimizer's state, spread over the
  data-parallel ranks, unless it is offloaded. Experts are spread over a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd

from rl_resources.errors import UnusableInput
from rl_resources.package import Record

MOST_PER_NODE = 8
LARGEST_ENGINE = 64
LEAST_UPDATE_PROMPTS = 64
LARGEST_SPLIT_UPDATE_PROMPTS = 512
UPDATES = 4
WEIGHT_BYTES = 2
GRADIENT_BYTES = 6
OPTIMIZER_BYTES = 12


@dataclass(frozen=True, slots=True)
class Cluster:
    """The GPUs, with `memory_gb` of each, `None` if that is not known."""

    gpus: int
    nodes: int
    memory_gb: float | None

    @property
    def per_node(self) -> int:
        """GPUs of each node."""
        return self.gpus // self.nodes


@dataclass(frozen=True, slots=True)
class Shape:
    """A model as far as it decides sizes; `parameters_b` counts 10⁹, 0 experts is a dense model."""

    parameters_b: float | None
    layers: int = 1
    heads: int | None = None
    kv_heads: int | None = None
    experts: int = 0

    def splits_into(self, parts: int) -> bool:
        """Whether every layer can be divided over `parts` GPUs."""
        if self.heads is None:
            return parts & (parts - 1) == 0 and parts <= MOST_PER_NODE
        kv_heads = self.kv_heads or self.heads
        return self.heads % parts == 0 and (kv_heads % parts == 0 or parts % kv_heads == 0)


def shape_of(model: Record) -> Shape:
    """The figures of a row of `models`."""
    names = ("layers", "attention_heads", "kv_heads", "experts")
    layers, heads, kv_heads, experts = (int(_figure(model, name) or 0) for name in names)
    parameters = _figure(model, "parameters_b")
    return Shape(parameters, layers or 1, heads or None, kv_heads or None, experts)


def _figure(row: Record, name: str) -> float | None:
    value = row.get(name)
    return value if isinstance(value, int | float) else None


def cluster_of(gpus: int, nodes: int | None, device: Record) -> Cluster:
    """`gpus` GPUs on `nodes`. Raises `UnusableInput` where these do not divide them."""
    if nodes is not None and gpus % nodes:
        raise UnusableInput(f"{gpus} GPUs cannot be divided over {nodes} nodes")
    each = max(part for part in _divisors(gpus) if part <= MOST_PER_NODE)
    return Cluster(gpus, nodes or gpus // each, _figure(device, "memory_gb"))


def batch_of(gpus: int) -> tuple[int, int]:
    """Prompts per step and per update, which every number of data-parallel ranks divides."""
    update = -(-LEAST_UPDATE_PROMPTS // gpus) * gpus
    return (update * UPDATES if update < LARGEST_SPLIT_UPDATE_PROMPTS else update), update


def engine_size(shape: Shape, cluster: Cluster, share: float) -> int:
    """GPUs of one rollout engine, which fills its nodes if it spans several."""
    over = [cluster.per_node * nodes for nodes in _divisors(cluster.nodes)]
    possible = {*_divisors(cluster.per_node), *(size for size in over if size <= LARGEST_ENGINE)}
    sizes = [size for size in sorted(possible) if shape.splits_into(size)]
    memory, parameters = cluster.memory_gb, shape.parameters_b
    if memory is None or parameters is None:
        return max(size for size in sizes if size <= cluster.per_node)
    room = memory * share / 2
    fitting = (size for size in sizes if parameters * WEIGHT_BYTES / size <= room)
    return next(fitting, sizes[-1])


def _divisors(number: int) -> list[int]:
    return [part for part in range(1, number + 1) if number % part == 0]


def expert_parallel(shape: Shape, cluster: Cluster) -> int:
    """GPUs of a node over which the experts of a layer are spread evenly."""
    return gcd(shape.experts, cluster.per_node) if shape.experts else 1


def megatron_sizes(shape: Shape, cluster: Cluster, *, offload: bool) -> tuple[int, int]:
    """GPUs of a layer (tensor parallel) and stages (pipeline parallel).

    They are the fewest that fit, else the most that are possible.
    """
    possible = list(_megatron_splits(shape, cluster))
    fitting = (split for split in possible if _fits(shape, cluster, *split, offload=offload))
    return next(fitting, possible[-1])


def _megatron_splits(shape: Shape, cluster: Cluster) -> Iterator[tuple[int, int]]:
    expert, kv_heads = expert_parallel(shape, cluster), shape.kv_heads or shape.heads or 1
    sizes = [size for size in _divisors(cluster.per_node) if kv_heads % size == 0]
    stages = [number for number in _divisors(cluster.nodes) if shape.layers % number == 0]
    for pipeline, tensor in product(stages, filter(shape.splits_into, sizes)):
        if cluster.gpus % (tensor * pipeline) == 0 == cluster.gpus % (expert * pipeline):
            yield tensor, pipeline


def _fits(shape: Shape, cluster: Cluster, tensor: int, pipeline: int, *, offload: bool) -> bool:
    if shape.parameters_b is None or cluster.memory_gb is None:
        return False
    ranks = cluster.gpus // (tensor * pipeline)
    each = GRADIENT_BYTES + (0 if offload else OPTIMIZER_BYTES / ranks)
    parts = max(tensor, expert_parallel(shape, cluster)) * pipeline
    return shape.parameters_b * each / parts <= cluster.memory_gb / 2
