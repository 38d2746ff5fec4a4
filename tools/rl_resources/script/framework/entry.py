"""The configuration that each module of a release starts from, read off its source text.

Hydra's decorator names it: `@hydra.main(config_path="config", config_name="ppo_trainer")`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

_MARK = b"hydra.main"


class Entry(NamedTuple):
    """Where a module's configuration lies: a folder inside the archive, and a name in it."""

    folder: str
    config_name: str


def entries(sources: Mapping[str, bytes]) -> dict[str, Entry]:
    """Dotted module name to entry, for the Python files (path to text) of an archive."""
    found: dict[str, Entry] = {}
    for path, data in sources.items():
        if _MARK in data:
            for given in _decorators(data):
                entry = _entry(path, given)
                if entry is not None:
                    found[module_name(path)] = entry
    return found


def module_name(path: str) -> str:
    """The dotted name of a module file, as `python3 -m` wants it."""
    name = path.removesuffix(".py").removeprefix("./").replace("/", ".")
    return name.removesuffix(".__main__").removesuffix(".__init__")


def folder_of(module_path: str, config_path: str) -> str | None:
    """The folder that `config_path` means to a module; `None` where it is outside the archive."""
    folder = posixpath.normpath(posixpath.join(posixpath.dirname(module_path), config_path))
    outside = posixpath.isabs(folder) or folder.split("/")[0] == ".."
    return None if outside or "://" in config_path else folder


def _entry(path: str, given: Mapping[str, object]) -> Entry | None:
    config_path, name = given.get("config_path"), given.get("config_name")
    if not isinstance(config_path, str) or not isinstance(name, str):
        return None
    folder = folder_of(path, config_path)
    return None if folder is None else Entry(folder, config_name(name))


def config_name(name: str) -> str:
    """A name as Hydra takes it: without its ending."""
    return name.removesuffix(".yaml").removesuffix(".yml")


def find_entry(
    modules: Mapping[str, Entry], module: str, name: str | None, path: str | None
) -> Entry | str | None:
    """The entry of `python3 -m MODULE --config-name NAME --config-path PATH`.

    `None` where the package of `modules` has no such module to start; text, saying why, where the
    launch leaves that package.
    """
    module = module_name(module)
    entry = modules.get(module)
    if entry is None:
        packages = {found.folder.partition("/")[0] for found in modules.values()}
        ours = module.partition(".")[0] in packages
        return None if ours else f"the framework's package has no `{module}`"
    folder = folder_of(module.replace(".", "/") + ".py", path) if path else entry.folder
    if folder is None:
        return f"the configuration folder `{path}` lies outside the framework's package"
    if name and (name.startswith("/") or ".." in name.split("/")):
        return f"the configuration `{name}` lies outside the framework's package"
    return Entry(folder, config_name(name) if name else entry.config_name)


def _decorators(data: bytes) -> Iterator[dict[str, object]]:
    """The arguments of every `@hydra.main(…)`."""
    import ast

    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "hydra.main":
                yield _arguments(decorator)


def _arguments(call: ast.Call) -> dict[str, object]:
    import ast

    named = dict(zip(("config_path", "config_name", "version_base"), call.args, strict=False))
    named |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {name: value.value for name, value in named.items() if isinstance(value, ast.Constant)}
