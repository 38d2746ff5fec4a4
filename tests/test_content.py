"""The rules about one script: what must be reported, and what looks like a mistake and is none."""

import re
from dataclasses import replace

import pytest

from cases import each, findings_in, read_cases
from rl_resources.check import all_rules
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules import shellcheck

FAMILIES = {"content", "variables", "arguments", "releases", "safety"}
RULES = {name: rule for name, rule in all_rules().items() if rule.family in FAMILIES}
MAIN = "python3 -m verl.trainer.main_ppo"
PATH = "run.sh"


def found(name: str, script: str) -> list[tuple[int, int, str]]:
    text = ScriptText(PATH, script)
    rule = RULES[name]
    findings = findings_in(text, rule)
    return [(finding.line, finding.column, finding.message) for finding in findings]


def example(text: str) -> str:
    """The script of a rule's example, which is shown on one line."""
    text = text.removeprefix("`").removesuffix("`")
    text = text.replace(" ⏎ ", "\n")
    return re.sub(r"⟨U\+(\w{4})⟩", _sign, text) + "\n"


def _sign(number: re.Match[str]) -> str:
    return chr(int(number[1], base=16))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_reports_its_bad_example_and_not_its_good_one(rule):
    bad = example(rule.bad)
    good = example(rule.good)
    assert found(rule.name, bad)
    assert found(rule.name, good) == []


CASES = read_cases("content")
OF_RULES = read_cases("script_rules")
FOUND = []
FINE = []
for name, of_rule in OF_RULES.items():
    FOUND += [(name, case) for case in of_rule["found"]]
    FINE += [(name, script) for script in of_rule["fine"]]


def full(script: str) -> str:
    return script.replace("TRAIN", MAIN) + "\n"


@pytest.mark.parametrize(("name", "case"), FOUND)
def test_a_mistake_is_reported_once_at_its_place(name, case):
    script = ScriptText(PATH, full(case["script"]))
    (finding,) = findings_in(script, RULES[name])
    assert finding.line == case["line"]
    assert finding.column == case["column"]
    version = shipped("verl").version
    assert finding.message == case["message"].replace("VERSION", version)
    assert finding.help == case["help"].replace("VERSION", version)


@pytest.mark.parametrize(("name", "script"), FINE)
def test_what_only_looks_like_a_mistake_is_not_found(name, script):
    if name == "misleading-name":  # of what nothing reads, that alone would be reported
        for variable in re.findall(r"^(\w+)=", script, re.M):
            script += f'\necho "${variable}"'
    complete = full(script)
    assert found(name, complete) == []


def test_every_rule_has_cases_of_both_kinds():
    with_mistakes = {name for name, _ in FOUND}
    without_mistakes = {name for name, _ in FINE}
    assert with_mistakes == RULES.keys()
    assert without_mistakes == RULES.keys()


def names_of_findings(script: ScriptText) -> list[str]:
    findings = findings_in(script, *RULES.values())
    return [finding.rule for finding in findings]


def test_wrong_ends_of_lines_are_one_mistake():
    command = f"{MAIN} \\\n  trainer.nnodes=$n \\\n  trainer.total_epochs=1\n"
    script = f"#!/bin/bash\nset -e\nn=2\n{command}"
    windows = script.replace("\n", "\r\n")
    names = names_of_findings(ScriptText(PATH, windows))
    assert names == ["shellcheck-error"]


@each(CASES["commands"], "command of_a_page")
def test_of_the_scripts_of_a_page_only_loss_is_found(command, of_a_page):
    """A page's scripts are read by nobody who runs them from here; ours consist of a short list."""
    rule = RULES["unexpected-command"]
    ours = ScriptText(PATH, f"{command}\n")
    assert findings_in(ours, rule)
    foreign = replace(ours, ours=False)
    said = CASES["of_a_page"]
    reported = findings_in(foreign, rule)
    messages = [re.sub("`.*`", "`COMMAND`", finding.message) for finding in reported]
    if of_a_page:
        assert messages == [said[of_a_page]]
        assert reported[0].help == said["help"]
    else:
        assert messages == []


@each(CASES["one_cause"], "script rule")
def test_one_mistake_is_one_finding_of_all_rules(script, rule):
    target = ScriptText(PATH, f"#!/bin/bash\nset -euo pipefail\n{full(script)}")
    assert names_of_findings(target) == [rule]


def test_without_shellcheck_nothing_is_reported_and_nothing_fails(monkeypatch):
    monkeypatch.setattr(shellcheck, "installed", lambda name: None)
    assert found("shellcheck-error", "name = without\n") == []


def test_a_wall_of_hashes_is_read_at_once():
    wall = "#" * 5000
    script = f'{MAIN} trainer.nnodes=1\n\n{wall}\nrun() {{\n  "$@"\n}}\n'
    assert found("broken-continuation", script) == []


def test_a_secret_is_not_repeated():
    token = "hf_" + "aB3dE5gH7j" * 4
    (finding,) = found("secret", f"export HF_TOKEN={token}\n")
    _, _, message = finding
    assert token not in message
