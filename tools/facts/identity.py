"""Ids that stay: made from what the source says and where, never from how we read it."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from facts.statement import Statement

_DIGITS = 6


def report_id(statement: Statement) -> str:
    """`MODEL-TASK-GPUS-DEVICE-HASH` in the source's own words, as far as an id may hold them.

    The hash is of everything that tells the statement from others, so the id depends neither on
    other statements nor on our tables of words.
    """
    model = re.sub(r"\A[\w.-]+/", "", statement["model"])
    words = (model, *(statement[column] for column in ("task", "num_gpus", "device")))
    digest = hashlib.sha256("\x1f".join(statement.identity).encode()).hexdigest()
    return "-".join(filter(None, [*(_slug(word) for word in words), digest[:_DIGITS]]))


def _slug(words: str) -> str:
    """Lower-case letters, digits and points; no more than forty signs."""
    ascii_words = unicodedata.normalize("NFKD", words).encode("ascii", "ignore")
    bare = re.sub(r"[^a-z0-9.]+", "-", ascii_words.decode().lower())
    return re.sub(r"[.-]*-[.-]*|\.{2,}", "-", bare)[:40].strip(".-")
