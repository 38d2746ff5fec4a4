"""What `script.bash` reads in a script, compared with bash itself where bash can say it."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import program
from rl_resources.script.bash import Command, Script, Value, Word, read, reread

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
            timeout=10,
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
    told = _with_inner(script.commands)
    return [c for c in told if c.name == "python3" and c.reach != "never"]


def _with_inner(commands: Sequence[Command]) -> Iterator[Command]:
    for command in commands:
        yield from _with_inner(command.inner)
        yield command


def _arguments(text: str) -> list[str | None]:
    (command,) = _launched(read(text))
    return [word.text for word in command.words[1:]]


def _home_filled(value: Value) -> str:
    """The text with HOME put in; any other unknown part stays as it is written."""
    return value.shown.replace("${HOME}", HOME).replace("$HOME", HOME)


# The whole of it, against bash


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_script_gets_the_arguments_that_bash_gives_it(
    path: Path, bash: Callable[..., list[list[str]]]
) -> None:
    script = read(path.read_bytes())
    (command,) = _launched(script)
    *arguments, rest = command.words[1:]
    assert rest.raw == '"$@"'
    assert [[_home_filled(word.value) for word in arguments]] == bash(path.read_text())
    assert not script.problems
    assert script.complete


NAMES = ("a", "B", "c_1", "MODEL")
ARRAYS = ("X", "Y")
# without pathname expansion, and with HOME set, nothing below depends on its surroundings
PROLOGUE = f"""#!/usr/bin/env bash
set -f
HOME={HOME} a=x B="p q" c_1=a.b/c N=7 MODEL=Org/Name-7B P=MODEL i=0
X=(1 "2 3") Y=()
"""


class ScriptWriter:
    """Writes launch scripts; every choice is hypothesis's, so that it can shrink them."""

    def __init__(self, draw: st.DrawFn, dynamic: bool) -> None:
        self._draw = draw
        self._dynamic = dynamic
        self._in_function = False
        self._launches = 0

    def _pick(self, *options: str) -> str:
        return self._draw(st.sampled_from(options))

    def _call(self, *writers: Callable[[], str]) -> str:
        return self._draw(st.sampled_from(writers))()

    def _many(self, writer: Callable[[], str], least: int, most: int) -> str:
        return "".join(writer() for _ in range(self._draw(st.integers(least, most))))

    def _text(self, alphabet: str, least: int, most: int) -> str:
        return self._draw(st.text(alphabet, min_size=least, max_size=most))

    def script(self) -> str:
        statements = [self._statement(0) for _ in range(self._draw(st.integers(1, 6)))]
        return PROLOGUE + "\n".join(statements) + "\n"

    # words

    def _literal(self) -> str:
        return self._text("abXY019.=:/,-+@%^_", 1, 5)

    def _single_quoted(self) -> str:
        return "'" + self._text('ab $"\\`{}[]()#;&|<>*?\n!', 0, 6) + "'"

    def _ansi_quoted(self) -> str:
        escape = ("a", "\\n", "\\t", "\\'", "\\x41", "\\101", "\\u00e9", '"', "$x", "\\\\")
        return "$'" + self._many(lambda: self._pick(*escape), 0, 4) + "'"

    def _double_quoted(self, depth: int = 0) -> str:
        return '"' + self._many(lambda: self._inside_quotes(depth + 1), 0, 3) + '"'

    def _inside_quotes(self, depth: int) -> str:
        return self._call(
            lambda: self._text("ab '#;,.[]=*", 1, 4),
            lambda: self._pick('\\"', "\\$", "\\\\", "\\a", "\\`", "\\\n"),
            lambda: f"$(({self._expression(0)}))",
            lambda: self._parameter(depth, quoted=True),
        )

    def _piece(self, depth: int) -> str:
        return self._call(
            self._literal,
            self._literal,
            self._single_quoted,
            lambda: self._double_quoted(depth),
            self._ansi_quoted,
            lambda: self._pick("\\ ", '\\"', "\\'", "\\$", "\\a", "\\\\", "\\;", "\\*", "\\\n"),
            lambda: f"$(({self._expression(0)}))",
            lambda: self._parameter(depth, quoted=False),
        )

    def _word(self) -> str:
        braces = ["{a,b}", "k={1..3}", "{", "{}x", "x{c}"]
        braces += ['{x,"y z",${N}}', "{a,{b,c}}", "{01..3}", "{c..a}$N"] * self._dynamic
        return self._call(
            lambda: self._many(lambda: self._piece(0), 1, 3), lambda: self._pick(*braces)
        )

    def _operand(self, depth: int, quoted: bool) -> str:
        if depth > 2:
            return self._pick("", "d", "e f")
        if quoted:
            # bash itself loses count of an apostrophe here once the word has braces to expand
            return self._many(lambda: self._inside_quotes(depth + 1), 0, 2).replace("'", "")
        return self._many(lambda: self._piece(depth + 1), 0, 2)

    def _pattern(self) -> str:
        parts = ("a", "*", "?", ".", "[a-z]", "[!b]", "X", "'*'", "\\.", "=", "\\/")
        return self._many(lambda: self._pick(*parts), 1, 3)

    def _parameter(self, depth: int, quoted: bool) -> str:
        name, array = self._pick(*NAMES), self._pick(*ARRAYS)
        return self._call(
            lambda: f"${{{name}}}",
            lambda: f"${{{name}}}",
            lambda: f"${{#{name}}}",
            lambda: f"${{{name}{self._pick(':-', '-', ':+', '+')}{self._operand(depth, quoted)}}}",
            lambda: f"${{UNSET{self._pick(':-', '-')}{self._operand(depth, quoted)}}}",
            lambda: f"${{U2{self._pick(':=', '=')}{self._operand(depth, quoted)}}}",
            lambda: f"${{{name}{self._pick('%', '%%', '#', '##')}{self._pattern()}}}",
            lambda: (
                f"${{{name}{self._pick('/', '//', '/#', '/%')}{self._pattern()}{self._with()}}}"
            ),
            lambda: f"${{{name}{self._pick('^^', ',,', '^', ',')}}}",
            lambda: f"${{{name}:{self._pick('0', '1', ' -2', 'N')}{self._pick('', ':1', ':2')}}}",
            lambda: f"${{{array}[{self._pick('0', '1', '2')}]}}",
            lambda: f"${{#{array}[@]}}",
            lambda: f"${{{array}[@]{self._pick('', ':1', ':0:2', '%a', '/a/b', '^^')}}}",
            lambda: "${!P}",
        )

    def _with(self) -> str:
        return self._pick("", "/", "/Z", "/x y", "/$N", '/"q"')

    def _expression(self, depth: int) -> str:
        atoms = ("N", "$N", "${N}", "0x1f", "010", "2#101", " 7 ", "23")
        if depth > 2:
            return self._pick(*atoms)
        signs = [
            "+",
            "-",
            "*",
            "/",
            "%",
            "<<",
            ">>",
            "<",
            "<=",
            "==",
            "!=",
            "&",
            "|",
            "^",
            "&&",
            "||",
            "**",
        ]
        left, right = self._expression(depth + 1), self._pick(*atoms)
        return self._call(
            lambda: self._pick(*atoms),
            lambda: f"{left}{self._pick(*signs)}{right}",
            lambda: f"{left} {self._pick(*signs)} {right}",
            lambda: f"({left})",
            lambda: f"{left} ? {right} : {self._pick(*atoms)}",
            lambda: self._pick("-", "!", "~", "+") + right,
            lambda: self._pick("N=", "N+=", "N++ + ", "++N + ", "N-- - ") + right,
            lambda: f"{left}, {right}",
        )

    # statements

    def _value(self) -> str:
        return self._call(
            lambda: "",
            self._literal,
            self._word,
            self._double_quoted,
            lambda: f"$(({self._expression(0)}))",
            lambda: self._pick('"${X[*]}"', '"${Y[@]}"', "~/m", "a:~/x", "1024"),
            lambda: self._pick("${NEVER:-~/m}", '"${NEVER:-~/m}"', "${NEVER:-a:~/m}"),
        )

    def _assignment(self) -> str:
        return self._call(
            lambda: f"{self._pick(*NAMES)}{self._pick('=', '=', '+=')}{self._value()}",
            lambda: f"N={self._pick('0', '3', '12', '$((N * 2 % 50))')}",
            lambda: f"{self._pick('export', 'declare')} {self._pick(*NAMES)}={self._value()}",
            lambda: f"{self._pick(*ARRAYS)}{self._pick('=', '+=')}({self._elements()})",
        )

    def _elements(self) -> str:
        return self._many(
            lambda: self._pick(" ", "\n  ", " # note\n") + self._word(),
            0,
            3,
        ) + self._pick("", "\n")

    def _launch(self) -> str:
        self._launches += 1
        prefix = self._pick("", "", "A=1 ", "B=$N ")
        suffix = self._pick("", "", " > /dev/null", " 2>&1", "  # end", " \\\n  # cut \\\n  tail=1")
        return f"{prefix}python3 L{self._launches}{self._many(self._argument, 0, 4)}{suffix}"

    def _argument(self) -> str:
        fixed = ['"${X[@]}"', '"a${Y[@]}b"', "${X[@]}", "$B", '"$B"', '\'x=["a","b"]\'', "+k={a:1}"]
        fixed += ["x=~/d", "NAME=~/d", "~k.v"] + ['"$@"', "${*}", "$2"] * self._in_function
        separator = self._pick(" ", " \\\n    ")
        return separator + self._call(
            self._word, lambda: "k.v=" + self._word(), lambda: self._pick(*fixed)
        )

    def _condition(self) -> str:
        value = f'"${self._pick(*NAMES)}"'
        known = [
            f"[ {value} = {self._pick('a', value)} ]",
            f"[ -n {value} ]",
            f"! [ -z {value} ]",
            f"[[ {value} == {self._pattern()} ]]",
            f"[[ -z {value} && $N -gt 3 || $N == 5 ]]",
            "(( N > 7 ))",
            '[ "$N" -lt 20 ]',
            "true",
            "false",
        ]
        dynamic = ["ask > /dev/null", '[ -n "${EXTRA:-}" ]', '[ "$(ask)" = a ]'] * 3
        return self._pick(*known, *dynamic * self._dynamic)

    def _block(self, depth: int) -> str:
        return self._many(lambda: self._statement(depth + 1) + self._pick("\n", " # c\n"), 1, 3)

    def _statement(self, depth: int) -> str:
        simple = [self._assignment, self._assignment, self._launch, self._launch]
        if depth > 2:
            return self._call(*simple)
        compound = [
            lambda: f"if {self._condition()}; then\n{self._block(depth)}{self._otherwise(depth)}fi",
            lambda: f"for {self._over()}; do\n{self._block(depth)}{self._leaving()}done",
            lambda: self._case(depth),
            lambda: self._function(depth),
            lambda: f"(\n{self._block(depth)})",
            lambda: f"{self._condition()} {self._pick('&&', '||')} {self._launch()}",
            lambda: f"cat <<{self._pick('E', chr(39) + 'E' + chr(39), '-E')}\n$a it's \"\nE\n:",
            lambda: 'set -- "$a" "${X[@]}"\npython3 L0 "$@" $#',
            lambda: f"eval {self._pick('a=1', chr(39) + 'a=$B; N=$((N + 1))' + chr(39))}",
            lambda: f'CMD={shlex.quote(self._launch())}\neval "$CMD"',
            lambda: f"{self._pick(*ARRAYS)}=(python3 L0 \\$N '\"$B\"' a=\\'$N\\')",
        ]
        return self._call(*simple, *compound, *self._unknowns(depth))

    def _unknowns(self, depth: int) -> list[Callable[[], str]]:
        if not self._dynamic:
            return []
        found = [
            lambda: f"for ((k{depth} = 0; k{depth} < 3; k{depth}++)); do\n{self._block(depth)}done",
            lambda: f"{self._pick(*ARRAYS)}[{self._pick('0', '1', '3')}]={self._value()}",
            lambda: f"{self._pick(*ARRAYS)}+=([{self._pick('0', '2')}]={self._word()} z)",
            lambda: f"{self._pick('a', 'B')}=$(ask)",
            lambda: f'{self._pick(*ARRAYS)}+=("$(ask)" z)',
            lambda: f"{self._condition()} {self._pick('&&', '||')} {self._assignment()}",
            lambda: (
                f"n{depth}=0; while ask > /dev/null && [ $((n{depth}++)) -lt 5 ]; do\n"
                f"{self._block(depth)}{self._leaving()}done"
            ),
            lambda: f"for i in $(ask) 9; do\n{self._block(depth)}done",
            lambda: (
                f"case $(ask) in\n{self._pattern()}) {self._block(depth)};;\n"
                f"t*) {self._block(depth)};;\nesac"
            ),
            lambda: 'read -r a B <<< "q w e"',
            lambda: f"unset {self._pick('a', 'B', 'X', 'X[0]')}",
            lambda: 'eval "a=1 B+=x"',
            lambda: "printf -v a %s zz",
            *self._rare(),
        ]
        return found + [lambda: f"{self._condition()} && return"] * self._in_function

    def _rare(self) -> list[Callable[[], str]]:
        """Idioms that launch scripts hold here and there."""
        launch, call = self._launch, "python3 L0"
        return [
            lambda: f"mapfile -t X <<< {self._pick('$B', chr(34) + '$a' + chr(34))}\n{launch()}",
            lambda: f'IFS={self._pick(",", "/", " ")} read -r a B <<< "1,2/3 $c_1"\n{launch()}',
            lambda: f"IFS={self._pick(',', '/', 'x')}\n{launch()}\nIFS=$' \\t\\n'",
            lambda: f"declare -n R={self._pick('a', 'B')}\nR={self._word()}\n{launch()}",
            lambda: (
                f"case {self._pick('$a', '$B', 'x')} in\n{self._pattern()}) a=1 {self._falling()}\n"
                f"{self._pattern()}) {launch()} {self._falling()}\n*) N=5 ;;\nesac\n{launch()}"
            ),
            lambda: (
                f'declare -A D=([k]=1 [j]="$a")\nD[z]={self._word()}\n'
                f'{call} "${{D[{self._pick("k", "j", "z", "q")}]}}" "${{#D[@]}}" "${{D[@]}}"'
            ),
            lambda: (
                "set -- -a one -b two\nOPTIND=1\nwhile getopts a:b o; do case $o in\n"
                "a) a=$OPTARG ;;\nb) B=set ;;\nesac; done\nshift $((OPTIND - 1))\n"
                f'{call} "$a" "$B" "$@"'
            ),
            lambda: f"trap 'a=9' {self._pick('EXIT', 'INT')}",
            lambda: f"select k in a b; do {launch()}; break; done < /dev/null",
            lambda: f"[[ $B =~ {self._pick('^([a-z ]+)$', 'p.q', 'zz')} ]] && {self._assignment()}",
            lambda: f'[[ $MODEL =~ /(.*) ]]\n{call} "${{BASH_REMATCH[1]:-none}}"',
            lambda: f'shopt -s extglob\n{call} "${{MODEL##{self._pick("+([A-Z])", "@(Org)/")}}}"',
            lambda: f'for i in "${{X[@]}}"; do Y+=("k.v=$i" ${{i:+--n}}); done\n{call} "${{Y[@]}}"',
            lambda: f"until [ $((N -= 3)) -lt 3 ]; do\n{launch()}\ndone",
            lambda: f'while true; do\nask > /dev/null && break\nN=$((N + 1))\ndone\n{call} "$N"',
            lambda: f'T="a=$(ask) B=\\$N"\neval "$T"\n{call} "$a" "$B"',
        ]

    def _falling(self) -> str:
        return self._pick(";;", ";&", ";;&")

    def _otherwise(self, depth: int) -> str:
        return self._call(
            lambda: "",
            lambda: f"else\n{self._block(depth)}",
            lambda: f"elif {self._condition()}; then\n{self._block(depth)}",
        )

    def _over(self) -> str:
        name = self._pick("i", "B")
        return f"{name} in {self._pick('1 2 3', chr(34) + '${X[@]}' + chr(34), '{1..2}', '$a $B')}"

    def _leaving(self) -> str:
        continued = f"[ $N -gt 9 ] && continue\n{self._launch()}\n"
        dynamic = [
            f"ask > /dev/null || continue\n{self._launch()}\n",
            '[ -n "${EXTRA:-}" ] && break\n',
        ]
        return self._pick("", '[ "$i" = 2 ] && break\n', continued, *dynamic * self._dynamic)

    def _case(self, depth: int) -> str:
        word, bar = self._pick("$a", '"$B"', "x"), self._pick("", "|b*")
        first, second = self._block(depth), self._block(depth)
        return f"case {word} in\n{self._pattern()}{bar}) {first} ;;\n*) {second};;\nesac"

    def _function(self, depth: int) -> str:
        name = self._pick("f", "g")
        kept, self._in_function = self._in_function, True
        first = self._pick("", "local a=1\n", 'local B="$1"\n', "shift\n")
        body = first + self._block(depth + 1)
        self._in_function = kept
        arguments = self._pick("r s t", '1 "2 3"', '"${X[@]}" z')
        return f"{name}() {{\n{body}}}\n{name} {arguments}"


