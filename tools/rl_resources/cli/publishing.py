"""`export`, `build` and `compat`: what is derived from the dataset."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from rl_resources.cli.command import FOUND, Arguments, command, root_of, root_of_answers
from rl_resources.dataset import Dataset, is_packaged, read_dataset
from rl_resources.errors import UnusableInput, refuse_errors
from rl_resources.files import write_file
from rl_resources.git import read_repository
from rl_resources.package import read_package
from rl_resources.text import nearest


def _rst(dataset: Dataset, size: str, script_url: str | None) -> str:
    from rl_resources.site import rst

    if size:
        return rst.size_table(dataset, size, script_url)
    return rst.device_tuning(dataset, script_url)


def _json(dataset: Dataset, size: str, _: str | None) -> str:
    from rl_resources.site import api

    document = api.size_document(dataset, size) if size else api.records_document(dataset)
    return document.text


def _markdown(dataset: Dataset, size: str, script_url: str | None) -> str:
    from rl_resources.site import tuning_table

    sizes = [size] if size else tuning_table.sizes(dataset)
    return tuning_table.markdown(dataset, sizes, script_url)


KINDS = {"rst": _rst, "json": _json, "markdown": _markdown}
"""What `export` writes: of a dataset, one size of it or all, with the URL of scripts."""


def _export_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("kind", choices=[*KINDS])
    add("--size", metavar="S", help="only this size, for example 7B")
    add("--script-url", metavar="TEMPLATE", help="URL of a script, with {path} or {script}")
    add("--out", metavar="FILE", help="write to a file, not to standard output")


@command(_export_options, "check")
def export(arguments: Arguments) -> int:
    """Write one rendering alone."""
    root = root_of_answers(arguments)
    script_url = arguments.script_url
    if not is_packaged(root):
        from rl_resources.check import check_root

        refuse_errors(check_root(root))
        script_url = script_url or read_repository(root).script_url()
    dataset = read_dataset(read_package(root))
    size = _section(dataset, arguments.size) if arguments.size else ""
    text = KINDS[arguments.kind](dataset, size, script_url)
    if arguments.out:
        write_file(Path(arguments.out), text)
    else:
        sys.stdout.write(text)
    return 0


def _section(dataset: Dataset, size: str) -> str:
    known = {str(row["size"]).lower(): str(row["size"]) for row in dataset.records["sizes"]}
    if size.lower() not in known:
        raise UnusableInput(f"no size is called {size!r}", nearest(size, known.values()).sentence())
    return known[size.lower()]


def _build_options(parser: ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", help="write DIR/site (default: build)")


@command(_build_options, "site")
def build(arguments: Arguments) -> int:
    """Build everything that is published."""
    from rl_resources.build import build

    root = root_of(arguments)
    print(build(root, Path(arguments.out) if arguments.out else root / "build"))
    return 0


def _compat_options(parser: ArgumentParser) -> None:
    help_ = "only these releases, keep the rest"
    parser.add_argument("--framework-version", nargs="+", metavar="V", help=help_)


@command(_compat_options, "check")
def compat(arguments: Arguments) -> int:
    """Compose every script's configuration with every release."""
    from rl_resources.compat import compat

    root = root_of(arguments)
    found = compat(root, arguments.framework_version, lambda text: print(text, file=sys.stderr))
    for path, text in found.files.items():
        write_file(root / path, text)
    for line in found.summary:
        print(line)
    for line in found.problems:
        print(f"rl-resources: {line}", file=sys.stderr)
    return FOUND if found.problems else 0
