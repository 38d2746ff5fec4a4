"""`python -m fuzzing.guided {shell,page} FOLDER [OPTION…]`: inputs grow by what they reach.

Needs atheris, which `make fuzz-guided` puts beside our environment. FOLDER keeps the inputs between
runs; options are those of libFuzzer. What goes wrong is told with its input, and ends the run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rl_resources"]):
    from rl_resources import load
    from rl_resources.check import all_rules
    from rl_resources.check.subject import ScriptText
    from rl_resources.errors import RlResourcesError
    from rl_resources.page import rules as _  # noqa: F401 (read here, so that it is followed, too)
    from rl_resources.page.audit import audit
    from rl_resources.page.read import read_page
    from rl_resources.page.records import read_rows

from fuzzing.running import LONGEST_CPU_SECONDS, MOST_MEMORY_BYTES
from fuzzing.targets import targets

READERS = ("variables", "safety")
"""Families whose rules read a script and neither start a program nor compose a configuration."""
WORDS = Path(__file__).parent / "words"


def shell(data: bytes) -> None:
    """All that the resolver reads out of one script."""
    subject = ScriptText("x.sh", data.decode("utf-8", "replace"))
    for rule in all_rules().values():
        if rule.family in READERS:
            list(rule.findings(subject))


def page(data: bytes) -> None:
    """All that is read out of one page without its scripts."""
    text = data.decode("utf-8", "replace")
    try:
        audit(read_rows(read_page(text, "page.rst"), DATASET, None, "verl"), {})
    except RlResourcesError:
        return


DATASET = load()
KINDS: dict[str, tuple[Callable[[bytes], None], str]] = {
    "shell": (shell, "script"),
    "page": (page, "page"),
}


def _seed(folder: Path, kind: str, target: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (WORDS / f"{kind}.txt").read_bytes().splitlines()
    for data in [*(data for _, data in targets()[target].seeds), *lines]:
        (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def _dictionary(folder: Path, kind: str) -> Path:
    words = (WORDS / f"{kind}.txt").read_bytes().split()
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    path = folder.with_suffix(".words")
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return path


def main() -> None:
    """Fuzz until libFuzzer is told to stop."""
    kind, place, *options = sys.argv[1:]
    one, target = KINDS[kind]
    folder = Path(place)
    _seed(folder, kind, target)
    limits = [
        f"-dict={_dictionary(folder, kind)}",
        f"-timeout={LONGEST_CPU_SECONDS}",
        f"-rss_limit_mb={MOST_MEMORY_BYTES >> 20}",
        f"-artifact_prefix={folder}-",
    ]
    atheris.Setup([sys.argv[0], *limits, *options, str(folder)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
