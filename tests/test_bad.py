"""Every file in `tests/bad` breaks the sample in one way and says exactly what `check` answers.

The message is the contract: a contributor who has never seen the project must be able to fix the
mistake by it. Where the help says literally what to write, `fix` does so and nothing is left.

So that a new column changes no case, `{2,model,gpus}` is the text of line 2 of the sample's tuning
records from `model` to before `gpus`, with commas or tabs as written, and `{cells-1}` the number of
columns less one.
"""

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import read_cases
from rl_resources.check import all_rules, findings_in, findings_of
from rl_resources.check.registry import chosen_rules
from rl_resources.cli import main
from rl_resources.errors import Finding
from rl_resources.package import read_package
from rl_resources.rule import Mistake, Rule
from rl_resources.snapshot import Snapshot, Table, take_snapshot
from rl_resources.tabular import quote
from rl_resources.text import nearest, printable
from sample_tree import SAMPLE, aligned, apply, plant, sample

BAD = sorted((Path(__file__).parent / "bad").glob("*.toml"))
LINES = [*csv.reader(aligned(SAMPLE / "records/tuning.csv").splitlines())]
WORD = re.compile(r"\{(\d)([,\t])(\w+)\2(\w+)\}|\{cells([+-]\d)?\}")


def expanded(value: Any) -> Any:
    """A case with what its words mean."""
    match value:
        case str():
            return WORD.sub(_meaning, value)
        case dict():
            return {key: expanded(item) for key, item in value.items()}
        case list():
            return [*map(expanded, value)]
    return value


def _meaning(word: re.Match[str]) -> str:
    line, separator, *columns, more = word.groups()
    if line is None:
        return str(len(LINES[0]) + int(more or 0))
    begin, end = map(LINES[0].index, columns)
    return "".join(cell + separator for cell in LINES[int(line) - 1][begin:end])


