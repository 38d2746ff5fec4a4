"""`check --fix`: each fixer fixes what its rule finds, loses nothing, and leaves nothing to do.

A test's words are the rule's name, then what was wrong.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botched_tree import commit, plant_repository
from cases import each, read_cases
from rl_resources.check import all_rules, findings_in
from rl_resources.check.registry import chosen_rules
from rl_resources.cli import main
from rl_resources.contribute.changes import Fixed, fix
from rl_resources.package import read_package
from rl_resources.snapshot import Snapshot, Table, take_snapshot
from sample_tree import Edit, apply, files, sample

SCRIPT = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
TRIALS, TUNING = "records/trials.csv", "records/tuning.csv"
FIXABLE = [rule.name for rule in all_rules().values() if rule.fixer]
CASES = read_cases("fix")
FIXES, DOUBTFUL = CASES["fixes"], CASES["doubtful"]
CRLF = {"replace": "\n", "with": "\r\n", "all": True}


def tuning(**cells: str) -> Edit:
    """Other cells in the row of `SCRIPT`."""
    return {"file": TUNING, "line": 2, "set": cells}


@pytest.mark.parametrize("name", FIXES)
def test_a_certain_fix_is_made_and_nothing_else_changes(name, root):
    sound = in_memory(root, FIXES[name].get("first", []))
    found = fixed(in_memory(root, FIXES[name]["edit"]))
    assert name.split()[0] in {*found.done.values(), "everything"}
    assert found.snapshot.scripts == sound.scripts
    assert [table.data for table in found.snapshot.tables.values()] == [
        table.data for table in sound.tables.values()
    ]


def test_the_command_writes_what_it_fixes_and_names_the_rules(root, capsys):
    sound = files(root)
    apply(root, FIXES["everything at once"]["edit"])
    assert main(["check", "--fix", "--strict", "--root", str(root)]) == 0
    out, err = capsys.readouterr()
    assert (out, files(root)) == ("", sound)
    assert (root / SCRIPT).stat().st_mode & 0o111
    rules = re.findall(r"\(([a-z-]+)\)\n", err)
    assert {"line-ending", "type", "script-name", "executable-script"} <= {*rules}
    assert err.endswith("No findings in 4 records and 4 scripts.\n")


def test_every_fixer_is_tested_and_has_its_rule():
    assert {name.split()[0] for name in FIXES} - {"everything"} == set(FIXABLE)


def test_rules_say_whether_they_are_fixable(capsys):
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines if ", fixable): " in line] == FIXABLE


def in_memory(root: Path, edits: Sequence[Edit]) -> Snapshot:
    apply(root, edits)
    return take_snapshot(read_package(root))


def fixed(snapshot: Snapshot) -> Fixed:
    return fix(snapshot, list(all_rules().values()))


@each(DOUBTFUL, "edit")
def test_what_is_in_doubt_is_left_to_a_person(edit, root):
    snapshot = in_memory(root, edit)
    assert findings_in(snapshot, chosen_rules())
    assert not fixed(snapshot).done


def test_only_the_files_and_rules_that_are_named_change(root, capsys):
    apply(root, [{"file": TRIALS, **CRLF}, tuning(device="H800"), {"file": TUNING, **CRLF}])
    before = files(root)
    assert main(["check", "--root", str(root), "--fix", str(root / TRIALS)]) == 0
    assert {path for path, content in files(root).items() if content != before[path]} == {TRIALS}
    assert main(["check", "--root", str(root), "--fix", "--select", "line-ending"]) == 0
    assert b"\r" not in (root / TUNING).read_bytes()
    assert b",H800," in (root / TUNING).read_bytes()
    capsys.readouterr()


def test_check_says_what_is_fixable_only_where_a_fix_is_certain(root, capsys):
    apply(root, [{"file": TRIALS, **CRLF}, tuning(task="GPRO")])
    before = files(root)
    assert main(["check", "--root", str(root)]) == 1
    said = "`rl-resources check --fix` applies the fixes that are certain."
    assert capsys.readouterr().err.splitlines() == ["2 errors in 2 files.", said]
    assert files(root) == before
    apply(root, DOUBTFUL["a shebang of another program"]["edit"])
    assert main(["check", "--root", str(root), "--select", "shebang"]) == 0
    assert "--fix" not in capsys.readouterr().err


def test_a_new_column_is_added_and_one_that_was_dropped_is_not(tmp_path):
    root = plant_repository(tmp_path, new=False)
    before = (root / TRIALS).read_text(encoding="utf-8")
    field = '{"name": "hours", "type": "number", "title": "Hours", "description": "Its hours."}'
    old = '"fields": [\n    {'
    apply(root, [{"file": "schema/trials.json", "replace": old, "with": f'"fields": [{field}, {{'}])
    assert set(fixed(take_snapshot(read_package(root))).done.values()) == {"header"}
    dropped = re.sub(r",[^,\n]*$", "", before, flags=re.M)
    (root / TRIALS).write_text(dropped, encoding="utf-8")
    assert not fixed(take_snapshot(read_package(root))).done
    commit(root)
    assert not fixed(take_snapshot(read_package(root))).done


SIGNS = '"|,|\t| |;|\ufeff|\u200b|\u00a0|H100|1.0|$@|é|\r\n|\r|\n|\n\n|<<<<<<< a\n|set -x\n|\\ \n'
SPOILERS = st.sampled_from(SIGNS.split("|"))


@pytest.mark.nightly
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_whatever_a_file_contains_a_fix_of_its_form_loses_no_row_and_leaves_no_other(data):
    name = data.draw(st.sampled_from(["trials", "tuning", "backends"]))
    table = sample().tables[name]
    spoilt = Table(table.resource, _broken(data, (table.data or b"").decode()).encode())
    broken = replace(sample(), tables={**sample().tables, name: spoilt})
    after = fix(broken, [all_rules()[name] for name in FORM]).snapshot
    assert _rows(after.tables[name]) == _rows(spoilt)
    assert not fixed(fixed(broken).snapshot).done


FORM = ["byte-order-mark", "line-ending", "row-length", "row-order"]


def _broken(data: st.DataObject, text: str) -> str:
    for spoiler in data.draw(st.lists(SPOILERS, min_size=1, max_size=3)):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + spoiler + text[at:]
    return text


def _rows(table: Table) -> Counter[str]:
    """The letters and digits of every line that has any: what no fixer may lose."""
    bare = ("".join(filter(str.isalnum, line.lower())) for line in table.decoded.splitlines())
    return Counter(filter(None, bare))
