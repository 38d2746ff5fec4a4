"""A script or claim in which nothing was found is not judged again, and nothing else is spared."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rl_resources.cache import cache_folder
from rl_resources.check import all_rules, clean
from rl_resources.check.registry import Mistake, Rule
from rl_resources.check.script import shellcheck
from rl_resources.check.subject import Claim, Said, ScriptText
from rl_resources.finding import Finding
from rl_resources.script.shell import Script

MAIN = "python3 -m verl.trainer.main_ppo"
SCRIPT = ScriptText("run.sh", "echo a\n")
SAID = {"tag": Said("MIN", 2, 1), "notes": Said("A note.", 2, 9)}
CLAIM = Claim("tuning.csv", "run", SAID, SCRIPT)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of what a rule is asked about, with a cache of its own."""
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))
    monkeypatch.setattr(shellcheck, "_program", lambda: None)
    return []


def judge(asked: list[str], *subjects: object, name: str = "a-rule") -> list[Finding]:
    """What a rule finds that dislikes the word `bad`, and of a claim asks for tag and GPUs."""

    def mistakes(subject: ScriptText | Claim | str) -> Iterator[Mistake]:
        asked.append(subject if isinstance(subject, str) else subject.path)
        text = subject.text if isinstance(subject, ScriptText) else str(subject)
        if isinstance(subject, Claim):
            text = subject.text("tag") + subject.text("gpus")
        if "bad" in text:
            yield Mistake("run.sh", 1, 1, "bad", "")

    some = next(iter(all_rules().values()))
    return list(clean.findings([replace(some, name=name, mistakes=mistakes)], subjects))


def test_what_is_clean_is_judged_once(judged: list[str]) -> None:
    assert judge(judged, SCRIPT, CLAIM) == judge(judged, SCRIPT, CLAIM) == []
    assert judged == ["run.sh", "tuning.csv"]


@pytest.mark.parametrize(
    "bad", [ScriptText("run.sh", "echo bad\n"), replace(CLAIM, said={"tag": Said("bad", 2, 1)})]
)
def test_what_has_a_finding_is_judged_each_time(judged: list[str], bad: object) -> None:
    judge(judged, SCRIPT, CLAIM)
    first = judge(judged, bad)
    assert first == judge(judged, bad) != []


def test_a_claim_that_only_moved_is_as_clean_as_before(judged: list[str]) -> None:
    judge(judged, CLAIM)
    judge(judged, replace(CLAIM, said={"tag": Said("MIN", 9, 1), "notes": Said("A note.", 9, 9)}))
    assert judged == ["tuning.csv"]


def test_a_claim_is_as_clean_as_before_whatever_stands_where_no_rule_looked(
    judged: list[str],
) -> None:
    judge(judged, CLAIM)
    judge(judged, replace(CLAIM, said=SAID | {"notes": Said("Another.", 2, 9)}))
    judge(judged, replace(CLAIM, said=SAID | {"status": Said("reported", 2, 20)}))
    assert judged == ["tuning.csv"]


def test_a_claim_of_which_a_rule_looked_at_all_cells_is_judged_each_time(
    judged: list[str],
) -> None:
    def mistakes(claim: Claim) -> Iterator[Mistake]:
        judged.append(claim.path)
        if any(said.text == "bad" for said in claim.said.values()):
            yield Mistake(claim.path, 1, 1, "bad", "")

    rule = replace(next(iter(all_rules().values())), mistakes=mistakes)
    worse = replace(CLAIM, said=SAID | {"status": Said("bad", 2, 20)})
    told = [list(clean.findings([rule], [claim])) for claim in (CLAIM, CLAIM, worse)]
    assert [len(found) for found in told] == [0, 0, 1]
    assert len(judged) == 3


@pytest.mark.parametrize(
    "other",
    [
        replace(SCRIPT, text="echo b\n"),
        replace(SCRIPT, path="walk.sh"),
        replace(SCRIPT, framework="other"),
        replace(CLAIM, said=SAID | {"tag": Said("RECOMMENDED", 2, 1)}),
        replace(CLAIM, said={"notes": SAID["notes"]}),
        replace(CLAIM, said=SAID | {"gpus": Said("2", 2, 5)}),
        replace(CLAIM, models=("a/b",)),
        replace(CLAIM, model_facts={"layers": "2"}),
        replace(CLAIM, named={"tag": False}),
        replace(CLAIM, script=ScriptText("run.sh", "echo b\n")),
    ],
)
def test_anything_that_a_rule_may_look_at_is_judged_anew(
    judged: list[str], other: ScriptText | Claim
) -> None:
    judge(judged, SCRIPT, CLAIM)
    judge(judged, other)
    assert judged[2:] == [other.path]


