"""Rows for models that reports name and the table of models does not hold yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rl_resources.check.dataset.tables import slug_of

Row = Mapping[str, str]
_COLUMNS = {
    "total_parameters_b": "parameters_b",
    "num_experts": "experts",
    **{name: name for name in ("family", "active_parameters_b", "layers", "hidden_size")},
    **{name: name for name in ("intermediate_size", "attention_heads", "kv_heads", "head_dim")},
    **{name: name for name in ("vocab_size", "tie_word_embeddings", "experts_per_token")},
    **{name: name for name in ("moe_intermediate_size", "max_position_embeddings")},
}
_PERMALINK = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<commit>[0-9a-f]{40}):(?P<place>\S+)")


def new_models(
    reports: Sequence[Row], known: Sequence[Row], references: Sequence[Row]
) -> list[dict[str, str]]:
    """One row for each; its size is that of the reports, its figures those of the reference.

    A model without a reference has the first report that names it as its source.
    """
    names = {row["model"] for row in known}
    wanted = {row["model"]: row for row in reversed(reports) if row["model"] not in names | {""}}
    figures = {row["hf_id"]: row for row in references}
    return [_row(name, report, figures.get(name, {})) for name, report in sorted(wanted.items())]


def _row(name: str, report: Row, reference: Row) -> dict[str, str]:
    cells = {ours: reference.get(theirs, "") for theirs, ours in _COLUMNS.items()}
    source = sources(reference["source"]) if reference else report["source_url"]
    return cells | {
        "model": name,
        "slug": slug_of(name),
        "size": report["size"],
        "source": source,
    }


def sources(text: str) -> str:
    """Addresses of places written as `REPO@COMMIT:PATH#LINE`, several parted by ` ; `."""
    return " ".join(_PERMALINK.sub(_address, place) for place in text.split(" ; "))


def _address(found: re.Match[str]) -> str:
    return f"https://github.com/{found['repo']}/blob/{found['commit']}/{found['place']}"
