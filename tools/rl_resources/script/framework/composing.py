"""Composing what a command starts from, under one release of its framework."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rl_resources.script.framework.composition import Composition, Overrides
from rl_resources.script.framework.source import CannotComposeError, Source

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch


def compose_module(
    source: Source,
    module: str,
    config_name: str | None,
    config_path: str | None,
    overrides: Overrides,
) -> Composition:
    """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`."""
    from rl_resources.script.framework.overrides import composed  # imports Hydra

    try:
        entry = source.entry(module_name(module), config_name, config_path)
        return composed(source, entry, tuple(overrides))
    except CannotComposeError as error:
        rejected = (error.rejection,) if error.rejection else ()
        problem = "" if rejected else str(error)
        return Composition(source.framework, source.version, None, rejected, problem)


def module_name(path: str) -> str:
    """The dotted name of a module or its file, as `python3 -m` wants it."""
    name = path.removesuffix(".py").removeprefix("./").replace("/", ".")
    return name.removesuffix(".__main__").removesuffix(".__init__")


def compose_launch(source: Source, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` where an argument that matters is not known statically.
    """
    overrides = [(f"{item.prefix}{item.key}", item.value) for item in launch.overrides]
    composed = compose_module(
        source, launch.module, launch.config_name, launch.config_path, overrides
    )
    if launch.multirun:
        kept = tuple(item for item in composed.rejected if item.kind != "sweep")
        composed = replace(composed, rejected=kept)
    problem = _hidden(launch)
    return replace(composed, config=None, problem=problem) if problem else composed


def _hidden(launch: Launch) -> str:
    """Why it is not known from what configuration the launch starts; empty where it is."""
    for flag in launch.flags:
        if flag.name == "config-dir":
            return "`--config-dir` adds configurations from outside the framework's package"
        if flag.name.startswith("config-") and (flag.value is None or flag.value.text is None):
            return f"the value of `--{flag.name}` is not known without running the script"
    if any(item.key == "hydra.searchpath" for item in launch.hydra):
        return "`hydra.searchpath` adds configurations from outside the framework's package"
    return ""
