"""The rules about one script: what must be reported, and what looks like a mistake and is none."""

import re

import pytest

from cases import each, findings_in, read_cases
from rl_resources.check.registry import all_rules
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules import shellcheck

FAMILIES = ("content", "variables", "arguments", "releases", "safety")
RULES = {name: rule for name, rule in all_rules().items() if rule.family in FAMILIES}
MAIN = "python3 -m verl.trainer.main_ppo"
PATH = "run.sh"


def found(name: str, script: str) -> list[tuple[int, int, str]]:
    findings = findings_in(ScriptText(PATH, script), RULES[name])
    return [(finding.line, finding.column, finding.message) for finding in findings]


def example(text: str) -> str:
    """The script of a rule's example, which is shown on one line."""
    text = text.removeprefix("`").removesuffix("`").replace(" ⏎ ", "\n") + "\n"
    return re.sub(r"⟨U\+(\w{4})⟩", lambda sign: chr(int(sign[1], 16)), text)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_reports_its_bad_example_and_not_its_good_one(rule):
    assert found(rule.name, example(rule.bad))
    assert found(rule.name, example(rule.good)) == []


OF_RULES, CASES = read_cases("script_rules"), read_cases("content")
FOUND = [(name, case) for name, cases in OF_RULES.items() for case in cases["found"]]
FINE = [(name, script) for name, cases in OF_RULES.items() for script in cases["fine"]]


def full(script: str) -> str:
    return script.replace("TRAIN", MAIN) + "\n"


@pytest.mark.parametrize(("name", "case"), FOUND)
def test_a_mistake_is_reported_once_at_its_place(name, case):
    message = case["message"].replace("VERSION", shipped("verl").version)
    expected = case["line"], case["column"], message
    (finding,) = findings_in(ScriptText(PATH, full(case["script"])), RULES[name])
    assert (finding.line, finding.column, finding.message) == expected
    assert finding.help == case.get("help", finding.help)


@pytest.mark.parametrize(("name", "script"), FINE)
def test_what_only_looks_like_a_mistake_is_not_found(name, script):
    if name == "misleading-name":  # of what nothing reads, that alone would be reported
        script += "".join(f'\necho "${item}"' for item in re.findall(r"^(\w+)=", script, re.M))
    assert found(name, full(script)) == []


def test_every_rule_has_cases_of_both_kinds():
    assert {name for name, _ in FOUND} == {name for name, _ in FINE} == RULES.keys()


def test_wrong_ends_of_lines_are_one_mistake():
    script = (
        f"#!/bin/bash\nset -e\nn=2\n{MAIN} \\\n  trainer.nnodes=$n \\\n  trainer.total_epochs=1\n"
    )
    names = [name for name in RULES for _ in found(name, script.replace("\n", "\r\n"))]
    assert names == ["shellcheck-error"]


@each(CASES["commands"], "command of_a_page")
def test_of_the_scripts_of_a_page_only_loss_is_found(command, of_a_page):
    """A page's scripts are read by nobody who runs them from here; ours consist of a short list."""
    rule = RULES["unexpected-command"]
    assert findings_in(ScriptText(PATH, f"{command}\n"), rule)
    foreign = ScriptText(PATH, f"{command}\n", ours=False)
    assert bool(findings_in(foreign, rule)) == of_a_page


@each(CASES["one_cause"], "script rule")
def test_one_mistake_is_one_finding_of_all_rules(script, rule):
    target = ScriptText(PATH, f"#!/bin/bash\nset -euo pipefail\n{full(script)}")
    names = [finding.rule for finding in findings_in(target, *RULES.values())]
    assert names == [rule]


def test_without_shellcheck_nothing_is_reported_and_nothing_fails(monkeypatch):
    monkeypatch.setattr(shellcheck, "program", lambda name: None)
    assert found("shellcheck-error", "name = without\n") == []


def test_a_wall_of_hashes_is_read_at_once():
    script = f'{MAIN} trainer.nnodes=1\n\n{"#" * 5000}\nrun() {{\n  "$@"\n}}\n'
    assert found("broken-continuation", script) == []


def test_a_secret_is_not_repeated():
    token = "hf_" + "aB3dE5gH7j" * 4
    [(_, _, message)] = found("secret", f"export HF_TOKEN={token}\n")
    assert token not in message


@pytest.mark.parametrize(
    ("setting", "right"),
    [
        ("actor_rollout_ref.actor.model_engine=megatron", "Did you mean `model_engine`?"),
        ("trainer.nnods=1", "Did you mean `trainer.nnodes`?"),
        ("trainer.mine=1", "Remove it, or write `+trainer.mine` if other code reads it."),
    ],
)
def test_the_help_of_an_unknown_key_is_the_right_one(setting, right):
    (finding,) = findings_in(ScriptText(PATH, f"{MAIN} {setting}\n"), RULES["unknown-key"])
    assert finding.help == right
