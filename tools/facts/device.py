"""The accelerator: our device where source or product leaves no choice of the memory size."""

from __future__ import annotations

import re
from collections.abc import Mapping

from facts.figures import GIBIBYTE_GB
from facts.statement import Statement
from facts.words import mapping


def device_cells(statement: Statement, aliases: Mapping[str, str]) -> dict[str, str]:
    """The device columns. `aliases` maps `NAME` or `NAME [MEMORY]` to a device."""
    name, memory = statement["device"], statement["device_memory_gb"]
    key = f"{name} [{memory}]" if memory else name
    decided = mapping("devices")
    return {
        "device": decided.get(key, aliases.get(key, "")),
        "device_as_published": name,
        "device_memory_gb": _gigabytes(memory, binary="values in GiB" in statement["notes"]),
    }


def _gigabytes(memory: str, *, binary: bool) -> str:
    """The number of a stated size. `2*64` is a package of two devices, and `80+` no size."""
    number = re.match(r"[0-9.]+(?![0-9.*+])", memory)
    if not number:
        return ""
    return f"{float(number[0]) * GIBIBYTE_GB:.1f}" if binary else f"{float(number[0]):g}"