@st.composite
def launch_scripts(draw: st.DrawFn, dynamic: bool) -> str:
    return ScriptWriter(draw, dynamic).script()


BUDGET = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.nightly
@given(text=launch_scripts(dynamic=False))
@BUDGET
def test_where_nothing_is_dynamic_every_argument_is_known_and_is_that_of_bash(
    text: str, bash: Callable[..., list[list[str]]]
) -> None:
    script = read(text)
    assert not [problem.kind for problem in script.problems]
    expected = bash(text)
    if _fails_in_bash(script):
        return
    found = [[word.text for word in command.words[1:]] for command in _launched(script)]
    assert found == expected
    assert all(command.reach == "always" for command in _launched(script))


def _fails_in_bash(script: Script) -> bool:
    """Whether an expression has no value (as `7 / 0`): bash then gives up the command.

    Nothing else in these scripts can be unknown.
    """
    values = [word.value for command in script.commands for word in command.words]
    values += [assignment.value for assignment in script.assignments]
    values += [w.value for a in script.assignments for w in a.elements or ()]
    return any(
        part.reason in ("form", "conditional", "limit") for value in values for part in value.parts
    )


@pytest.mark.nightly
@given(
    text=launch_scripts(dynamic=True),
    seed=st.integers(3, 90),
    extra=st.sampled_from(["", "set"]),
)
@BUDGET
def test_what_is_said_to_be_known_is_so_in_every_run(
    text: str, seed: int, extra: str, bash: Callable[..., list[list[str]]]
) -> None:
    script = read(text)
    if any(
        part.reason == "form" for c in script.commands for w in c.words for part in w.value.parts
    ):
        return
    told = _launched(script)
    runs = bash(text, SEED=str(seed), **({"EXTRA": extra} if extra else {}))
    for arguments in runs:
        same = [c for c in told if c.words[1].text == arguments[0]]
        assert any(_admits(command.words[1:], arguments) for command in same), arguments


