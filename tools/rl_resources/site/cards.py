"""Tables whose rows become cards on a narrow screen: each cell carries the words of its column."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

# A row begins, or a cell that stands in one column.
_PLACE = re.compile(r"<tr\b|<t[dh]\b(?![^>]*\bcolspan=)")


def labelled(rows: str, headers: Sequence[str]) -> Markup:
    """HTML of a table's body whose cells have the header of their column as `data-label`."""
    labels = [f' data-label="{escape(header)}"' for header in headers]
    following = iter(labels)

    def mark(found: re.Match[str]) -> str:
        nonlocal following
        if found[0] == "<tr":
            following = iter(labels)
            return found[0]
        return found[0] + next(following)

    return Markup(_PLACE.sub(mark, rows))  # noqa: S704 (the cells were escaped before)
