"""Files of records outside the dataset: `check --resource`."""

import json
from pathlib import Path
from random import Random

import pytest

from rl_resources.check import all_rules, records_file
from rl_resources.check.records_file import RecordsFile
from rl_resources.cli import main
from rl_resources.errors import Finding
from rl_resources.package import read_package
from rl_resources.schema import bulk
from rl_resources.snapshot import Snapshot, take_snapshot
from sample_tree import plant

HEADER = "script,order,batch,outcome\n"
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
PLACE = len(SCRIPT) + 5
"""The column of `batch` where `order` has two digits."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return take_snapshot(read_package(plant(tmp_path_factory.mktemp("sample") / "dataset")))


def found_in(snapshot: Snapshot, path: Path, resource: str = "trials") -> list[Finding]:
    rules = list(all_rules().values())
    file = RecordsFile(snapshot, snapshot.tables[resource], path, rules)
    return sorted(file.findings(), key=lambda item: item.position)


def places(findings: list[Finding]) -> list[tuple[str, int, int]]:
    return [(item.rule, item.line, item.column) for item in findings]


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a large one, of several blocks."""
    monkeypatch.setattr(records_file, "SMALL_BYTES", 0)
    monkeypatch.setattr(records_file, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(bulk, "BLOCK_BYTES", 200)


def trials(*rows: str) -> str:
    return HEADER + "".join(f"{row}\n" for row in rows)


GOOD = [f"{SCRIPT},{order},8,ran" for order in range(10, 60)]
LINES = [*GOOD[:3], ",,,", "", "a,b", HEADER.strip()]
CELLS = (
    (SCRIPT, "", "x.sh", f'"{SCRIPT}"', f'"{SCRIPT}'),
    ("1", "2", "0", '"1,5"', '"a""b"', '"a"b"c"', '"x,"y",z"', '"a\nb"'),
    ("64", "many", '""', " 8", "9" * 20, 'a"b"'),
    ("ran", "RAN", "j@example.org", "<b>", "=1", "r\u200ban", 'ran"'),
)


@pytest.mark.parametrize("seed", range(8, 24, 3))
def test_a_large_file_has_the_findings_of_a_small_one(sample, tmp_path, monkeypatch, seed):
    chance = Random(seed)
    rows = [
        chance.choice([chance.choice(LINES), ",".join(map(chance.choice, CELLS))])
        for _ in range(seed // 2)
    ]
    text = chance.choice(["\n", "\r\n"]).join([HEADER.strip(), *rows, ""])
    path = tmp_path / "trials.csv"
    path.write_bytes((chance.choice(["", "\ufeff"]) + text).encode())
    as_table = places(found_in(sample, path))
    monkeypatch.setattr(records_file, "SMALL_BYTES", 0)
    monkeypatch.setattr(records_file, "ROWS_AT_ONCE", 2)
    assert places(found_in(sample, path)) == as_table


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (GOOD, []),
        ([*GOOD[:40], f'{SCRIPT},70,"1,5",ran', GOOD[6]], [("type", 42, PLACE), ("key", 43, 1)]),
        (
            [*GOOD[:20], f"{SCRIPT},71,8", f'{SCRIPT},72,"8', *GOOD[20:]],
            [("row-length", 22, PLACE), ("quoting", 23, PLACE)],
        ),
        ([*GOOD[:9], f'{SCRIPT},74,"8\n",ran', *GOOD[9:]], [("quoting", 11, PLACE)]),
        ([f"{SCRIPT},73,8,j@example.org"], [("email-address", 2, PLACE + 2)]),
    ],
)
@pytest.mark.usefixtures("in_blocks")
def test_records_in_blocks_keep_their_places(sample, tmp_path, rows, expected):
    path = tmp_path / "trials.csv"
    path.write_text(trials(*rows), encoding="utf-8")
    names = {"key": "duplicate-key"}
    assert places(found_in(sample, path)) == [
        (names.get(rule, rule), line, column) for rule, line, column in expected
    ]


@pytest.mark.usefixtures("in_blocks")
def test_bytes_that_are_no_text_are_reported_with_their_line(sample, tmp_path):
    path = tmp_path / "trials.csv"
    path.write_bytes(trials(*GOOD).encode().replace(b",30,8", b",30,\xe9"))
    assert places(found_in(sample, path)) == [("encoding", 22, PLACE)]


def test_a_file_from_outside_is_fixed_by_hand(sample, tmp_path):
    path = tmp_path / "trials.csv"
    text = trials(f"{SCRIPT},73,8,Ran").replace("\n", "\r\n")
    path.write_text(f"\ufeff{text}", encoding="utf-8", newline="")
    helps = {item.rule: item.help for item in found_in(sample, path)}
    assert helps.keys() == {"byte-order-mark", "line-ending", "vocabulary"}
    assert helps["vocabulary"] == "Write `ran`."
    assert "--fix" not in " ".join(helps.values())


@pytest.mark.usefixtures("in_blocks")
def test_under_another_header_only_the_header_is_checked(sample, tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text(trials(*GOOD).replace("batch", "batches"), encoding="utf-8")
    (finding,) = found_in(sample, path)
    assert (finding.rule, finding.line) == ("header", 1)


@pytest.mark.parametrize("more", [(), ("--resource", "trials")])
def test_one_mistake_in_many_cells_is_shown_once_with_its_number_and_in_json_at_each_place(
    tmp_path, capsys, more
):
    root = plant(tmp_path / "dataset")
    path, rows = root / "records/trials.csv", [f"{SCRIPT},{at},{at} GPUs,ran" for at in range(300)]
    slips = [f"{SCRIPT},{at},8,ran too" for at in ("x", "y", "z")]
    path.write_text(trials(*rows, *slips), encoding="utf-8")
    command = ["check", str(path), *more, "--root", str(root), "--select", "type"]
    assert main(command) == 1
    out, err = capsys.readouterr()
    first, _, *others = out.splitlines()
    assert first.endswith(
        f":2:46: error: type: batch of {SCRIPT} 0 is `0 GPUs`, which is not a whole number, "
        "and 299 more like it in this file"
    )
    assert [line.split(": ")[0].split(":")[1] for line in others[::2]] == ["302", "303", "304"]
    assert err.endswith("303 errors in 1 file.\n")
    assert main([*command, "--format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)) == 303
