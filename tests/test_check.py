"""How rules are run: ShellCheck ahead of the others, and few scripts held as read."""

from __future__ import annotations

import gc

import pytest

from rl_resources import check
from rl_resources.check import all_rules, findings_of
from rl_resources.check.script import shellcheck
from rl_resources.check.target import Claim, ScriptText
from rl_resources.script.bash import Script

MAIN = "python3 -m verl.trainer.main_ppo"
SCRIPT = ScriptText("run.sh", "echo a\n")
CLAIM = Claim("tuning.csv", "run", {}, SCRIPT)


def test_shellcheck_has_begun_on_the_next_scripts_when_one_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(shellcheck, "start", begun.append)
    scripts = [ScriptText(f"{number}.sh", f"echo {number}\n") for number in range(9)]
    rules = [rule for rule in all_rules().values() if rule.scope == "script"]
    for number, script in enumerate(check._announced(rules, scripts)):
        assert script is scripts[number]
        assert begun == [item.text for item in scripts[: number + 1 + check.MOST_AHEAD]]


def test_shellcheck_begins_on_no_script_for_rules_that_ask_it_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shellcheck, "start", lambda _: pytest.fail("begun"))
    others = [rule for rule in all_rules().values() if rule.name not in shellcheck.RULES]
    assert list(check._announced(others, [SCRIPT, CLAIM])) == [SCRIPT, CLAIM]
    assert len(others) == len(all_rules()) - len(shellcheck.RULES)


def test_what_shellcheck_has_begun_on_is_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "name = begun\n"
    shellcheck.start(text)
    begun = shellcheck.comments(text)
    shellcheck.start(text)
    assert not shellcheck._begun
    monkeypatch.setattr(shellcheck, "_answers", {})
    assert begun == shellcheck.comments(text) != ()


def test_of_many_scripts_few_are_held_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellcheck, "_program", lambda: None)
    rules = [rule for rule in all_rules().values() if rule.scope == "script"]
    scripts = [
        ScriptText(f"{number}.sh", f"{MAIN} trainer.total_epochs={number}\n")
        for number in range(90)
    ]
    held = []
    for some in (scripts[:30], scripts[30:]):
        assert findings_of(rules, {"script": lambda some=some: some})  # type: ignore[misc]
        gc.collect()
        held.append(sum(isinstance(item, Script) for item in gc.get_objects()))
    assert held[0] == held[1] < 30
