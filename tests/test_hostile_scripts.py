"""Dangerous lines are reported however they are spelled; no script of ours or of `new` is."""

import re

import pytest

from cases import findings_in, read_cases
from rl_resources.check import all_rules, chosen_rules
from rl_resources.errors import Finding
from rl_resources.script.bash.parser import parse
from rl_resources.script.script_text import ScriptText

CLASSES = read_cases("hostile/scripts")
RULES = chosen_rules(["unexpected-command", "secret", "hidden-character"])
HEAD = "#!/usr/bin/env bash\nset -euo pipefail\n"


def found(text: str, *, ours: bool = True) -> list[Finding]:
    target = ScriptText("x.sh", text, ours=ours)
    return findings_in(target, *RULES)


HARMLESS = []
FEARED = []
for name, lines in CLASSES.items():
    FEARED += lines["feared"]
    for number, text in enumerate(lines["harmless"]):
        HARMLESS.append(pytest.param(text, id=f"{name}-{number}"))


@pytest.mark.parametrize("name", CLASSES)
def test_each_dangerous_line_of_a_script_is_reported(name):
    """All lines of a class as one script; those that bash refuses, or that go on, by themselves."""
    script = HEAD
    text_of_line = {}
    for text in CLASSES[name]["feared"]:
        if is_one_line(text):
            number = script.count("\n") + 1
            text_of_line[number] = text
            script += f"{text}\n"
        else:
            assert found(HEAD + text), text
    reported = {finding.line for finding in found(script)}
    for number, text in text_of_line.items():
        assert number in reported, text


def is_one_line(text: str) -> bool:
    if "\n" in text or "<<" in text:
        return False
    return not parse(text).problems


@pytest.mark.nightly
@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_lines_of_a_page_are_not_reported(text):
    assert found(f"{HEAD}{text}\n", ours=False) == []


def test_what_is_only_said_is_no_danger():
    script = HEAD
    for text in FEARED:
        if not re.search(r"[\n'`]|\$\(", text):
            script += f"echo '{text}'\n# {text}\n"
    target = ScriptText("x.sh", script)
    assert findings_in(target, all_rules()["unexpected-command"]) == []


@pytest.mark.parametrize("opened", ["(", "echo $((", "${a:-"])
def test_deep_nesting_is_refused_before_a_parser_takes_it(opened):
    text = f"{HEAD}{opened * 5000}\n"
    rules = chosen_rules(["syntax", "shellcheck-error"])
    (finding,) = findings_in(ScriptText("x.sh", text), *rules)
    assert finding.rule == "syntax"
    assert "too deeply" in finding.message
