"""One site whose rows hold every payload, built without the rules: a browser sees text alone."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from rl_resources.package import Field, read_package
from website import MKDOCS_WITHOUT_RULES, ROOT, build_site, copy_checkout, served, visited

CLASSES = tomllib.loads((ROOT / "tests/hostile/payloads.toml").read_text(encoding="utf-8"))
PAYLOADS = [
    text
    for found in CLASSES.values()
    for kind in ("refused", "shown")
    for text in found.get(kind, ())
]


def _is_free(field: Field, keys: set[str]) -> bool:
    closed = field.pattern or "enum" in field.constraints or field.name in keys
    return field.type == "string" and not closed


def _fill(root: Path, name: str) -> None:
    """Give a table one row more for each payload, which stands in all its free columns."""
    resource = read_package(root).resources[name]
    path = root / resource.path
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = {key.field for key in resource.schema.foreign_keys}
    free = [field.name for field in resource.schema.fields if _is_free(field, keys)]
    (key,) = resource.schema.primary_key
    good = rows[0]
    rows += [
        {**good, **dict.fromkeys(free, text), key: f"payload-{number}"}
        for number, text in enumerate(PAYLOADS)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, good, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The site, and where it is served."""
    folder = tmp_path_factory.mktemp("payloads")
    root = copy_checkout(folder / "checkout")
    for name in ("devices", "reports"):
        _fill(root, name)
    done = build_site(root, folder / "site", MKDOCS_WITHOUT_RULES)
    assert done.returncode == 0, done.stderr[-3000:]
    with served(folder / "site") as origin:
        yield folder / "site", origin


def _seen(text: str) -> str:
    """A text as a page may lay it out: blanks are one, and what has no shape is away."""
    return "".join(sign for sign in text if sign.isprintable() and not sign.isspace())


@pytest.mark.parametrize("page", ["/devices/", "/reports/", "/charts/", "/data/", "/"])
def test_every_payload_is_text_and_runs_nothing(
    browser: Browser, full: tuple[Path, str], page: str
) -> None:
    with visited(browser, full[1] + page) as (tab, wrong):
        assert wrong == []
        assert tab.evaluate("window.hacked") is None
        assert (
            tab.locator("article iframe, article object, article embed, article form form").count()
            == 0
        )
        assert (
            tab.locator(
                "[href^='javascript:'], [href^='data:'], [src*='elsewhere.invalid']"
            ).count()
            == 0
        )
        shown = _seen(tab.locator("body").text_content() or "")
        if page == "/devices/":
            assert [text for text in PAYLOADS if _seen(text) not in shown] == []


def test_feeds_and_pictures_are_well_formed_and_hold_no_script(full: tuple[Path, str]) -> None:
    files = [path for path in full[0].rglob("*") if path.suffix in {".svg", ".xml", ".atom"}]
    assert files
    for path in files:
        tags = {str(item.tag).rpartition("}")[2] for item in ElementTree.parse(path).iter()}  # noqa: S314
        assert tags & {"script", "foreignObject", "iframe"} == set(), path


def test_the_api_gives_every_payload_back(full: tuple[Path, str]) -> None:
    found = json.loads((full[0] / "api" / "v1" / "devices.json").read_text(encoding="utf-8"))
    names = [item["name"] for item in next(v for v in found.values() if isinstance(v, list))]
    assert names[-len(PAYLOADS) :] == PAYLOADS
