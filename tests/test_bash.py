"""What `script.bash` reads in a script, compared with bash itself where bash can say it."""

import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from random import Random

import pytest

from cases import each, read_cases
from conftest import program
from rl_resources.script.bash import read
from rl_resources.script.bash.script import Command, Script, Value, Word

ROOT = Path(__file__).parents[1]
SHIPPED = sorted((ROOT / "examples" / "tuning").glob("*/*.sh"))
HOME = "/home/someone"
STUBS = {
    "python3": 'printf "%s\\0" "$#" "$@" >> "$OUT"\n',
    # answers in turn true and false, in an order of its own for each SEED
    "ask": 'echo "two words"\nn=0\n[ ! -f "$OUT.n" ] || read -r n < "$OUT.n"\n'
    'n=$((n + 1))\necho "$n" > "$OUT.n"\nexit $(((n * SEED / 7) % 2))\n',
}


@pytest.fixture(scope="session")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[list[str]]]:
    """Runs one of our own scripts with stubs for all other programs; what `python3` was given."""
    interpreter = program("bash")
    programs = tmp_path_factory.mktemp("programs")
    for name, body in STUBS.items():
        (programs / name).write_text(f"#!{program('sh')}\n{body}")
        (programs / name).chmod(0o755)
    (programs / "cat").symlink_to(program("cat"))
    work = tmp_path_factory.mktemp("work")
    out, script = work.with_name("arguments"), work.with_name("script.sh")

    def run(text: str, **environment: str) -> list[list[str]]:
        for old in (out, out.with_name(out.name + ".n")):
            old.unlink(missing_ok=True)
        script.write_text(text, encoding="utf-8", errors="surrogateescape")
        settled = {"PATH": str(programs), "HOME": HOME, "OUT": str(out), "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [interpreter, str(script)],
            env=settled | environment,
            cwd=work,
            capture_output=True,
            timeout=60,
        )
        return _argument_lists(out.read_bytes() if out.exists() else b"")

    return run


def _argument_lists(data: bytes) -> list[list[str]]:
    words = [word.decode("utf-8", "surrogateescape") for word in data.split(b"\0")[:-1]]
    found = []
    while words:
        count = int(words[0])
        found.append(words[1 : count + 1])
        words = words[count + 1 :]
    return found


def _launched(script: Script) -> list[Command]:
    return [c for c in script.commands if c.name == "python3"]


def _arguments(command: Command) -> list[str]:
    """The words after the first, `?` for those that are not known."""
    return ["?" if word.text is None else word.text for word in command.words[1:]]


def _home_filled(value: Value) -> str:
    """The text with HOME put in; any other unknown part stays as it is written."""
    return value.shown.replace("${HOME}", HOME).replace("$HOME", HOME)


# The whole of it, against bash


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_script_gets_the_arguments_that_bash_gives_it(path, bash):
    script = read(path.read_text())
    (command,) = _launched(script)
    *arguments, rest = command.words[1:]
    assert rest.raw == '"$@"'
    assert [[_home_filled(word.value) for word in arguments]] == bash(path.read_text())
    assert not script.problems
    assert script.complete


PROLOGUE = f"""#!/usr/bin/env bash
set -f
HOME={HOME} a=x B="p q" c_1=a.b/c N=7 MODEL=Org/Name-7B i=0
X=(1 "2 3") Y=()
"""
GRAMMAR, CASES = read_cases("bash_grammar"), read_cases("bash")


def launch_script(seed: int, dynamic: bool) -> str:
    """A script in which everything can be known, or also what depends on how it is run."""
    random, number = Random(seed), count(1)
    static, more = GRAMMAR["static"], GRAMMAR["dynamic"] if dynamic else {}
    forms = {name: [*static.get(name, []), *more.get(name, [])] for name in static | more}

    def written(symbol: str, depth: int) -> str:
        form = random.choice(forms[symbol][: 1 if depth > 9 else None])
        return re.sub("<([a-z]+)>", lambda match: written(match[1], depth + 1), form)

    return PROLOGUE + re.sub(r"\bL#", lambda _: f"L{next(number)}", written("script", 0))


MORE = (pytest.param(start, marks=pytest.mark.nightly) for start in (50, 100, 150))
SEEDS = pytest.mark.parametrize("start", [0, *MORE])


