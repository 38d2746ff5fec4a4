"""Errors as text for who builds or previews: what is wrong, at its place where that is known."""

from __future__ import annotations

import traceback

from jinja2 import TemplateSyntaxError

from rl_resources.errors import InvalidDataset, RlResourcesError
from rl_resources.render.findings import as_text


def error_as_text(error: BaseException) -> str:
    """The findings of broken data; of anything else what it says, and where it was raised."""
    if isinstance(error, InvalidDataset):
        return "".join(as_text(error.findings))
    if isinstance(error, TemplateSyntaxError):
        return f"{error.filename}:{error.lineno}: {error.message}\n"
    if not isinstance(error, RlResourcesError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}\n"
    return f"{error}\n" + (f"  help: {error.help}\n" if error.help else "")
