"""What `script.bash` reads in a script, compared with bash itself where bash can say it."""

import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import count, islice
from random import Random

import pytest

from cases import each, read_cases
from conftest import program, refused
from rl_resources.script.bash import parser, read
from rl_resources.script.bash.script import Command, Script, Value, Word
from website import ROOT

SHIPPED = sorted((ROOT / "examples" / "tuning").glob("*/*.sh"))
HOME = "/home/someone"
GRAMMAR = read_cases("bash_grammar")
CASES = read_cases("bash")


@pytest.fixture(scope="session")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[list[str]]]:
    """Runs one of our own scripts with stubs for all other programs; what `python3` was given."""
    interpreter = program("bash")
    programs = tmp_path_factory.mktemp("programs")
    for name, body in CASES["stubs"].items():
        (programs / name).write_text(f"#!{program('sh')}\n{body}")
        (programs / name).chmod(0o755)
    (programs / "cat").symlink_to(program("cat"))
    work = tmp_path_factory.mktemp("work")
    out = work.with_name("arguments")
    answers = work.with_name("arguments.n")
    script = work.with_name("script.sh")
    settled = {
        "PATH": str(programs),
        "HOME": HOME,
        "OUT": str(out),
        "LC_ALL": "C.UTF-8",
    }

    def run(text: str, **environment: str) -> list[list[str]]:
        out.write_bytes(b"")
        answers.unlink(missing_ok=True)
        script.write_text(text, encoding="utf-8", errors="surrogateescape")
        subprocess.run(
            [interpreter, str(script)],
            env=settled | environment,
            cwd=work,
            capture_output=True,
            timeout=60,
        )
        return _argument_lists(out.read_bytes())

    return run


def _argument_lists(data: bytes) -> list[list[str]]:
    """What the stub of `python3` wrote for each call: how many arguments, then each of them."""
    *texts, _ = data.split(b"\0")
    words = iter([text.decode("utf-8", "surrogateescape") for text in texts])
    found = []
    for number in words:
        arguments = islice(words, int(number))
        found.append(list(arguments))
    return found


def _launched(script: Script) -> list[Command]:
    return [command for command in script.commands if command.name == "python3"]


def _texts(command: Command) -> list[str | None]:
    return [word.text for word in command.words[1:]]


def _arguments(command: Command) -> list[str]:
    """The words after the first, `?` for those that are not known."""
    return [_known(word) for word in command.words[1:]]


def _known(word: Word) -> str:
    if word.text is None:
        return "?"
    return word.text


def _home_filled(value: Value) -> str:
    """The text with HOME put in; any other unknown part stays as it is written."""
    return value.shown.replace("${HOME}", HOME).replace("$HOME", HOME)


# The whole of it, against bash


@pytest.mark.parametrize("path", SHIPPED)
def test_a_shipped_script_gets_the_arguments_that_bash_gives_it(path, bash):
    text = path.read_text()
    script = read(text)
    (command,) = _launched(script)
    _, *arguments, rest = command.words
    assert rest.raw == '"$@"'
    known = [_home_filled(word.value) for word in arguments]
    assert [known] == bash(text)
    assert not script.problems
    assert script.complete


PROLOGUE = f"""#!/usr/bin/env bash
set -f
HOME={HOME} a=x B="p q" c_1=a.b/c N=7 MODEL=Org/Name-7B i=0
X=(1 "2 3") Y=()
"""
DEEPEST = 9
"""Beyond this depth the first form of each symbol is taken, which ends."""


def launch_script(seed: int, dynamic: bool) -> str:
    """A script in which everything can be known, or also what depends on how it is run."""
    random = Random(seed)
    number = count(1)
    forms = _forms(dynamic)

    def written(symbol: str, depth: int) -> str:
        possible = forms[symbol]
        if depth > DEEPEST:
            possible = possible[:1]
        form = random.choice(possible)
        return re.sub("<([a-z]+)>", lambda match: written(match[1], depth + 1), form)

    body = written("script", 0)
    return PROLOGUE + re.sub(r"\bL#", lambda _: f"L{next(number)}", body)


def _forms(dynamic: bool) -> dict[str, list[str]]:
    """The forms of each symbol of the grammar."""
    forms = {name: [*some] for name, some in GRAMMAR["static"].items()}
    if dynamic:
        for name, some in GRAMMAR["dynamic"].items():
            forms.setdefault(name, []).extend(some)
    return forms


NIGHTLY = [pytest.param(start, marks=pytest.mark.nightly) for start in (50, 100, 150)]
SEEDS = pytest.mark.parametrize("start", [0, *NIGHTLY])