def _admits(words: Sequence[Word], arguments: Sequence[str]) -> bool:
    """Whether a command with these words may get these arguments."""
    if not words:
        return not arguments
    first, *rest = words
    if first.many:
        return any(_admits(rest, arguments[n:]) for n in range(len(arguments) + 1))
    pattern = "".join("(?s:.*)" if p.text is None else re.escape(p.text) for p in first.value.parts)
    fits = bool(arguments) and re.fullmatch(pattern, arguments[0]) is not None
    return fits and _admits(rest, arguments[1:])


# Never raises, always ends

SNIPPETS = (
    *("$(", "${", '"', "'", "`", "((", "))", ")", "}", "{", ";", "\n", "if ", "then ", "fi "),
    *("do ", "done ", "for x in ", "case x in ", "esac ", "a=", "$x", "[[ ", " ]]", "|", "&&"),
    *("<<E\n", "E\n", "\\", "#", "@", ":-", "[", "]", "(", "*", "~", "x+=(", "function ", "! "),
    *("while ", "$((", "1", "\x00", "\ufffd", "<(", ";;", "export ", "local ", "eval ", "\r"),
)
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))


@pytest.mark.nightly
@given(text=st.one_of(TEXTS, st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))))
@settings(max_examples=400, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    script = read(text)
    for command in script.commands:
        assert 1 <= command.place.line <= len(script.lines)


@pytest.mark.parametrize(
    "text",
    [
        "f() { f; f; }; f",
        "f() { if f; then f; fi; }; f",
        "f() { f $1$1; }; f a",
        "x=ab\n" + "x=$x$x\n" * 300,
        "X=(1 2)\n" + 'X=("${X[@]}" "${X[@]}")\n' * 60,
        "for i in {1..300}; do for j in {1..300}; do echo $i$j; done; done",
        "for i in 1 2; do for j in 1 2; do break 2; done; done",
    ],
)
def test_work_without_end_is_given_up_and_then_nothing_is_known(text: str) -> None:
    script = read(text + "\npython3 $x")
    assert not script.complete
    assert all(command.words[1].text is None for command in _launched(script))


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 3000, "$(" * 3000, "${a:-" * 3000, '"$(' * 3000, "$((" * 3000, "(( " * 3000),
        *("if " * 3000, "case a in a) " * 3000, "f() " * 3000, "a|" * 3000, "a=(" * 3000),
        *("( " * 300 + "a" + " )" * 300, "echo $((" + "- " * 3000 + "1))", "[[ " + "( " * 3000),
        *("echo " + "{a,b}" * 300, "echo {1..99999999}", "echo " + "{" * 50_000 + "}" * 50_000),
        *("echo $((9**99999999))", "<<A " * 3000, "a | " * 200 + "b"),
        "x=" + "a" * 3000 + "\n" + "echo ${x//*a*a*a*b/c}\n" * 5,
    ],
)
def test_deep_nesting_and_huge_expansions_are_bounded(text: str) -> None:
    assert read(text).text == text


