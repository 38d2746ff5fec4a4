"""A script or claim in which nothing was found is not judged again, and nothing else is spared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rl_resources.cache import cache_folder
from rl_resources.check import all_rules, clean
from rl_resources.check.registry import Mistake
from rl_resources.check.script import shellcheck
from rl_resources.check.subject import Claim, Said, ScriptText
from rl_resources.finding import Finding

SCRIPT = ScriptText("run.sh", "echo a\n")
CLAIM = Claim("tuning.csv", "run", {"tag": Said("MIN", 2, 1)}, SCRIPT)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The subjects that a rule is asked about, with a cache of its own."""
    monkeypatch.setenv("RL_RESOURCES_CACHE", str(tmp_path))
    monkeypatch.setattr(shellcheck, "_program", lambda: None)
    return []


def judge(asked: list[object], *subjects: object, name: str = "a-rule") -> list[Finding]:
    """What a rule finds that dislikes the word `bad`."""

    def mistakes(subject: object) -> Iterator[Mistake]:
        asked.append(subject)
        if "bad" in repr(subject):
            yield Mistake("run.sh", 1, 1, "bad", "")

    some = next(iter(all_rules().values()))
    return list(clean.findings([replace(some, name=name, mistakes=mistakes)], subjects))


def test_what_is_clean_is_judged_once(judged: list[object]) -> None:
    assert judge(judged, SCRIPT, CLAIM) == judge(judged, SCRIPT, CLAIM) == []
    assert judged == [SCRIPT, CLAIM]


def test_what_has_a_finding_is_judged_each_time(judged: list[object]) -> None:
    bad = ScriptText("run.sh", "echo bad\n")
    first = judge(judged, bad)
    assert first == judge(judged, bad) != []


def test_a_claim_that_only_moved_is_as_clean_as_before(judged: list[object]) -> None:
    judge(judged, CLAIM)
    judge(judged, replace(CLAIM, said={"tag": Said("MIN", 9, 1)}))
    assert judged == [CLAIM]


@pytest.mark.parametrize(
    "other",
    [
        replace(SCRIPT, text="echo b\n"),
        replace(SCRIPT, path="walk.sh"),
        replace(SCRIPT, framework="other"),
        replace(CLAIM, said={"tag": Said("RECOMMENDED", 2, 1)}),
        replace(CLAIM, models=("a/b",)),
        replace(CLAIM, model_facts={"layers": "2"}),
        replace(CLAIM, named={"tag": False}),
        replace(CLAIM, script=ScriptText("run.sh", "echo b\n")),
    ],
)
def test_anything_that_a_rule_may_look_at_is_judged_anew(
    judged: list[object], other: object
) -> None:
    judge(judged, SCRIPT, CLAIM)
    judge(judged, other)
    assert judged[2:] == [other]


def test_other_rules_or_other_code_judge_anew(
    judged: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(judged, SCRIPT)
    judge(judged, SCRIPT, name="another")
    monkeypatch.setattr(clean, "own_code", lambda: "edited")
    judge(judged, SCRIPT)
    assert judged == [SCRIPT] * 3


def test_a_script_is_in_doubt_as_long_as_shellcheck_is_silent(
    judged: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shellcheck, "_program", lambda: "shellcheck")
    judge(judged, SCRIPT)
    judge(judged, SCRIPT)
    assert judged == [SCRIPT] * 2


def test_what_depends_on_the_whole_dataset_is_judged_each_time(judged: list[object]) -> None:
    judge(judged, "a snapshot")
    judge(judged, "a snapshot")
    assert len(judged) == 2
    assert not cache_folder("clean").exists()