CASES = {path.stem: expanded(read_cases(f"bad/{path.stem}")) for path in BAD}
FINDINGS = {name: case for name, case in CASES.items() if case["status"] != 2}
UNUSABLE = {name: case for name, case in CASES.items() if case["status"] == 2}
# Rules about what a script does and about hand-kept pages have their own tests.
FAMILIES = {"files", "cells", "records", "reports", "plausibility", "scripts", "form", "tags"}
RULES = [rule.name for rule in all_rules().values() if rule.family in FAMILIES]
SELECT = ["--select", ",".join(RULES)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(plant(tmp_path / "dataset"))
    return tmp_path / "dataset"


def placed(root: Path, expected: str) -> str:
    """The expected text with places: `{gpus}+9` is 9 after where a cell begins, `{end}` its row."""

    def place(match: re.Match[str]) -> str:
        path, line, name, after = match.groups()
        lines = (root / path).read_text(encoding="utf-8-sig", errors="replace").split("\n")
        if name == "end":
            return f"{path}:{line}:{len(lines[int(line) - 1]) + 1 + int(after or 0)}:"
        before = lines[0].split(",").index(name)
        cells = re.findall(r'"(?:[^"]|"")*",|[^,]*,', lines[int(line) - 1])
        return f"{path}:{line}:{len(''.join(cells[:before])) + 1 + int(after or 0)}:"

    return re.sub(r"(?m)^(records/\w+\.csv):([0-9]+):\{(\w+)\}([+-][0-9]+)?:", place, expected)


def findings(root: Path) -> list[Finding]:
    return findings_in(take_snapshot(read_package(root)), chosen_rules(RULES))


def text_of(found: Sequence[Finding]) -> str:
    form = "{path}:{line}:{column}: {severity}: {rule}: {message}\n  help: {help}\n"
    return "".join(form.format(**item._asdict() | {"path": printable(item.path)}) for item in found)


@pytest.mark.parametrize("case", FINDINGS.values(), ids=FINDINGS.keys())
def test_the_answer_is_exactly_and_following_its_help_leaves_nothing(case, root, capsys):
    apply(root, case["edit"])
    expected = placed(root, case["expected"])
    broken = set(re.findall(r": (?:error|warning): ([\w-]+): ", expected))
    if "arguments" in case:
        arguments = case["arguments"] + ([] if "--select" in case["arguments"] else SELECT)
        assert (main(["check", *arguments]), capsys.readouterr().out) == (case["status"], expected)
    else:
        found = findings(root)
        assert text_of(found) == expected
        assert any(item.severity == "error" for item in found) == case["status"]
    if "fix" in case or "run" in case:
        apply(root, case.get("fix", []))
        assert main(case.get("run", ["rules"])) == 0
        left = findings(root)
        assert not [item for item in left if item.severity == "error" or item.rule in broken]


@pytest.mark.parametrize("case", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_cannot_be_used_is_exit_status_2(case, root, capsys):
    apply(root, case["edit"])
    assert main(["check", *case.get("arguments", [])]) == 2
    out, complaint = capsys.readouterr()
    assert (out, complaint.replace(str(root), "ROOT")) == ("", case["complaint"])


def test_one_answer_in_all_formats(root, capsys):
    assert main(["check", "--strict"]) == 0
    assert capsys.readouterr() == ("", "No findings in 4 records and 4 scripts.\n")
    apply(root, CASES["vocabulary--twenty-mistakes"]["edit"])
    found = findings(root)
    assert main(["check", *SELECT]) == 1
    assert capsys.readouterr().out == text_of(found)
    assert main(["check", *SELECT, "--format", "json"]) == 1
    assert [Finding(**item) for item in json.loads(capsys.readouterr().out)] == found
    assert main(["check", *SELECT, "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 20
    assert lines[0] == (
        "::error file=records/tuning.csv,line=2,col=44,title=vocabulary::"
        "tag of qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh is `MAX1`, not found in the words of "
        "its column%0Ahelp: Known are `MIN`, `RECOMMENDED`."
    )


def test_findings_that_differ_by_their_help_alone_keep_their_order():
    helps = [f"Write {number}." for number in range(9)]
    mistakes = [Mistake("a.csv", 1, 1, "wrong", text) for text in helps]
    rule = Rule("a-rule", "error", "", "", "", "", lambda _: mistakes)
    found = findings_of([rule], {"dataset": lambda: [None]})
    assert [finding.help for finding in found] == helps


def test_a_word_means_its_own_family():
    known = ["a100-40g", "a100-80g", "a100-pcie-40g", "h100"]
    assert nearest("a100", known).words == ("a100-40g", "a100-80g")


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [("email-address", "x@example.org"), ("vocabulary", "x"), ("range", "x")],
)
def test_a_long_cell_is_answered_at_once(rule, wrong, root):
    column = "device" if rule == "vocabulary" else "notes"
    apply(root, [{"file": "records/tuning.csv", "line": 5, "set": {column: "x" * 10**6 + wrong}}])
    (found,) = findings(root)
    assert (found.rule, found.line) == (rule, 5)
    assert len(found.message + found.help) < 1000


def test_files_that_are_named_have_the_findings_that_they_have_among_all(root):
    apply(root, CASES["exemption--of-another-rule"]["edit"])
    apply(
        root, [{"file": "records/trials.csv", "replace": ",ran\n", "with": ",RAN\n", "all": True}]
    )
    snapshot, rules = take_snapshot(read_package(root)), list(all_rules().values())
    found = findings_in(snapshot, rules)
    paths = {item.path for item in found}
    assert paths >= {"records/trials.csv", "records/tuning.csv"}
    for path in paths | {"records/devices.csv"}:
        asked = findings_in(snapshot, rules, path.__eq__)
        assert asked == [item for item in found if item.path == path]


SLIPS: dict[str, Callable[[list[str], int], list[str]]] = {
    "another last letter": lambda cells, at: _with(cells, at, quote(cells[at][:-1] + "x")),
    "empty": lambda cells, at: _with(cells, at, ""),
    "a comma too many": lambda cells, at: [*_quoted(cells[:at]), "", *_quoted(cells[at:])],
    "a cell deleted": lambda cells, at: _quoted(cells[:at] + cells[at + 1 :]),
    "a space before it": lambda cells, at: _with(cells, at, quote(f" {cells[at]}")),
    "an unclosed quote": lambda cells, at: _with(cells, at, f'"{cells[at]}'),
}


def _quoted(cells: Sequence[str]) -> list[str]:
    return [quote(cell) for cell in cells]


def _with(cells: Sequence[str], at: int, text: str) -> list[str]:
    """The cells as they are written, with `text` as it is for one of them."""
    return [*_quoted(cells[:at]), text, *_quoted(cells[at + 1 :])]


@pytest.mark.nightly
@given(data=st.data(), slip=st.sampled_from(sorted(SLIPS)))
@settings(
    max_examples=150,
    deadline=None,
)
def test_one_slip_anywhere_is_one_finding(data, slip):
    """Not more, whatever else refers to the cell; none only where the cell is still good."""
    tables = sample().tables
    name = data.draw(st.sampled_from([name for name, table in tables.items() if table.rows]))
    table = tables[name]
    records = [list(table.header), *(list(row.cells) for row in table.text.rows)]
    row = data.draw(st.integers(0, len(records) - 1))
    at = data.draw(st.integers(0, len(records[row]) - 1))
    lines = [",".join(_quoted(record)) for record in records]
    lines[row] = ",".join(SLIPS[slip](records[row], at))
    tables = {**tables, name: Table(table.resource, "\n".join([*lines, ""]).encode())}
    found = findings_in(Snapshot(sample().package, tables, sample().scripts), chosen_rules(RULES))
    if slip in {"another last letter", "empty"}:  # the row may be good so, and sort elsewhere
        assert len(found) <= 1
    else:
        assert [(finding.path, finding.line) for finding in found] == [(table.path, row + 1)]


# `lost-id` compares with the newest tag: see test_repository.py.
@pytest.mark.parametrize("rule", [name for name in RULES if name != "lost-id"])
def test_every_rule_has_a_case(rule):
    cases = [case for name, case in FINDINGS.items() if name.startswith(f"{rule}--")]
    assert any(f": {rule}: " in case["expected"] for case in cases)
