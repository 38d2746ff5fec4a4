"""Errors as text for who builds or previews: what is wrong, at its place where that is known."""

from __future__ import annotations

import traceback
from pathlib import Path

import jinja2

from rl_resources.errors import InvalidDataset, RlResourcesError
from rl_resources.site.findings import as_text

_JINJA = Path(jinja2.__file__).parent


def error_as_text(error: BaseException) -> str:
    """The findings of broken data; of anything else what it says, and where it was raised."""
    if isinstance(error, InvalidDataset):
        return "".join(as_text(error.findings))
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename}:{error.lineno}: {error.message}\n"
    if not isinstance(error, RlResourcesError):
        return f"{_place(error)}: {type(error).__name__}: {error}\n"
    return f"{error}\n" + (f"  help: {error.help}\n" if error.help else "")


def _place(error: BaseException) -> str:
    """Where it was raised; in a template, where that asked for what is not there."""
    frames = traceback.extract_tb(error.__traceback__)
    of_ours = [item for item in frames if _JINJA not in Path(item.filename).parents]
    return "{0.filename}:{0.lineno}".format((of_ours or frames)[-1])