def test_of_a_text_too_long_the_beginning_is_read() -> None:
    script = read("python3 a\n" + "#" * (1 << 20))
    assert not script.complete
    assert [command.name for command in script.commands] == ["python3"]


# Values and where they come from

PLACES = {
    # script: words after the first as (text, line, column), and where the value is defined
    "N=5\n\npython3 trainer.n=${N}\n": [("trainer.n=5", 3, 9)],
    'X=(\n  a=1\n  b="$N"\n)\npython3 "${X[@]}"\n': [("a=1", 2, 3), (None, 3, 3)],
    "ARGS='a=1 b=2'\npython3 $ARGS\n": [("a=1", 1, 7), ("b=2", 1, 11)],
    "python3 a=é b=2 \\\n  c=3\n": [("a=é", 1, 9), ("b=2", 1, 13), ("c=3", 2, 3)],
}


@pytest.mark.parametrize("text", PLACES)
def test_a_word_has_the_place_where_it_is_written(text: str) -> None:
    (command,) = _launched(read(text))
    places = [(word.text, word.place.line, word.place.column) for word in command.words[1:]]
    assert places == PLACES[text]


def test_a_part_has_the_place_of_its_use_and_of_its_first_definition() -> None:
    (command,) = _launched(read("A=7\nB=${B:-$A}\nC=$B\npython3 x=$C\n"))
    part = command.words[1].value.parts[1]
    assert (part.text, part.name) == ("7", "C")
    assert (part.place.line, part.place.column) == (4, 11)
    assert (part.origin.line, part.origin.column) == (1, 3)