@SEEDS
def test_where_nothing_is_dynamic_every_argument_is_known_and_is_that_of_bash(start, bash):
    for seed in range(start, start + 50):
        text = launch_script(seed, dynamic=False)
        script = read(text)
        assert not script.problems, text
        launched = _launched(script)
        found = [[word.text for word in command.words[1:]] for command in launched]
        assert found == bash(text), text


@SEEDS
def test_what_is_said_to_be_known_is_so_in_every_run(start, bash):
    for seed in range(start, start + 50):
        text = launch_script(seed, dynamic=True)
        found = _launched(read(text))
        is_set, environment = seed % 2 == 1, {"SEED": str(seed % 90 + 3)}
        given = bash(text, **environment | ({"EXTRA": "set"} if is_set else {}))
        for arguments in given:
            same = [command for command in found if command.words[1].text == arguments[0]]
            fitting = any(_admits(item.words[1:], arguments, is_set) for item in same)
            assert fitting, (arguments, text)


def _admits(words: Sequence[Word], arguments: Sequence[str], is_set: bool) -> bool:
    """Whether a command with these words may get these arguments; a setting replaces defaults."""
    if not words:
        return not arguments
    first, *rest = words
    counts = range(len(arguments) + 1)
    unsure = first.text is None or (is_set and first.value.default)
    if unsure and any(_admits(rest, arguments[n:], is_set) for n in counts):
        return True
    pattern = "".join("(?s:.*)" if p.text is None else re.escape(p.text) for p in first.value.parts)
    fits = bool(arguments) and re.fullmatch(pattern, arguments[0]) is not None
    return fits and _admits(rest, arguments[1:], is_set)


# Always ends


def test_what_grows_without_end_is_given_up_and_then_nothing_is_known():
    script = read("X=(1 2)\n" + 'X=("${X[@]}" "${X[@]}")\n' * 60 + "python3 $x")
    assert not script.complete
    assert all(command.words[1].text is None for command in _launched(script))


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 3000, '"$(' * 3000, "$((" * 3000, "if " * 3000, "a|" * 3000, "<<A " * 3000),
        *("( " * 300 + "a" + " )" * 300, "echo $((" + "- " * 500 + "1))", "a | " * 200 + "b"),
        *(
            "echo " + "{a,b}" * 300,
            "if a; then " * 300 + "b" + "; fi" * 300,
            "echo " + "{" * 50_000 + "}" * 50_000,
            "echo $((9**99999999))",
        ),
        *("x=" + "a" * 3000 + "\n" + "echo ${x##*a*a*a*b}\n" * 5, "x=ab\n" + "x=$x$x\n" * 60),
    ],
)
def test_deep_nesting_and_huge_expansions_are_bounded(text):
    assert read(text).text == text


def test_of_a_text_too_long_the_beginning_is_read():
    script = read("python3 a\n" + "#" * (1 << 20))
    assert not script.complete
    assert [command.name for command in script.commands] == ["python3"]


# Values and where they come from


@each(CASES["places"], "script words")
def test_a_word_has_the_place_where_it_is_written(script, words):
    (command,) = _launched(read(script))
    places = [f"{word.place.line}:{word.place.column}" for word in command.words[1:]]
    assert [*map(" ".join, zip(places, _arguments(command), strict=True))] == words


@each(CASES["expansions"], "script words")
def test_expansions(script, words):
    (command,) = _launched(read(script))
    assert _arguments(command) == words


# Branches


@each(CASES["branches"], "script launches")
def test_branches(script, launches):
    found = read(script)
    launched = [" ".join(_arguments(item)) for item in _launched(found)]
    assert launched == launches
    assert found.complete


def test_what_a_function_or_eval_changes_is_unknown():
    text = "A=1 B=1 C=1\nf() { A=2; }\nf\neval 'B=2'\npython3 $A $B $C\n"
    (command,) = _launched(read(text))
    assert _arguments(command) == ["?", "?", "1"]


# Syntax


@each(CASES["syntax"], "script line column")
def test_what_bash_refuses_has_its_place(script, line, column):
    done = subprocess.run([program("bash"), "-n"], input=script.encode(), capture_output=True)
    assert done.returncode != 0
    ((place, _),) = read(script).problems
    assert (place.line, place.column) == (line, column)


def test_the_commands_above_an_error_are_read():
    assert [command.name for command in read("a\nfi\n").commands] == ["a"]
