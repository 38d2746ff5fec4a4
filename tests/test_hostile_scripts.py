"""Dangerous lines are reported however they are spelled; no script of ours or of `new` is."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest

from rl_resources.check import all_rules
from rl_resources.check.snapshot import take_snapshot
from rl_resources.check.target import ScriptText
from rl_resources.contribute.new import known_words, new_record
from rl_resources.dataset import read_dataset
from rl_resources.errors import UnusableInput
from rl_resources.package import read_package

HERE = Path(__file__).parent
CLASSES = tomllib.loads((HERE / "hostile" / "scripts.toml").read_text(encoding="utf-8"))
RULES = [all_rules()[name] for name in ("unexpected-command", "secret", "hidden-character")]


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


@pytest.mark.nightly
def test_no_script_that_new_writes_is_reported() -> None:
    package = read_package(HERE.parent)
    dataset, snapshot = read_dataset(package), take_snapshot(package)
    options = ("task", "train", "infer")
    every = product(*(known_words(dataset, name) for name in options), ("MIN", "RECOMMENDED"))
    size = {"model": "Qwen/Qwen3-30B-A3B", "gpus": "16", "device": "h100"}
    texts = set()
    for words in every:
        asked = {**size, **dict(zip((*options, "tag"), words, strict=True))}
        try:
            change = new_record(asked, {}, dataset, snapshot).changes[0]
        except UnusableInput:
            continue
        texts.add((change.becomes or b"").decode())
    assert len(texts) > 100
    assert [
        f for text in texts for rule in RULES for f in rule.findings(ScriptText("x.sh", text))
    ] == []
