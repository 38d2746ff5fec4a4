"""What `script.launch` makes of a script's commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_resources.script.bash import read
from rl_resources.script.launch import Launch, launches, lost

ROOT = Path(__file__).parents[1]
SHIPPED = sorted((ROOT / "examples" / "tuning").glob("*/*.sh"))
OVERRIDES = "data.train_batch_size=8 trainer.nnodes=1"


def _only(text: str) -> Launch:
    (launch,) = launches(read(text))
    return launch


def _values(launch: Launch) -> dict[str, str | None]:
    return {override.prefix + override.key: override.value for override in launch.overrides}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_script_starts_one_training_whose_overrides_are_known(path: Path) -> None:
    launch = _only(path.read_text())
    assert launch.module == "verl.trainer.main_ppo"
    assert launch.passes_arguments
    assert not launch.stray
    assert not launch.unresolved
    unknown = [override for override in launch.overrides if override.value is None]
    assert {name for o in unknown if o.content for name in _missing(o.content)} <= {"HOME"}
    assert {override.key for override in unknown} <= {"data.train_files", "data.val_files"}


def _missing(value: object) -> list[str]:
    parts = getattr(value, "parts", ())
    return [part.source.strip("${}") for part in parts if part.text is None]


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m verl.trainer.main_ppo",
        "python -m verl.trainer.main_ppo",
        "/opt/conda/bin/python3.11 -u -m verl.trainer.main_ppo",
        "python3 -um verl.trainer.main_ppo",
        "python3 -X importtime -W ignore -m verl.trainer.main_ppo",
        "PYTHONUNBUFFERED=1 python3 -m verl.trainer.main_ppo",
        "env A=1 python3 -m verl.trainer.main_ppo",
        "nohup python3 -m verl.trainer.main_ppo",
        "exec python3 -m verl.trainer.main_ppo",
        "time python3 -m verl.trainer.main_ppo",
        "torchrun --nnodes 1 --nproc_per_node=8 -m verl.trainer.main_ppo",
        "python3 -m torch.distributed.run --nproc_per_node 8 -m verl.trainer.main_ppo",
        "accelerate launch --num_processes 8 -m verl.trainer.main_ppo",
        "ray job submit --no-wait --address http://x -- python3 -m verl.trainer.main_ppo",
        "srun -N 2 --ntasks-per-node=1 python3 -m verl.trainer.main_ppo",
        "python3 verl/trainer/main_ppo.py",
        "python3 /opt/verl/verl/trainer/main_ppo.py",
        "torchrun --standalone verl/trainer/main_ppo.py",
    ],
)
def test_every_way_to_start_the_trainer_is_found(command: str) -> None:
    launch = _only(f"{command} {OVERRIDES}\n")
    assert launch.module == "verl.trainer.main_ppo"
    assert _values(launch) == {"data.train_batch_size": "8", "trainer.nnodes": "1"}
    assert not launch.stray


@pytest.mark.parametrize(
    "module",
    ["recipe.dapo.main_dapo", "verl.trainer.main_eval", "verl.trainer.fsdp_sft_trainer"],
)
def test_other_entry_points_are_launches_even_without_overrides(module: str) -> None:
    assert _only(f"python3 -m {module}\n").module == module


@pytest.mark.parametrize(
    "command",
    [
        "python3 examples/data_preprocess/gsm8k.py --local_dir ~/data",
        "python3 -c 'import verl'",
        "python3 -m verl.model_merger merge --backend fsdp",
        "python3 -m pip install verl==0.4",
        "python3",
        "echo python3 -m verl.trainer.main_ppo a.b=1 c.d=2",
        "ray start --head",
    ],
)
def test_other_programs_are_no_launches(command: str) -> None:
    assert launches(read(command + "\n")) == ()


def test_a_launch_that_is_never_reached_is_none() -> None:
    assert launches(read(f"exit\npython3 -m verl.trainer.main_ppo {OVERRIDES}\n")) == ()


def test_a_launch_behind_an_unknown_condition_may_happen() -> None:
    text = f'if [ -n "$X" ]; then python3 -m verl.trainer.main_ppo {OVERRIDES}; fi\n'
    assert _only(text).command.reach == "maybe"


def test_prefixes_and_groups_are_overrides() -> None:
    launch = _only(
        "python3 -m verl.trainer.main_ppo model_engine=megatron +a.b=1 ++c.d=2 ~e.f ~g.h=3 "
        "db@pkg.x=y hydra/launcher=z i.0.j= k.l=m=n\n"
    )
    assert [(o.prefix, o.key, o.value) for o in launch.overrides] == [
        ("", "model_engine", "megatron"),
        ("+", "a.b", "1"),
        ("++", "c.d", "2"),
        ("~", "e.f", None),
        ("~", "g.h", "3"),
        ("", "db@pkg.x", "y"),
        ("", "hydra/launcher", "z"),
        ("", "i.0.j", ""),
        ("", "k.l", "m=n"),
    ]
    assert [o.content is None for o in launch.overrides][3:5] == [True, False]


@pytest.mark.parametrize(
    "flags",
    [
        "--config-path=config --config-name=x.yaml --multirun",
        "--config-path config --config-name x.yaml -m",
        "-cp config -cn x.yaml -m",
    ],
)
def test_the_options_of_hydra_are_told_apart(flags: str) -> None:
    launch = _only(f"python3 -m verl.trainer.main_ppo {flags} a.b=1 hydra.run.dir=. \n")
    assert (launch.config_path, launch.config_name, launch.multirun) == ("config", "x.yaml", True)
    assert [override.key for override in launch.overrides] == ["a.b"]
    assert [override.key for override in launch.hydra] == ["hydra.run.dir"]
    assert not launch.stray


def test_a_value_with_a_blank_and_no_quotes_leaves_a_stray_word() -> None:
    launch = _only("N='my run'\npython3 -m verl.trainer.main_ppo a.b=1 \\\n  c.d=$N e.f=2 --bad\n")
    assert _values(launch) == {"a.b": "1", "c.d": "my", "e.f": "2"}
    assert [(s.value.text, s.place.line) for s in launch.stray] == [("run", 1), ("--bad", 3)]


def test_a_backslash_before_a_blank_is_a_stray_word() -> None:
    launch = _only("python3 -m verl.trainer.main_ppo a.b=1 c.d=2 \\ \n  e.f=3\n")
    assert [(s.value.text, s.raw) for s in launch.stray] == [(" ", "\\ ")]


def test_an_argument_of_which_the_key_is_unknown_is_unresolved() -> None:
    launch = _only('python3 -m verl.trainer.main_ppo a.b=1 c.d=$E $EXTRA "$X=1" "${@:2}"\n')
    assert [word.raw for word in launch.unresolved] == ["$EXTRA", '"$X=1"']
    assert _values(launch) == {"a.b": "1", "c.d": None}
    assert launch.passes_arguments


def test_an_override_tells_where_key_and_value_are_written_and_where_the_value_is_defined() -> None:
    launch = _only(
        'N=5\nARGS=(\n  trainer.nnodes="$N"\n  trainer.x=y\n)\n'
        'python3 -m verl.trainer.main_ppo "${ARGS[@]}"\n'
    )
    first, second = launch.overrides
    assert (first.raw, first.line, first.column) == ('trainer.nnodes="$N"', 3, 3)
    assert (first.value_place.line, first.value_place.column) == (3, 18)
    assert (first.origin.line, first.origin.column) == (1, 3)
    assert (second.raw, second.origin.line, second.origin.column) == ("trainer.x=y", 4, 13)
    assert (launch.line, launch.column) == (6, 1)


def test_an_override_split_off_a_variable_is_told_where_it_is_written() -> None:
    launch = _only("ARGS='a.b=1 c.d=2'\npython3 -m verl.trainer.main_ppo $ARGS\n")
    assert [(o.line, o.column, o.raw) for o in launch.overrides] == [
        (1, 7, "a.b=1"),
        (1, 13, "c.d=2"),
    ]


@pytest.mark.parametrize(
    "runner", ['eval "$CMD"', 'bash -c "$CMD"', 'srun -N 2 bash -lc "ulimit; $CMD"']
)
def test_a_command_kept_as_text_is_read_too(runner: str) -> None:
    text = f'N=4\nCMD="python3 -m verl.trainer.main_ppo a.b=$N \\\n  c.d=$HOME/x"\n{runner}\n'
    launch = _only(text)
    assert _values(launch) == {"a.b": "4", "c.d": None}
    assert [(override.line, override.column) for override in launch.overrides] == [(2, 39), (3, 3)]
    assert launch.line == 4


def test_eval_expands_a_command_again_where_it_stands() -> None:
    text = (
        "export LR=1e-6 PART\n"
        "CMD=(python3 -m verl.trainer.main_ppo\n"
        "  a.lr=\\$LR a.tags=\\'[x]\\' \\$PART)\n"
        "LR=2e-6\n"
        'main() { local PART=b.c=3; eval "${CMD[@]}" "$@"; }\n'
        'main "$@"\n'
    )
    launch = _only(text)
    assert _values(launch) == {"a.lr": "2e-6", "a.tags": "[x]", "b.c": "3"}
    assert launch.passes_arguments
    assert [override.line for override in launch.overrides][:2] == [3, 3]


def test_text_for_another_shell_sees_only_what_is_exported() -> None:
    text = "export A=1\nB=2\nbash -c 'python3 -m verl.trainer.main_ppo x.a=$A x.b=$B'\n"
    assert _values(_only(text)) == {"x.a": "1", "x.b": None}


@pytest.mark.parametrize(
    "start", ["$PYTHON -u -m", '"${LAUNCH[@]}" -m', "python3 $OPTIONS -m", '"$(which python)" -m']
)
def test_a_module_is_told_whatever_the_name_of_the_interpreter(start: str) -> None:
    launch = _only(f"{start} verl.trainer.main_ppo a.b=1\n")
    assert (launch.module, _values(launch)) == ("verl.trainer.main_ppo", {"a.b": "1"})


def test_a_launch_behind_a_placeholder_is_told_although_the_script_as_shipped_stops_before() -> (
    None
):
    guard = 'DATA={your_path}\nif [ "$DATA" = "{your_path}" ]; then exit 1; fi\n'
    launch = _only(guard + "python3 -m verl.trainer.main_ppo a.b=$DATA\n")
    assert _values(launch) == {"a.b": "{your_path}"}


@pytest.mark.parametrize(
    ("between", "cause", "cause_line"),
    [
        ("  c.d=2\n", "no-backslash", 2),
        ("  c.d=2 \\ \n", "space-after-backslash", 2),
        ("  # c.d=2 \\\n", "comment", 2),
        ("\n", "blank-line", 2),
    ],
)
def test_arguments_that_became_a_command_are_told_with_what_cut_them_off(
    between: str, cause: str, cause_line: int
) -> None:
    text = f"python3 -m verl.trainer.main_ppo a.b=1 \\\n{between}  e.f=3 \\\n  g.h=4\n"
    (found,) = lost(read(text))
    assert [override.key for override in found.overrides] == ["e.f", "g.h"]
    assert (found.cause, found.cause_line, found.command.place.line) == (cause, cause_line, 3)


def test_an_array_whose_command_lost_its_backslash_is_told_too() -> None:
    text = 'D=(a.b=1)\npython3 -m verl.trainer.main_ppo\n  "${D[@]}" \\\n  c.d=2\n'
    (found,) = lost(read(text))
    assert [override.key for override in found.overrides] == ["a.b", "c.d"]


def test_ordinary_assignments_and_commands_are_not_lost_arguments() -> None:
    assert lost(read("a=1\nexport B=2\n./run.sh x.y=1\nC=3 cmd\n")) == ()


KEYS = st.from_regex(r"(\+|\+\+|~)?[a-z_]{1,4}(\.[a-z_][a-z_0-9]{0,3}){0,3}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)


@given(pairs=st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_quoted_overrides_arrive_as_they_were_written(pairs: list[tuple[str, str]]) -> None:
    words = ["'" + f"{key}={value}".replace("'", "'\\''") + "'" for key, value in pairs]
    launch = _only("python3 -m verl.trainer.main_ppo \\\n  " + " \\\n  ".join(words) + "\n")
    assert [(o.prefix + o.key, o.value) for o in launch.overrides] == pairs


@given(text=st.text())
@settings(max_examples=150, deadline=None)
def test_any_arguments_can_be_sorted(text: str) -> None:
    script = read("python3 -m verl.trainer.main_ppo " + text)
    for launch in launches(script):
        assert launch.module
    lost(script)
