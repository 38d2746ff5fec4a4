"""`export` on the command line. What the RST means is in test_rst.py."""

import json
import re
from pathlib import Path

import pytest

from rl_resources.cli import main
from rl_resources.site import tuning_table

SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"
Output = pytest.CaptureFixture[str]


def _export(root: Path, capsys: Output, *arguments: str) -> str:
    assert main(["export", *arguments, "--root", str(root)]) == 0
    return capsys.readouterr().out


def test_json_is_of_all_sizes_or_of_one_in_any_case(root, capsys):
    rows = (root / "records" / "tuning.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert json.loads(_export(root, capsys, "json"))["count"] == len(rows)
    value = json.loads(_export(root, capsys, "json", "--size", "7b"))
    assert {record["size"] for record in value["records"]} == {"7B"}
    assert main(["export", "json", "--size", "7.5B", "--root", str(root)]) == 2
    assert "`7B`" in capsys.readouterr().err


def test_markdown_links_by_a_template(root, capsys):
    template = "https://example.org/tree/{path}?name={script}&size={size}"
    text = _export(root, capsys, "markdown", "--size", "7B", "--script-url", template)
    path = f"examples/tuning/7b/{SCRIPT}.sh"
    assert f"](<https://example.org/tree/{path}?name={SCRIPT}.sh&size=7b>)" in text


def test_out_writes_the_file_and_nothing_to_standard_output(root, tmp_path, capsys):
    out = tmp_path / "new" / "table.md"
    assert _export(root, capsys, "markdown", "--size", "7B", "--out", str(out)) == ""
    assert out.read_text(encoding="utf-8").startswith("### 7B\n")
    assert main(["export", "json", "--out", str(out / "x"), "--root", str(root)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rl-resources: error: ") and "cannot be written" in err


def test_escaped_markdown_has_no_active_character_left():
    text = tuning_table.escape("<b>|`*_[x](javascript:y)${z}~#@\\")
    assert re.sub(r"&#\d+;", "", text) == "bxjavascriptyz"
