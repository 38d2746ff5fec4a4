"""`export` on the command line. What the RST means is in test_rst.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rl_resources import load
from rl_resources.cli import main
from rl_resources.page.rows import HEADERS
from rl_resources.site.tuning_table import escape

ROOT = Path(__file__).parents[1]


def _export(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["export", *arguments, "--root", str(ROOT)]) == 0
    return capsys.readouterr().out


def test_json_of_one_size_can_be_asked_for_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    value = json.loads(_export(capsys, "json", "--size", "7b"))
    assert {record["size"] for record in value["records"]} == {"7B"}


def test_json_of_all_sizes_holds_all_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(_export(capsys, "json"))["count"] == len(load().records["tuning"])


def test_markdown_has_nine_cells_in_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in _export(capsys, "markdown").splitlines() if line.startswith("|")]
    assert lines[0] == "| " + " | ".join(HEADERS) + " |"
    assert {line.count("|") for line in lines} == {10}


def test_markdown_shows_the_doubt_beside_a_disputed_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _export(capsys, "markdown", "--size", "7B")
    assert "16 &#40;disputed&#41;" in text


def test_a_script_url_template_becomes_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    template = "https://example.org/tree/{path}?name={script}&size={size}"
    text = _export(capsys, "markdown", "--size", "3B", "--script-url", template)
    script = "qwen2.5-3b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
    path = f"examples/tuning/3b/{script}"
    assert f"](<https://example.org/tree/{path}?name={script}&size=3b>)" in text


def test_an_unknown_size_is_wrong_usage_and_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", "json", "--size", "7.5B", "--root", str(ROOT)]) == 2
    assert "`7B`" in capsys.readouterr().err


def test_out_writes_the_file_and_nothing_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "table.md"
    assert _export(capsys, "markdown", "--size", "7B", "--out", str(out)) == ""
    assert out.read_text(encoding="utf-8").startswith("### 7B\n")


def test_an_out_that_cannot_be_written_is_unusable_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "table.md"
    assert main(["export", "json", "--out", str(out), "--root", str(ROOT)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_escaped_markdown_has_no_active_sign_left() -> None:
    text = escape("<b>|`*_[x](javascript:y)${z}~#@\\")
    assert re.sub(r"&#\d+;", "", text) == "bxjavascriptyz"