def test_what_follows_an_unknown_variable_stays_known() -> None:
    (command,) = _launched(read('python3 f="$HOME/data/x.parquet"\n'))
    known = [part.text for part in command.words[1].value.parts]
    assert known == ["f=", None, "/data/x.parquet"]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("$(date)", "substitution"),
        ("`date`", "substitution"),
        ("<(sort x)", "substitution"),
        ('"$@"', "argument"),
        ("$1", "argument"),
        ('"$#"', "argument"),
        ("$?", "special"),
        ("$RANDOM", "environment"),
        ("$NEVER_SET", "environment"),
        ("${HOME:-/root}", "environment"),
        ("$((NEVER_SET * 2))", "environment"),
        ("~/data", "environment"),
        ("*.sh", "pathname"),
        ("$((1 / 0))", "form"),
    ],
)
def test_what_cannot_be_known_says_why(word: str, reason: str) -> None:
    (command,) = _launched(read(f"python3 {word}\n"))
    missing = command.words[1].value.unknown
    assert missing is not None
    assert missing.reason == reason


EXPANSIONS = {
    "python3 ${N:-4} ${M-5} ${1:-4}": ["4", "5", "4"],
    "N=; python3 ${N:-4} [${N-4}] ${N:+x}y": ["4", "[]", "y"],
    'HOME=/h\npython3 ${D:-~/x} "${D:-~/x}" a=${D:-~}': ["/h/x", "~/x", "a=/h"],
    "HOME=/h\nx=${D:-a:~/x}; : ${E:=~/y}\npython3 $x $E": ["a:/h/x", "/h/y"],
    "python3 a \\": ["a"],
    "python3 trainer.logger=['console','wandb']": ["trainer.logger=[console,wandb]"],
    "python3 \"${L:-['a']}\"": ["['a']"],
    "python3 +k{a:1,b:2}": ["+ka:1", "+kb:2"],
    "n=$((1024 * 2))\npython3 $((n + n * 3 / 2))": ["5120"],
    "python3 a \\\n  # b \\\n  c=1": ["a"],
    "python3 a \\ \n  c=1": ["a", " "],
    "export A=1\nA=2 python3 $A": ["1"],
    "declare -A m=([k]=v)\npython3 ${m[k]}": [None],
    "a=x\ndeclare -n R=a\nR=y\npython3 $a": [None],
    "declare -i n=2\nn=n+1\npython3 $n": [None],
    "f() { local a=2; python3 $a $1; }\na=1\nf x": ["2", "x"],
    "x=a.b.c\npython3 ${x##*.} ${x%%.*} ${x/b/B} ${x^^} ${#x} ${x:2:1}": [
        *("c", "a", "a.B.c", "A.B.C", "5", "b")
    ],
    "a=b; b=c; python3 ${!a}": ["c"],
    'set -- p q\npython3 "$@" $#': ["p", "q", "2"],
    'a=(x y)\na+=(z)\npython3 ${#a[@]} "${a[*]}"': ["3", "x y z"],
    "[[ ! a == b && x == y || 1 -eq 1 ]] && python3 a": ["a"],
}


