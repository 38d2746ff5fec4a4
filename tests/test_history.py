"""Releases on record: what each changed, what has changed since, what must never go."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rl_resources import UnreadableDataset, load
from rl_resources.history import NEWEST, Release, read_history, release_values, with_since
from rl_resources.package import read_package
from rl_resources.query.diff import Table, Tables, diff
from rl_resources.query.undo import undone
from rl_resources.release import BREAKING, RECORD_ANEW
from rl_resources.released import SHAPE, broken_promises
from rl_resources.site import api
from rl_resources.site.api.shape import breaks, lost_ids, shape

ROOT = Path(__file__).parents[1]


def table(*rows: tuple[str, str], columns: tuple[str, str] = ("id", "gpus")) -> Tables:
    return {
        "t": Table(("id",), columns, tuple(dict(zip(columns, row, strict=True)) for row in rows))
    }


OLD = table(("kept", "1"), ("changed", "2"), ("removed", "3"), ("before", "4"))
NEW = table(("kept", "1"), ("changed", "5"), ("added", "6"), ("after", "4"))


def test_a_change_read_backwards_gives_what_was_there_before() -> None:
    (change,) = diff(OLD, NEW)
    before = undone(NEW["t"], change)
    assert diff({"t": before}, OLD) == []
    assert diff({"t": before}, NEW) == [change]


def test_a_column_that_came_or_went_is_undone_as_well() -> None:
    old, new = table(("a", "1")), table(("a", "x"), columns=("id", "device"))
    (change,) = diff(old, new)
    assert undone(new["t"], change) == old["t"]


def test_each_release_knows_what_has_changed_since() -> None:
    first = table(("a", "1"))
    second = table(("a", "2"), ("b", "1"))
    now = table(("a", "2"), ("b", "1"), ("c", "9"))
    releases = [
        Release("2026.12.0", "2026-12-01", "2026.11.0", tuple(diff(first, second))),
        Release("2026.11.0", "2026-11-01", None, tuple(diff({}, first))),
    ]
    newer, older = with_since(releases, second, now)
    assert newer.since == tuple(diff(second, now))
    assert older.since == tuple(diff(first, now))


def test_what_was_written_is_read_back() -> None:
    (release, *_) = read_history(ROOT)
    values = json.loads(json.dumps(release_values(release)))
    recorded = json.loads((ROOT / f"releases/{release.version}.json").read_text())
    assert recorded.pop("moments") == release.moments
    assert {**values, "since_release": None} == {**recorded, "since_release": None}


def test_a_tree_without_releases_says_that_there_are_none(tmp_path: Path) -> None:
    assert read_history(tmp_path) == []
    assert broken_promises(tmp_path) == []
    listed = api.documents(load(), api.Publication())
    (changes,) = [item for item in listed if item.path == "changes.json"]
    assert changes.value["releases"] == []


def test_without_the_copy_of_the_newest_nothing_is_claimed_about_later_changes(
    tmp_path: Path,
) -> None:
    shutil.copytree(ROOT / "releases", tmp_path / "releases")
    shutil.rmtree(tmp_path / NEWEST)
    (release, *_) = read_history(tmp_path)
    assert release_values(release)["since_release"] is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": "x"}'])
def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "releases").mkdir()
    (tmp_path / "releases" / "2026.11.0.json").write_text(text)
    with pytest.raises(UnreadableDataset, match=r"releases/2026\.11\.0\.json"):
        read_history(tmp_path)


def test_a_row_changed_since_the_release_is_published_as_changed(tmp_path: Path) -> None:
    for name in ("records", "schema", "releases"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "datapackage.json", tmp_path)
    newest = tmp_path / NEWEST / "records" / "devices.csv"
    text = newest.read_text(encoding="utf-8")
    newest.write_text(text.replace("h100,", "h100-old,", 1), encoding="utf-8")
    (release, *_) = read_history(tmp_path)
    (change,) = [item for item in release.since or () if item.name == "devices"]
    assert change.renamed or (change.added and change.removed)
    dataset = load()
    listed = api.documents(dataset, api.Publication(releases=[release]))
    (document,) = [item for item in listed if item.template == "changes/{version}.json"]
    assert "h100-old" in document.text


def test_no_promise_of_the_newest_release_is_broken() -> None:
    assert (ROOT / SHAPE).is_file()
    assert broken_promises(ROOT) == [], f"{BREAKING} {RECORD_ANEW}"


def test_a_record_that_goes_without_a_word_is_told_once(tmp_path: Path) -> None:
    for name in ("records", "schema", "releases"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "datapackage.json", tmp_path)
    tuning = tmp_path / "records" / "tuning.csv"
    lines = tuning.read_text(encoding="utf-8").splitlines(keepends=True)
    tuning.write_text("".join(lines[:-1]), encoding="utf-8")
    name = lines[-1].partition(".sh,")[0]
    assert broken_promises(tmp_path) == [
        f"tuning: the id {name} is gone, and no row of records/moved.csv says where to"
    ]
    with (tmp_path / "records" / "moved.csv").open("a", encoding="utf-8") as moved:
        moved.write(f"tuning,{name},,2027.1.0,It never ran.\n")
    assert broken_promises(tmp_path) == []


def test_the_newest_release_is_that_of_the_data() -> None:
    (release, *_) = read_history(ROOT)
    assert release.version == read_package(ROOT).version == read_package(ROOT / NEWEST).version
    assert date.fromisoformat(release.day)


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    dataset = load()
    return shape(dataset, api.documents(dataset, api.Publication()))


def fields(value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = value["schemas"]["TuningRecord"]["properties"]
    return found


def _set(name: str, **words: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: fields(value)[name].update(words)


def _optional(value: dict[str, Any]) -> None:
    value["schemas"]["TuningRecord"]["required"].remove("gpus")


def _list_of_numbers(value: dict[str, Any]) -> None:
    value["schemas"]["Device"]["properties"]["aliases"]["items"] = {"type": "number"}


def _size_may_be_null(value: dict[str, Any]) -> None:
    value["schemas"]["SizeDocument"]["properties"]["size"] = {
        "anyOf": [{"$ref": "#/components/schemas/Size"}, {"type": "null"}]
    }


def _other_schema(value: dict[str, Any]) -> None:
    value["paths"]["devices.json"] = "ModelsDocument"


BREAKS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda value: fields(value).pop("gpus"), "TuningRecord.gpus: the field is gone"),
    (_optional, "TuningRecord.gpus: the field may be missing"),
    (_set("gpus", type="string"), "TuningRecord.gpus: the type was integer and is string"),
    (_set("gpus", type="number"), "TuningRecord.gpus: the type was integer and is number"),
    (
        _set("gpus", type=["integer", "null"]),
        "TuningRecord.gpus: the type was integer and is integer or null",
    ),
    (
        _set("max_batch", type="null"),
        "TuningRecord.max_batch: the type was integer or null and is null",
    ),
    (
        lambda value: fields(value)["gpus"].pop("type"),
        "TuningRecord.gpus: the type was integer and is anything",
    ),
    (
        _set("tag", enum=["MIN"]),
        "TuningRecord.tag: the word 'RECOMMENDED' is gone from its vocabulary",
    ),
    (_set("tested_on", format="uri"), "TuningRecord.tested_on: the format was date and is uri"),
    (_list_of_numbers, "Device.aliases[]: the type was string and is number"),
    (_size_may_be_null, "SizeDocument.size: the type was object and is null or object"),
    (
        lambda value: value["paths"].pop("sizes/7b.json"),
        "sizes/7b.json: the address is gone",
    ),
    (_other_schema, "DevicesDocument.devices: the field is gone"),
]


@pytest.mark.parametrize(("edit", "told"), BREAKS, ids=[told for _, told in BREAKS])
def test_what_would_break_a_reader_is_told_once(
    published: dict[str, Any], edit: Callable[[dict[str, Any]], Any], told: str
) -> None:
    new = copy.deepcopy(published)
    edit(new)
    assert breaks(published, new) == [told]


def _added(value: dict[str, Any]) -> None:
    record = value["schemas"]["TuningRecord"]
    record["properties"]["new"] = {"type": "string"}
    record["required"].append("new")
    record["properties"]["tag"]["enum"].append("FAST")
    value["paths"]["new.json"] = "NewDocument"
    value["schemas"]["NewDocument"] = {"type": "object"}


def _never_null_any_more(value: dict[str, Any]) -> None:
    fields(value)["max_batch"]["type"] = "integer"
    fields(value)["peak_memory_gb"]["type"] = "integer"


def _called_otherwise(value: dict[str, Any]) -> None:
    value["schemas"]["Tested"] = value["schemas"].pop("TuningRecord")
    text = json.dumps(value).replace("schemas/TuningRecord", "schemas/Tested")
    value.clear()
    value.update(json.loads(text))


@pytest.mark.parametrize("edit", [_added, _never_null_any_more, _called_otherwise])
def test_what_no_reader_stumbles_over_is_passed(
    published: dict[str, Any], edit: Callable[[dict[str, Any]], Any]
) -> None:
    new = copy.deepcopy(published)
    edit(new)
    assert breaks(published, new) == []


def test_an_id_that_goes_must_lead_somewhere() -> None:
    key = ("script",)
    columns = ("script", "gpus")
    row = {"script": "old.sh", "gpus": "1"}
    old = {"tuning": Table(key, columns, (row,))}
    since = diff(old, {"tuning": Table(key, columns, ())})
    dataset = load()
    assert lost_ids(dataset, since) == {"tuning": ["old"]}
    renamed = diff(old, {"tuning": Table(key, columns, ({**row, "script": "new.sh"},))})
    assert lost_ids(dataset, renamed) == lost_ids(dataset, since)
    moved = {"resource": "tuning", "id": "old", "moved_to": None, "version": "1", "reason": "x"}
    mended = dataclasses.replace(dataset, records={**dataset.records, "moved": (moved,)})
    assert lost_ids(mended, since) == {"tuning": []}
