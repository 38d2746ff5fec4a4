"""What a script starts, and the overrides that the program gets."""

import pytest

from cases import each, read_cases
from rl_resources.script.bash import read
from rl_resources.script.launch import Launch, broken_continuations, launches

CASES = read_cases("launch")
OVERRIDES = "data.train_batch_size=8 trainer.nnodes=1"
MAIN = "python3 -m verl.trainer.main_ppo"


def _only(text: str) -> Launch:
    (launch,) = launches(read(text))
    return launch


def _values(launch: Launch) -> dict[str, str | None]:
    return {
        override.prefix + override.key: override.value for override in launch.overrides
    }


@each(CASES["trainer"], "command")
def test_every_way_to_start_the_trainer_is_found(command):
    launch = _only(f"{command} {OVERRIDES}\n")
    assert launch.module == "verl.trainer.main_ppo"
    assert _values(launch) == {"data.train_batch_size": "8", "trainer.nnodes": "1"}
    assert not launch.stray


@each(CASES["others"], "command")
def test_other_programs_and_what_is_never_reached_are_no_launches(command):
    assert not launches(read(command + "\n"))


@each(CASES["overrides"], "text prefix key value")
def test_prefixes_and_groups_are_overrides(text, prefix, key, value):
    launch = _only(f"{MAIN} {text}\n")
    (override,) = launch.overrides
    assert override.prefix == prefix
    assert override.key == key
    assert override.value == value
    assert (override.content is None) == (value is None)


@each(CASES["options"], "flags")
def test_options_of_hydra_are_no_overrides(flags):
    launch = _only(f"{MAIN} {flags} a.b=1 hydra.run.dir=. \n")
    assert launch.text_of("config-path") == "config"
    assert launch.text_of("config-name") == "x.yaml"
    assert "multirun" in launch.flags
    assert [override.key for override in launch.overrides] == ["a.b", "hydra.run.dir"]
    assert not launch.stray


@pytest.mark.parametrize("option", ["--config-path=$PWD/x", "-cp $(pwd)"])
def test_an_option_whose_value_is_not_known_sets_no_key(option):
    launch = _only(f"{MAIN} {option} a.b=1\n")
    assert launch.flags.keys() == {"config-path"}
    assert launch.text_of("config-path") is None
    assert not launch.unresolved


def test_a_launch_behind_a_placeholder_is_found_although_the_script_stops_before_it():
    guard = 'DATA={your_path}\nif [ "$DATA" = "{your_path}" ]; then exit 1; fi\n'
    launch = _only(f"{guard}{MAIN} a.b=$DATA\n")
    assert _values(launch) == {"a.b": "{your_path}"}


@pytest.mark.parametrize(
    "between", ["  c.d=2\n", "  c.d=2 \\ \n", "  # c.d=2 \\\n", "\n"]
)
def test_arguments_that_became_a_command_are_lost(between):
    script = read(f"{MAIN} a.b=1 \\\n{between}  e.f=3 \\\n  g.h=$(nproc)\n")
    (found,) = broken_continuations(script)
    assert found.cause_line == 2
    assert found.command.place.line == 3


def with_array(array: str) -> Launch:
    """The trainer with the elements of the array `X`."""
    return _only(f'{array}{MAIN} "${{X[@]}}"\n')


def test_settings_that_only_a_branch_adds_have_their_keys():
    array = 'X=(ray.a=1)\nif [ "$Q" ]; then X=(ray.a=1 +ray.b=2 "ray.c=$R"); fi\n'
    launch = with_array(array)
    assert _values(launch) == {"ray.a": "1", "+ray.b": None, "ray.c": None}
    assert not launch.unresolved


def test_of_an_option_that_only_a_branch_adds_nothing_is_known():
    array = 'X=()\nif [ "$Q" ]; then X=(--config-name=a ray.a=1); fi\n'
    launch = with_array(array)
    assert not launch.overrides
    assert len(launch.unresolved) == 1


@pytest.mark.parametrize(
    "text", ["python3 -c '{}'", "bash -c \"{} '$X'\"", "bash -c 'x '\"$Y\"' {}'"]
)
def test_a_text_that_another_program_runs_is_not_followed(text):
    command = text.format(f"{MAIN} a.b=1 c.d=2")
    script = read(f"{command}\n")
    assert not launches(script)
