"""Build the rendered Markdown with other generators and compare the addresses of their pages."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from rl_resources.publish import PAGES, render
from rl_resources.render.site import page_url

ROOT = Path(__file__).parents[2]
ASSETS = "site/assets"


def main() -> int:
    """Exit status 1 where a program fails or a page has another address."""
    parser = argparse.ArgumentParser(prog="successors", description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="a program to build with")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="emptied first")
    arguments = parser.parse_args()
    out: Path = arguments.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    ours = _write_sources(out / "docs")
    failed = [program for program in arguments.programs if not _compare(program, out, ours)]
    return 1 if failed else 0


def _write_sources(docs: Path) -> set[str]:
    """Everything rendered or written by hand, as files; gives the addresses of the pages."""
    shutil.copytree(ROOT / PAGES, docs)
    shutil.copytree(
        ROOT / ASSETS, docs, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.html")
    )
    for path, content in render(ROOT).items():
        place = docs / path
        if isinstance(content, bytes) and path.endswith(".md"):
            continue  # published beside the page as it is, which a generator would take for one
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {page_url(path.relative_to(docs).as_posix()) for path in docs.rglob("*.md")}


class _Loader(yaml.SafeLoader):
    """Reads `!ENV [NAME, default]` as the default."""


def _default(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> object:
    return loader.construct_sequence(node)[-1]


_Loader.add_constructor("!ENV", _default)


def _configuration(program: str) -> dict[str, Any]:
    """Ours without hook and templates, which need MkDocs; a warning ends no build."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
    del found["hooks"], found["theme"]["custom_dir"]
    return {**found, "strict": False, "docs_dir": "docs", "site_dir": f"site-{program}"}


def _compare(program: str, out: Path, ours: set[str]) -> bool:
    configuration = out / f"{program}.yml"
    configuration.write_text(yaml.safe_dump(_configuration(program)), encoding="utf-8")
    command = [program, "build", "-f", str(configuration)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    try:
        done = subprocess.run(
            command, cwd=out, capture_output=True, text=True, check=False, env=variables
        )
    except FileNotFoundError:
        _tell(f"{program}: is not on the path")
        return False
    site = out / f"site-{program}"
    theirs = {
        path.relative_to(site).as_posix().removesuffix("index.html")
        for path in site.rglob("*.html")
        if not (out / "docs" / path.relative_to(site)).exists()
    } - {"404.html"}
    _tell(f"{program}: exit {done.returncode}, {len(theirs & ours)} of {len(ours)} pages")
    _tell_some("missing", ours - theirs)
    _tell_some("more", theirs - ours)
    lost = {
        path.relative_to(out / "docs").as_posix()
        for path in (out / "docs").rglob("*")
        if path.is_file() and path.suffix != ".md"
    }
    _tell_some("files not copied", {path for path in lost if not (site / path).is_file()})
    if done.returncode:
        _tell((done.stderr or done.stdout)[-2000:])
    return done.returncode == 0 and theirs == ours


def _tell_some(what: str, names: set[str], most: int = 5) -> None:
    if names:
        _tell(f"  {what}: {len(names)}, {', '.join(sorted(names)[:most])}")


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    raise SystemExit(main())
