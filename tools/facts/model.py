"""The model: its Hugging Face id where the source names it well enough, and its size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from facts.statement import Statement
from facts.words import table

_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_NOT_TOLD_APART = ("base from Instruct", "base or -it")
_BILLIONS = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?) ?[Bb](?![A-Za-z0-9])|-([0-9.]+)[Bb]\b")


class Models:
    """Spellings, sizes of known models, and the bounds of the sizes."""

    def __init__(
        self,
        aliases: Sequence[Mapping[str, str]],
        known: Sequence[Mapping[str, str]],
        sizes: Sequence[Mapping[str, str]],
    ) -> None:
        self._aliases = {
            row["as_named_in_facts"]: row["hf_id_or_slug"]
            for row in aliases
            if row["kind"] == "model" and not any(doubt in row["note"] for doubt in _NOT_TOLD_APART)
        }
        self._decided = {row["published"]: row for row in table("models")}
        self._size_of = {row["model"]: row["size"] for row in known}
        self._sizes = sizes

    def cells(self, statement: Statement) -> dict[str, str]:
        """The model columns. A model without a size cannot stand in the table of models."""
        name = statement["model"]
        model = self._id(name)
        size = self._size_of.get(model) or self._stated_size(statement)
        return {"model": model if size else "", "model_as_published": name, "size": size}

    def _id(self, name: str) -> str:
        if name in self._decided:
            return self._decided[name]["model"]
        if name in self._aliases:
            return self._aliases[name]
        return name if _ID.fullmatch(name) else ""

    def _stated_size(self, statement: Statement) -> str:
        if size := self._decided.get(statement["model"], {}).get("size"):
            return size
        stated = statement["params_b"] or _in_name(statement["model"])
        return self.size(float(stated)) if stated else ""

    def size(self, billions: float) -> str:
        """The size that a number of parameters belongs to."""
        return next(
            row["size"]
            for row in reversed(self._sizes)
            if float(row["from_parameters_b"]) <= billions
        )


def _in_name(name: str) -> str:
    found = _BILLIONS.search(name)
    return (found[1] or found[2]) if found else ""
