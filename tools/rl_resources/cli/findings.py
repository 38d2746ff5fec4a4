"""Findings in the streams: as results to standard output, beside them to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rl_resources.cli.command import FOUND

if TYPE_CHECKING:
    from rl_resources.finding import Finding

FORMATS = ("text", "json", "github", "sarif")


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of them is an error."""
    return any(finding.severity == "error" for finding in findings)


def show(findings: Sequence[Finding]) -> None:
    """Tell findings beside a result."""
    from rl_resources.site.findings import as_text, wants_colour

    sys.stderr.writelines(as_text(findings, coloured=wants_colour(sys.stderr, os.environ)))


def tell(findings: Sequence[Finding]) -> int:
    """Tell findings and their number beside a result; returns the exit status."""
    from rl_resources.site.findings import summary

    show(findings)
    sys.stderr.write(f"{summary(findings)}\n")
    return FOUND if has_errors(findings) else 0


def write(findings: Iterable[Finding], kind: str, version: str) -> None:
    """Write findings as the result, in one of `FORMATS`; `version` is the dataset's."""
    from rl_resources.rules import all_rules
    from rl_resources.site import findings as form

    if kind == "sarif":
        text = form.as_sarif(findings, all_rules().values(), version)
    elif kind == "text":
        text = form.as_text(findings, coloured=form.wants_colour(sys.stdout, os.environ))
    else:
        text = {"json": form.as_json, "github": form.as_github}[kind](findings)
    sys.stdout.writelines(text)
