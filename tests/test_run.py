"""What a run does: the script's settings over the framework's defaults."""

from operator import attrgetter

import pytest

from cases import each, read_cases
from rl_resources.script.bash import read
from rl_resources.script.bash.script import Place
from rl_resources.script.framework.composition import UNKNOWN, compose_launch
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.launch import launches
from rl_resources.script.run import Run
from rl_resources.script.settings import Setting

CASES = read_cases("run")
TRAIN = "python3 -m verl.trainer.main_ppo"


def run_of(text: str) -> Run:
    """The first launch of a script."""
    launch = launches(read(text))[0]
    return Run(launch, compose_launch(shipped("verl"), launch))


def test_a_value_is_found_where_it_is_used_and_where_it_is_defined():
    run = run_of(f"A=4\nNODES=${{NODES:-$A}}\n{TRAIN} \\\n    trainer.nnodes=$NODES\n")
    setting = run.setting("trainer.nnodes")
    assert setting.value == 4
    assert setting.place and setting.origin
    assert where(setting.place) == "4:5"
    assert where(setting.origin) == "1:3"


def where(place: Place) -> str:
    return f"{place.line}:{place.column}"


@pytest.mark.parametrize("arguments", CASES["unknown"]["arguments"])
def test_what_is_not_known_is_unknown(arguments):
    run = run_of(f"{TRAIN} trainer.nnodes=1 {arguments}\n")
    assert run.train_batch_size.value is UNKNOWN
    assert not run.train_batch_size.known
    assert run.train_batch_size.number is None
    assert run.nodes.number == 1


@each(CASES["facts"], "arguments name expected")
def test_what_a_run_does_follows_from_its_arguments(arguments, name, expected):
    run = run_of(f"NAME=Qwen3-8B\n{TRAIN} trainer.val_only=False {arguments}\n")
    assert plain(attrgetter(name)(run)) == expected


def plain(fact: object) -> object:
    """A fact as the cases write it: a setting by its text or number."""
    if not isinstance(fact, Setting):
        return fact
    if isinstance(fact.value, str):
        return fact.text
    return fact.number


@each(CASES["other_programs"], "command name expected")
def test_of_another_program_what_is_set_is_known_and_the_rest_by_the_frameworks_own(
    command, name, expected
):
    fact = attrgetter(name)(run_of(f"{command}\n"))
    if expected is None:
        assert fact.value is UNKNOWN
    else:
        assert plain(fact) == expected


def test_a_key_that_the_release_refuses_keeps_the_scripts_value():
    key = "actor_rollout_ref.actor.megatron.grad_offload"
    run = run_of(f"{TRAIN} trainer.nnodes=2 {key}=True\n")
    assert run.setting(key).flag is True
    assert [rejection.kind for rejection in run.composition.rejected] == ["unknown-key"]


@each(CASES["choices"], "before gpus")
def test_what_a_branch_sets_has_the_values_of_all_branches(before, gpus):
    run = run_of(f"{before}\n{TRAIN} trainer.nnodes=1 trainer.n_gpus_per_node=$X\n")
    assert run.gpus.value is UNKNOWN
    assert list(run.gpus.choices) == gpus


def test_a_setting_that_a_branch_adds_is_otherwise_what_it_was_before():
    added = "A=()\nif ask; then A=(trainer.nnodes=2 trainer.n_gpus_per_node=4); fi\n"
    run = run_of(f'{added}{TRAIN} trainer.nnodes=3 "${{A[@]}}"\n')
    assert run.nodes.choices == (3, 2)
    assert run.gpus_per_node.choices == (8, 4)
