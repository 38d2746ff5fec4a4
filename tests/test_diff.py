"""`diff`: which records differ between two states, and how that is reported."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from botched_tree import commit, git
from cases import cases
from rl_resources.query.diff import StateTable, TableDiff, diff
from rl_resources.site import changes
from sample_tree import apply, plant

RECORD = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
HOSTILE = "<script>x</script> **bold** [a](javascript:b) | `c` @someone #1 ::error::d\u202e"


def _table(*rows: Mapping[str, str], key: tuple[str, ...] = ("id",)) -> StateTable:
    return StateTable(key, rows)


@cases("diff", "differs")
def test_what_differs_in_a_table(old, new, expected):
    found = diff({"t": _table(*old)}, {"t": _table(*new)})
    assert " ".join(part for item in found for part in _parts(item)) == expected


def _parts(item: TableDiff) -> Iterator[str]:
    yield from (f"- {name}" for (name,) in item.removed)
    yield from (f"+ {name}" for (name,) in item.added)
    for (name,), cells in item.changed.items():
        yield from (f"~ {name} {' '.join(cell)}" for cell in cells)


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders: the sample, and a copy in which much has changed."""
    old, new = plant(tmp_path / "old"), plant(tmp_path / "new")
    tuning = "records/tuning.csv"
    larger = {"script": RECORD.replace("_2_h800_", "_4_h800_"), "gpus": "4"}
    for line, cells in ((2, larger), (3, {"max_batch": "32"})):
        apply(new, [{"file": tuning, "line": line, "set": cells}])
    return old, new


def test_every_format_says_what_differs(states, command):
    text = command("diff", *states)
    assert text.startswith("tuning: 1 removed, 1 added, 1 changed\n")
    assert f"  - {RECORD}\n" in text
    assert "      max_batch: 16 -> 32\n" in text
    (found,) = json.loads(command("diff", *states, "--format", "json"))
    assert found["removed"][0]["script"] == RECORD
    assert found["changed"][0]["changes"] == [{"field": "max_batch", "old": "16", "new": "32"}]
    text = command("diff", *states, "--format", "markdown")
    page = MarkdownIt("commonmark").enable("table").render(text)
    assert page.startswith("<p><strong>Deleted from tuning</strong></p>")
    assert "max_batch: 16 -&gt; 32</li>" in page
    assert page.index("Deleted") < page.index("Added") < page.index("Changed")


def test_nothing_that_a_contributor_wrote_is_active_in_markdown():
    row = dict.fromkeys(["script", "model", "notes", "x"], HOSTILE)
    old = {"tuning": _table(row, key=("script",)), "t": _table({**row, "id": "1"})}
    new = {"tuning": _table({**row, "script": "b|", "x": ""}, key=("script",))}
    new["t"] = _table({**row, "id": "1", "x": "![y](https://z)"}, {**row, "id": HOSTILE})
    text = changes.as_markdown(diff(old, new))
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert page.count("<strong>") == text.count("**") // 2
    assert all(mark not in page for mark in ("<script", "<a", "<img", "<code", "\u202e"))
    assert "@" not in text


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with the sample below its top folder, committed and tagged `one`."""
    root = plant(tmp_path / "top" / "data")
    git(tmp_path / "top", "init", "-q")
    commit(tmp_path / "top")
    git(tmp_path / "top", "tag", "one")
    return root


def test_a_revision_is_compared_with_the_files_here_and_nothing_is_checked_out(repository, command):
    apply(repository, [{"file": "records/trials.csv", "delete_line": 2}])
    before = git(repository, "status", "--porcelain")
    assert command("diff", "--root", repository, "one").startswith("trials: 1 removed\n")
    assert git(repository, "status", "--porcelain") == before


def test_a_revision_may_lack_tables_and_hold_properties_that_nobody_knows(repository, command):
    descriptor = json.loads((repository / "datapackage.json").read_text(encoding="utf-8"))
    resources = [item for item in descriptor["resources"] if item["name"] != "trials"]
    (repository / "datapackage.json").write_text(json.dumps({"resources": resources}))
    tasks = repository / "schema" / "tasks.json"
    tasks.write_text(json.dumps({"fields": [{"odd": 1}], "primaryKey": ["task"]}))
    commit(repository)
    assert command("diff", "--root", repository, "one", "HEAD").startswith("trials: ")


@cases("diff", "unreadable")
def test_a_state_that_cannot_be_read_ends_with_exit_status_2(tmp_path, command, edit, message):
    old, new = plant(tmp_path / "old"), plant(tmp_path / "new")
    apply(new, [edit])
    assert message in command("diff", old, new, status=2)


@pytest.mark.parametrize("name", ["no-such-thing", "--output=x"])
def test_what_is_neither_revision_nor_folder_is_refused(repository, command, name):
    said = command("diff", "--root", repository, "--", name, status=2)
    assert "is neither a revision" in said