def test_other_rules_or_other_code_judge_anew(
    judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(judged, SCRIPT)
    judge(judged, SCRIPT, name="another")
    monkeypatch.setattr(clean, "own_code", lambda: "edited")
    judge(judged, SCRIPT)
    assert judged == ["run.sh"] * 3


@pytest.fixture
def rules(judged: list[str]) -> list[Rule]:
    """One that asks ShellCheck and one that does not, which find nothing and name themselves."""

    def named(name: str) -> Rule:
        def mistakes(_: object) -> Iterator[Mistake]:
            judged.append(name)
            yield from ()

        return replace(next(iter(all_rules().values())), name=name, mistakes=mistakes)

    return [named("shellcheck"), named("a-rule")]


def test_who_does_not_ask_shellcheck_spares_others_that_rule_alone(
    judged: list[str], rules: list[Rule]
) -> None:
    for asked in (rules[1:], rules, rules[1:], rules):
        assert list(clean.findings(asked, [SCRIPT])) == []
    assert judged == ["a-rule", "shellcheck"]


def test_a_script_is_in_doubt_as_long_as_shellcheck_is_silent(
    judged: list[str], rules: list[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shellcheck, "_program", lambda: "shellcheck")
    for _ in range(2):
        assert list(clean.findings(rules, [SCRIPT])) == []
    assert judged == ["a-rule", "shellcheck", "shellcheck"]


def test_what_depends_on_the_whole_dataset_is_judged_each_time(judged: list[str]) -> None:
    judge(judged, "a snapshot")
    judge(judged, "a snapshot")
    assert len(judged) == 2
    assert not cache_folder("clean").exists()


def test_shellcheck_has_begun_on_the_next_scripts_when_one_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))
    begun: list[str] = []
    monkeypatch.setattr(shellcheck, "start", begun.append)
    scripts = [ScriptText(f"{number}.sh", f"echo {number}\n") for number in range(9)]
    rules = [rule for rule in all_rules().values() if rule.scope == "script"]
    for number, script in enumerate(clean.announced(rules, scripts)):
        assert script is scripts[number]
        assert begun == [item.text for item in scripts[: number + 1 + clean.MOST_AHEAD]]


def test_shellcheck_begins_on_no_script_for_rules_that_ask_it_nothing(
    judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(judged, SCRIPT)
    monkeypatch.setattr(shellcheck, "start", lambda _: pytest.fail("begun"))
    others = [rule for rule in all_rules().values() if rule.name not in shellcheck.RULES]
    assert list(clean.announced(others, [SCRIPT, CLAIM])) == [SCRIPT, CLAIM]
    assert len(others) == len(all_rules()) - len(shellcheck.RULES)


def test_shellcheck_begins_on_no_script_that_is_known_to_be_clean(
    rules: list[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(shellcheck, "start", begun.append)
    for _ in range(2):
        assert list(clean.findings(rules, clean.announced(rules, [SCRIPT]))) == []
    assert begun == [SCRIPT.text]


def test_what_shellcheck_has_begun_on_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "name = begun\n"
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path / "one"))
    shellcheck.comments.cache_clear()
    shellcheck.start(text)
    begun = shellcheck.comments(text)
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path / "other"))
    shellcheck.comments.cache_clear()
    assert begun == shellcheck.comments(text) != ()


def test_of_many_scripts_few_are_held_as_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))
    monkeypatch.setattr(shellcheck, "_program", lambda: None)
    rules = [rule for rule in all_rules().values() if rule.scope == "script"]
    scripts = [
        ScriptText(f"{number}.sh", f"{MAIN} trainer.total_epochs={number}\n")
        for number in range(90)
    ]
    held = []
    for some in (scripts[:30], scripts[30:]):
        assert list(clean.findings(rules, some))
        gc.collect()
        held.append(sum(isinstance(item, Script) for item in gc.get_objects()))
    assert held[0] == held[1] < 30