@SEEDS
def test_where_nothing_is_dynamic_every_argument_is_known_and_is_that_of_bash(
    start, bash
):
    for seed in range(start, start + 50):
        text = launch_script(seed, dynamic=False)
        script = read(text)
        assert not script.problems, text
        found = [_texts(command) for command in _launched(script)]
        assert found == bash(text), text


@SEEDS
def test_what_is_said_to_be_known_is_so_in_every_run(start, bash):
    """Every other script runs with a variable that its defaults ask for."""
    for seed in range(start, start + 50):
        text = launch_script(seed, dynamic=True)
        commands = _launched(read(text))
        environment = {"SEED": str(seed % 90 + 3)}
        is_set = seed % 2 == 1
        if is_set:
            environment["EXTRA"] = "set"
        for arguments in bash(text, **environment):
            assert _is_known(arguments, commands, is_set), (arguments, text)


def _is_known(
    arguments: Sequence[str], commands: Sequence[Command], is_set: bool
) -> bool:
    """Whether one of the commands that begin so may get these arguments."""
    for command in commands:
        _, *words = command.words
        if words[0].text == arguments[0] and _admits(words, arguments, is_set):
            return True
    return False


def _admits(words: Sequence[Word], arguments: Sequence[str], is_set: bool) -> bool:
    """Whether a command with these words may get these arguments; a setting replaces defaults."""
    if not words:
        return not arguments
    first, *rest = words
    if first.text is None or (is_set and first.value.default):
        for taken in range(len(arguments) + 1):
            if _admits(rest, arguments[taken:], is_set):
                return True
    if not arguments or not re.fullmatch(_pattern(first), arguments[0]):
        return False
    return _admits(rest, arguments[1:], is_set)


def _pattern(word: Word) -> str:
    """The texts that a word may become."""
    pattern = ""
    for part in word.value.parts:
        if part.text is None:
            pattern += "(?s:.*)"
        else:
            pattern += re.escape(part.text)
    return pattern


# Always ends


def test_what_grows_without_end_is_given_up_and_then_no_command_is_known():
    doubled = 'X=("${X[@]}" "${X[@]}")\n'
    script = read("X=(1 2)\n" + doubled * 60 + "python3 $x")
    assert not script.complete
    assert not _launched(script)


@pytest.mark.parametrize("parts", CASES["bounded"]["texts"])
def test_deep_nesting_and_huge_expansions_are_bounded(parts):
    text = "".join(part * times for part, times in parts)
    assert read(text).text == text


def test_of_a_text_too_long_the_beginning_is_read():
    script = read("python3 a\n" + "#" * (1 << 20))
    assert not script.complete
    assert [command.name for command in script.commands] == ["python3"]


# Values and where they come from


@each(CASES["places"], "script words")
def test_a_word_has_the_place_where_it_is_written(script, words):
    (command,) = _launched(read(script))
    assert [_placed(word) for word in command.words[1:]] == words


def _placed(word: Word) -> str:
    """A word with its line and column."""
    return f"{word.place.line}:{word.place.column} {_known(word)}"


@each(CASES["expansions"], "script words")
def test_a_word_is_expanded_as_bash_does(script, words):
    (command,) = _launched(read(script))
    assert _arguments(command) == words


# Branches


@each(CASES["branches"], "script launches")
def test_a_branch_is_taken_skipped_or_left_open(script, launches):
    found = read(script)
    launched = [" ".join(_arguments(item)) for item in _launched(found)]
    assert launched == launches
    assert found.complete


# Syntax


@each(CASES["syntax"], "script line column")
def test_what_bash_refuses_has_its_place(script, line, column):
    done = subprocess.run(
        [program("bash"), "-n"], input=script.encode(), capture_output=True
    )
    assert done.returncode != 0
    ((place, _),) = read(script).problems
    assert place.line == line
    assert place.column == column


def test_without_shfmt_nothing_is_read(monkeypatch):
    monkeypatch.setattr(parser, "installed", lambda name: None)
    message = "scripts are parsed by shfmt, which is not installed"
    with refused(message, "Run: pip install 'rl-resources[site]'"):
        read("echo without shfmt\n")


def test_what_shfmt_says_nothing_of_cannot_be_read(monkeypatch):
    silent = program("false")
    monkeypatch.setattr(parser, "installed", lambda name: silent)
    ((_, problem),) = read("echo of another shfmt\n").problems
    assert problem == "this cannot be read"


def test_the_commands_above_an_error_are_read():
    assert [command.name for command in read("a\nfi\n").commands] == ["a"]
