"""Dangerous lines are reported however they are spelled; no script of ours is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rl_resources.check import all_rules
from rl_resources.check.target import ScriptText

HERE = Path(__file__).parent
CLASSES = tomllib.loads((HERE / "hostile" / "scripts.toml").read_text(encoding="utf-8"))
RULES = [all_rules()[name] for name in ("unexpected-command", "secret", "unseen-sign")]


def found(text: str, *, ours: bool = True) -> list[str]:
    script = f"#!/usr/bin/env bash\nset -euo pipefail\n{text}\n"
    subject = ScriptText("x.sh", script, ours=ours)
    return [
        f"{finding.rule}: {finding.message}" for rule in RULES for finding in rule.findings(subject)
    ]


def cases(kind: str) -> list[object]:
    return [
        pytest.param(text, id=f"{name}-{number}")
        for name, lines in CLASSES.items()
        for number, text in enumerate(lines[kind])
    ]


@pytest.mark.parametrize("text", cases("feared"))
def test_what_is_dangerous_is_reported(text: str) -> None:
    messages = found(text)
    assert messages
    assert all(message.isprintable() for message in messages)


@pytest.mark.parametrize("text", cases("harmless"))
def test_harmless_lines_of_a_page_are_not_reported(text: str) -> None:
    assert found(text, ours=False) == []


@pytest.mark.parametrize("text", cases("feared"))
def test_what_never_runs_or_is_only_said_is_no_danger(text: str) -> None:
    unexpected = all_rules()["unexpected-command"]
    if not {"\n", "'", "`"} & set(text) and "$(" not in text:
        assert list(unexpected.findings(ScriptText("x.sh", f"echo '{text}'\n# {text}\n"))) == []


def test_no_script_of_ours_is_reported() -> None:
    scripts = sorted((HERE.parent / "examples").rglob("*.sh"))
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert [f for rule in RULES for f in rule.findings(ScriptText(path.name, text))] == []
