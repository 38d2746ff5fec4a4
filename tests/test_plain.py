"""Texts that are told to be right by their letters alone: they are."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rl_resources.package import Field, read_package
from rl_resources.schema.constraints import whole
from rl_resources.schema.plain import plain_cells, plain_form
from rl_resources.schema.text import PLAIN, RARE, SCHEME, SIGNS
from sample_tree import REPOSITORY

FIELDS = [
    field
    for resource in read_package(REPOSITORY).resources.values()
    for field in resource.schema.fields
    if field.pattern and plain_form(field.pattern)
]
PATTERNS = sorted({field.pattern for field in FIELDS if field.pattern})
SPOILING = (*"-@%=&; :{", "\u00e9", "/../../", "xn--", "javascript:", "/b(at)c.de", SCHEME)
LETTERS = [chr(sign) for sign in range(128) if re.match(f"[{PLAIN}]", chr(sign))]


def are_plain(pattern: str, *cells: str) -> list[bool]:
    plain = plain_cells(pl.col("cell"), pattern)
    assert plain is not None
    return pl.DataFrame({"cell": cells}).select(plain).to_series().to_list()


def inserted(text: str, at: int, part: str) -> str:
    return text[:at] + part + text[at:]


@given(st.lists(st.sampled_from([SCHEME, "..", "xn--", "data", "script", *LETTERS])).map("".join))
def test_plain_letters_have_no_sign(text: str) -> None:
    assume(not text.startswith("-") and not re.search(RARE, text))
    assert not re.search(SIGNS, text)


@given(st.from_regex(re.compile(SIGNS), fullmatch=True, alphabet="".join(LETTERS)))
def test_a_sign_of_plain_letters_is_rare(text: str) -> None:
    assert text.startswith("-") or re.search(RARE, text)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(data=st.data())
def test_a_plain_text_holds_its_pattern_and_has_no_mistake(
    pattern: str, data: st.DataObject
) -> None:
    held = st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)
    spoilt = st.builds(inserted, held, st.integers(0, 20), st.sampled_from(SPOILING))
    cells = data.draw(st.lists(held | spoilt, min_size=1, max_size=20))
    for cell, plain in zip(cells, are_plain(pattern, *cells), strict=True):
        if plain:
            assert re.search(whole(pattern), cell)
            assert not re.search(SIGNS, cell)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_examples_are_plain(field: Field) -> None:
    assert field.pattern
    one = field.example.split(field.delimiter)[0] if field.type == "list" else field.example
    if one:
        assert are_plain(field.pattern, one) == [set(one.removeprefix(SCHEME)) <= set(LETTERS)]


@pytest.mark.parametrize(
    "pattern",
    [
        "[]a]",
        r"a\b",
        "(?P<x>a)",
        "(?i)a",
        "[[:alpha:]]",
        r"\p{L}+",
        r"\x41",
        ".*",
        r"[^,]+",
        "[a ]",
        "a b",
    ],
)
def test_a_pattern_of_which_it_cannot_be_told(pattern: str) -> None:
    assert plain_form(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "plain", "others"),
    [
        (r"[a-z@]+\.sh", ["a.sh", "java.sh"], ["a@b.sh", "a..sh", "xn--a.sh", "a.sh\n", ""]),
        (r"[^\s]+", ["a", "a-b"], ["-a", "é", "a;b", "a b"]),
        (r"https://[a-z.]+(?::[0-9]+)?", ["https://a.b"], ["https://a.b:80", "http://a.b"]),
        ("a:b|c{2,3}", ["cc", "ccc"], ["a:b", "c"]),
    ],
)
def test_what_is_plain(pattern: str, plain: list[str], others: list[str]) -> None:
    told = are_plain(pattern, *plain, *others)
    assert told == [True] * len(plain) + [False] * len(others)
