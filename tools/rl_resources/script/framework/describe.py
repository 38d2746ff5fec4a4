"""Writing the defaults file that `shipped.py` reads, from one release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.script.framework.compose import Configuration
from rl_resources.script.framework.composition import Overrides


@dataclass(frozen=True)
class Start:
    """What training scripts start: a module, its configurations, and the group for the backend."""

    module: str
    names: tuple[str, ...]
    group: str


STARTS: Mapping[str, Start] = {
    "verl": Start("verl.trainer.main_ppo", ("ppo_trainer", "ppo_megatron_trainer"), "model_engine")
}


def describe(configuration: Configuration) -> str:
    """The defaults file of one release: the same text for the same release.

    Raises `UnusableInput` where the release has not the form that the file can hold.
    """
    start = STARTS[configuration.framework]
    entry = configuration.modules.get(start.module)
    if entry is None:
        raise _unfit(configuration, f"`{start.module}` is not there")
    folder = configuration.folder / entry.folder
    plain = _values(configuration, start, entry.config_name, ())
    own = str(plain.get(start.group))
    others = sorted(path.stem for path in (folder / start.group).glob("*.yaml"))
    values = {
        choice: _values(configuration, start, entry.config_name, [(start.group, choice)])
        for choice in [own, *(choice for choice in others if choice != own)]
    }
    names = {name: _values(configuration, start, name, ()) for name in start.names}
    document = {
        "framework": configuration.framework,
        "version": configuration.version,
        "folder": entry.folder,
        "names": {name: _choice(configuration, names[name], values) for name in names},
        "group": start.group,
        "groups": sorted(path.name for path in folder.iterdir() if path.is_dir()),
        "modules": {name: configuration.modules[name]._asdict() for name in configuration.modules},
        "choices": {choice: _difference(values, own, choice) for choice in values},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _values(
    configuration: Configuration, start: Start, name: str, overrides: Overrides
) -> Mapping[str, Any]:
    composed = configuration.compose(start.module, name, None, overrides)
    if not composed.accepted:
        raise _unfit(configuration, f"`{name}` does not compose")
    return composed.values


def _choice(
    configuration: Configuration,
    values: Mapping[str, Any],
    choices: Mapping[str, Mapping[str, Any]],
) -> str:
    for choice, others in choices.items():
        if json.dumps(values) == json.dumps(others):
            return choice
    raise _unfit(configuration, "a configuration is none of the choices of its group")


def _difference(
    choices: Mapping[str, Mapping[str, Any]], own: str, choice: str
) -> dict[str, object]:
    """What a choice changes in the default one, which is itself told whole."""
    values = choices[choice]
    first: Mapping[str, Any] = {} if choice == own else choices[own]
    known = {key: json.dumps(value) for key, value in first.items()}
    changed = {key: value for key, value in values.items() if known.get(key) != json.dumps(value)}
    return {"unset": sorted(set(first) - set(values)), "set": changed}


def _unfit(configuration: Configuration, reason: str) -> UnusableInput:
    return UnusableInput(
        f"{configuration.framework} {configuration.version}: {reason}",
        "The shipped defaults stay as they are; describe.py must learn the new form.",
    )