@pytest.mark.parametrize("text", EXPANSIONS)
def test_expansions(text: str) -> None:
    assert _arguments(text) == EXPANSIONS[text]


# Branches

REACHED = {
    # script: the arguments of each launch that may run, and how surely it runs
    'N=1\nif [ -n "$X" ]; then N=2; python3 a; fi\npython3 $N\n': [
        (["a"], "maybe"),
        ([None], "always"),
    ],
    "N=1\nif [ $# -lt 2 ]; then N=2; exit 1; fi\npython3 $N\n": [(["1"], "always")],
    'if [ -z "${MODEL:-}" ]; then echo usage; exit 1; fi\npython3 a\n': [(["a"], "always")],
    'B=${B:-fsdp}\nif [ "$B" = fsdp ]; then python3 a; else python3 b; fi\n': [(["a"], "always")],
    'X=(a)\nif [ -n "$Q" ]; then X+=(b); fi\nX+=(c)\npython3 "${X[@]}" d\n': [
        (["a", None, "c", "d"], "always")
    ],
    'X=(a=1 b=1); D=$(ask)\nif [ "$D" = npu ]; then X=(a=1 b="$Q"); fi\npython3 "${X[@]}"\n': [
        (["a=1", None], "always")
    ],
    "A=1 N=0\nwhile true; do\n  if ask; then break; fi\n  N=$((N + 1))\ndone\npython3 $A $N\n": [
        (["1", None], "always")
    ],
    "f() { ask && return; python3 a; }\nf\npython3 b": [(["a"], "maybe"), (["b"], "always")],
}


