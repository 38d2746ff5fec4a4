"""Reports that say something else about the same configuration, linked to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from facts.words import table

Key = tuple[str, str]


def contradictions(ids: Mapping[Key, str]) -> dict[str, set[str]]:
    """The reports that each report contradicts, by the groups that were found by reading.

    `ids` maps statements to reports. Of a group, those of one side do not contradict each other.
    """
    groups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in table("contradictions"):
        if (row["file"], row["row"]) in ids:
            groups[row["group"]][row["side"]].add(ids[row["file"], row["row"]])
    found: dict[str, set[str]] = defaultdict(set)
    for sides in groups.values():
        for side, reports in sides.items():
            others = {other for name in sides if name != side for other in sides[name]}
            for report in reports:
                found[report] |= others
    return found
