"""What a script must not do is found however it is spelt, and no script of ours is accused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rl_resources.check import all_rules
from rl_resources.check.target import ScriptText

HERE = Path(__file__).parent
CLASSES = tomllib.loads((HERE / "hostile" / "scripts.toml").read_text(encoding="utf-8"))
RULES = [all_rules()[name] for name in ("unexpected-command", "secret", "unseen-sign")]


def told(text: str, *, ours: bool = True) -> list[str]:
    script = f"#!/usr/bin/env bash\nset -euo pipefail\n{text}\n"
    subject = ScriptText("x.sh", script, ours=ours)
    return [
        f"{finding.rule}: {finding.message}" for rule in RULES for finding in rule.findings(subject)
    ]


def cases(kind: str) -> list[object]:
    return [
        pytest.param(text, id=f"{name}-{number}")
        for name, found in CLASSES.items()
        for number, text in enumerate(found[kind])
    ]


@pytest.mark.parametrize("text", cases("feared"))
def test_what_is_to_fear_is_told(text: str) -> None:
    found = told(text)
    assert found
    assert all(message.isprintable() for message in found)


@pytest.mark.parametrize("text", cases("harmless"))
def test_what_is_harmless_is_let_be_in_the_scripts_of_a_page(text: str) -> None:
    assert told(text, ours=False) == []


@pytest.mark.parametrize("text", cases("feared"))
def test_what_never_runs_or_is_only_said_is_no_danger(text: str) -> None:
    unexpected = all_rules()["unexpected-command"]
    if not {"\n", "'", "`"} & set(text) and "$(" not in text:
        assert list(unexpected.findings(ScriptText("x.sh", f"echo '{text}'\n# {text}\n"))) == []


def test_no_script_of_ours_is_accused() -> None:
    scripts = sorted((HERE.parent / "examples").rglob("*.sh"))
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert [f for rule in RULES for f in rule.findings(ScriptText(path.name, text))] == []


@pytest.mark.parametrize("opening", ["<(", "$(gpg ", "$(printf ", "`xxd "])
def test_what_opens_thousands_of_times_and_never_ends_is_read_to_its_end(opening: str) -> None:
    told(f"x=$({opening * 2_000}")


def test_a_value_that_opens_thousands_of_times_is_read_to_its_end_before_it_is_sent() -> None:
    told(f"x='{'$(cat ' * 30_000}'\ncurl \"$x\"")


@pytest.mark.parametrize("program", ["cat", "gpg", "xxd", "printf", "tr a-a", "curl x$WANDB_KEY "])
@pytest.mark.parametrize("filling", [" ", "a", "a-"])
def test_what_goes_on_without_end_is_read_to_its_end(program: str, filling: str) -> None:
    told(f'bash -c "$({program}{filling * 50_000}x"')


@pytest.mark.parametrize("call", ["system(qq(", "rmtree.", "request ", "exec (", "open('/etc/"])
def test_a_program_that_calls_without_end_is_read_to_its_end(call: str) -> None:
    told(f'python3 -c "{call * 8_000}"')
    told(f'python3 -c "{call}{call[-1] * 60_000}"')