@pytest.mark.parametrize("text", REACHED)
def test_branches(text: str) -> None:
    script = read(text)
    found = [([w.text for w in c.words[1:]], c.reach) for c in _launched(script)]
    assert found == REACHED[text]
    assert script.complete


def test_what_eval_reads_is_followed() -> None:
    text = 'N=1\nf() { python3 "$1" $N; }\neval \'N=2; f "a b"\'\neval M=$(ask)\n'
    script = read(text + 'CMD="python3 $A"\nA=5\neval "$CMD"\npython3 $N $M\n')
    found = [[word.text for word in command.words[1:]] for command in _launched(script)]
    assert found == [["a b", "2"], [None], ["2", None]]


def test_a_function_nobody_calls_is_never_reached() -> None:
    script = read("f() { rm -rf /data; }\n")
    assert [(command.name, command.reach) for command in script.commands] == [("rm", "never")]
    assert [function.name for function in script.functions] == ["f"]


# What rules ask for


def test_commands_say_how_they_are_joined() -> None:
    script = read("a && b || c\nd | tee log 2>&1 &\nx=$(f)\nif g; then :; fi\n")
    found = {command.name: command for command in script.commands if command.name}
    assert (found["a"].after, found["b"].after) == ("&&", "||")
    assert (found["d"].pipeline, found["tee"].pipeline) == ((0, 2), (1, 2))
    assert found["tee"].background
    assert found["f"].in_substitution
    assert found["g"].in_condition
    assert [item.operator + (item.target.text or "") for item in found["tee"].redirections] == [
        ">&1"
    ]


