"""Dangerous lines are reported however they are spelled; no script of ours or of `new` is."""

import pytest

from cases import findings_in, read_cases
from rl_resources.check import all_rules
from rl_resources.errors import Finding
from rl_resources.script.bash.parser import parse
from rl_resources.script.script_text import ScriptText

CLASSES = read_cases("hostile/scripts")
RULES = [all_rules()[name] for name in ("unexpected-command", "secret", "hidden-character")]


HEAD = "#!/usr/bin/env bash\nset -euo pipefail\n"


def found(text: str, *, ours: bool = True) -> list[Finding]:
    target = ScriptText("x.sh", text, ours=ours)
    return findings_in(target, *RULES)


def cases(kind: str) -> list[object]:
    return [
        pytest.param(text, id=f"{name}-{number}")
        for name, lines in CLASSES.items()
        for number, text in enumerate(lines[kind])
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_each_dangerous_line_of_a_script_is_reported(name):
    """All lines of a class as one script; those that bash refuses, or that go on, by themselves."""
    script, at, missed = HEAD, {}, []
    for text in CLASSES[name]["feared"]:
        if "\n" not in text and "<<" not in text and not parse(text).problems:
            at[script.count("\n") + 1] = text
            script += f"{text}\n"
        elif not found(HEAD + text):
            missed.append(text)
    lines = {finding.line for finding in found(script)}
    assert missed + [text for line, text in at.items() if line not in lines] == []


@pytest.mark.nightly
@pytest.mark.parametrize("text", cases("harmless"))
def test_harmless_lines_of_a_page_are_not_reported(text):
    assert found(f"{HEAD}{text}\n", ours=False) == []


def test_what_is_only_said_is_no_danger():
    lines = [text for kinds in CLASSES.values() for text in kinds["feared"]]
    said = [text for text in lines if not {"\n", "'", "`"} & set(text) and "$(" not in text]
    script = HEAD + "".join(f"echo '{text}'\n# {text}\n" for text in said)
    assert findings_in(ScriptText("x.sh", script), RULES[0]) == []


@pytest.mark.parametrize("opened", ["(", "echo $((", "${a:-"])
def test_deep_nesting_is_refused_before_a_parser_takes_it(opened):
    text = f"{HEAD}{opened * 5000}\n"
    rules = [all_rules()[name] for name in ("syntax", "shellcheck-error")]
    reported = findings_in(ScriptText("x.sh", text), *rules)
    assert [(item.rule, "too deeply" in item.message) for item in reported] == [("syntax", True)]
