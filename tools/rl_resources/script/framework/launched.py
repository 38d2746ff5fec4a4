"""Composing what a script launches, as `script/launch` reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rl_resources.script.framework.composition import Composition, Overrides

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch

_OWN = "hydra.searchpath"


class Known(Protocol):
    """`Configuration` or `Shipped`."""

    def compose(
        self, module: str, config_name: str | None, config_path: str | None, overrides: Overrides
    ) -> Composition:
        """The configuration of one launch."""


def compose_launch(known: Known, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` where an argument that matters cannot be known statically.
    """
    overrides = [(f"{item.prefix}{item.key}", item.value) for item in launch.overrides]
    composed = known.compose(launch.module, launch.config_name, launch.config_path, overrides)
    if launch.multirun:
        kept = tuple(item for item in composed.rejected if item.kind != "sweep")
        composed = replace(composed, rejected=kept)
    hidden = _hidden(launch)
    return replace(composed, values={}, problem=hidden) if hidden else composed


def _hidden(launch: Launch) -> str:
    """Why the configuration that the launch starts from cannot be told; empty where it can."""
    for flag in launch.flags:
        if flag.name == "config-dir":
            return "`--config-dir` adds configurations from outside the framework's package"
        if flag.name.startswith("config-") and (flag.value is None or flag.value.text is None):
            return f"the value of `--{flag.name}` cannot be known without running the script"
    if any(item.key == _OWN for item in launch.hydra):
        return f"`{_OWN}` adds configurations from outside the framework's package"
    return ""