def test_assignments_say_how_they_are_made() -> None:
    script = read("export A=${A:-1}\nB+=2\nC=(x y)\nC[1]=z\nD=3 python3 a\nreadonly E=4\nread F\n")
    found = [(a.name, a.kind, a.operator, a.key, a.exported) for a in script.assignments]
    assert found == [
        ("A", "export", "=", None, True),
        ("B", "plain", "+=", None, False),
        ("C", "plain", "=", None, False),
        ("C", "plain", "=", "1", False),
        ("D", "prefix", "=", None, False),
        ("E", "readonly", "=", None, False),
        ("F", "read", "=", None, False),
    ]
    assert script.assignments[0].default
    assert [word.text for word in script.assignments[2].elements or ()] == ["x", "y"]


def test_references_say_whether_the_script_has_set_them_by_then() -> None:
    script = read(
        'echo $A \'$B\' "${C:-1}"\nA=1\nif [ $Q ]; then D=1; fi\necho $A $((A + E)) "$D"\n'
        "cat <<E\n$A\nE\ncat <<'E'\n$B\nE\n"
    )
    found = [
        (r.name, r.place.line, r.quoted, r.operator, r.bare, r.defined) for r in script.references
    ]
    assert found == [
        ("A", 1, False, "", False, "no"),
        ("C", 1, True, ":-", False, "no"),
        ("Q", 3, False, "", False, "no"),
        ("A", 4, False, "", False, "yes"),
        ("A", 4, True, "", True, "yes"),
        ("E", 4, True, "", True, "no"),
        ("D", 4, True, "", False, "maybe"),
        ("A", 6, True, "", False, "yes"),
    ]


def test_exports_reach_the_command_and_its_own_assignments_too() -> None:
    (command,) = _launched(read("A=1\nexport A B=2\nC=3 python3 x\n"))
    environment = {name: value.text for name, value in command.environment.items()}
    assert environment == {"A": "1", "B": "2", "C": "3"}


def test_options_are_listed_in_order() -> None:
    options = read("set -xeuo pipefail\nset +x\nshopt -s nullglob\n").options
    assert [("+-"[option.on] + option.name) for option in options] == [
        *("-xtrace", "-errexit", "-nounset", "-pipefail", "+xtrace", "-nullglob")
    ]


def test_a_value_can_be_read_as_a_script_with_the_outer_places() -> None:
    script = read('CMD="python3 a=$N \\\n  b=2"\neval "$CMD"\n')
    (word,) = script.commands[-1].words[1:]
    (command,) = reread(script, word.value).commands
    assert [(word.value.shown, word.place.line) for word in command.words] == [
        ("python3", 1),
        ("a=$N", 1),
        ("b=2", 2),
    ]


# Syntax


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("echo 'a\n", 1, 6),
        ('echo "a\nb\n', 1, 6),
        ("a\nx=(1 2\n", 2, 3),
        ("echo $(ls\n", 1, 6),
        ("if a; then\nb\n", 1, 1),
        ("a\nfi\n", 2, 1),
        ("a &&\n", 1, 3),
        ("for i in 1; do\n# b\ndone\n", 1, 13),
        ("a )\n", 1, 3),
    ],
)
def test_what_bash_refuses_has_its_place(text: str, line: int, column: int) -> None:
    assert not _accepted_by_bash(text)
    (problem,) = read(text).problems
    assert (problem.place.line, problem.place.column) == (line, column)


def test_the_commands_above_an_error_are_read() -> None:
    assert [command.name for command in read("a\nfi\n").commands] == ["a"]


@pytest.mark.nightly
@given(text=launch_scripts(dynamic=True), data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_script_without_one_of_its_lines_is_refused_where_bash_refuses_it(
    text: str, data: st.DataObject
) -> None:
    lines = text.split("\n")
    del lines[data.draw(st.integers(4, len(lines) - 1))]
    damaged = "\n".join(lines)
    # bash reads what a here-document holds only when it comes to it, and forgives a missing end
    if "<<" not in damaged:
        assert bool(read(damaged).problems) != _accepted_by_bash(damaged)


def _accepted_by_bash(text: str) -> bool:
    done = subprocess.run([program("bash"), "-n"], input=text.encode(), capture_output=True)
    return done.returncode == 0
