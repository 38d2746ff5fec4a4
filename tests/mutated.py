"""Records of which a cell or two are changed, for tests in which several engines judge them."""

from __future__ import annotations

from random import Random

SIGNS = "aZ09.,-_/ :é\"'+=<@"
# fmt: off
VALUES = [
    "", "0", "1", "-1", "1.5", "1e3", "007", "+8", "100001", "9" * 30, "eight", "true",
    "null", "2024-02-30", "2022-12-31", "2024-12-31", "01.02.2024", "MIN", "min", "reported",
    "disputed", "h100", "H100", "h1000", "vllm", "GRPO", "https://example.org",
    "http://example.org", "x y", "v0.8.3", "0.8.3", "0.8.3.post1", "a.sh", "a/b.sh",
    "n" * 501, "h" * 40, "-dash", "A B", "\uff11\uff12", "\u0663", "1_000", "-0", "-0.0",
    "1e400", "1e-400", "1E5", "1e+5", "1e", ".5", "5.", "1,000", "0x10", "0b1", "--1", "+-1",
    "1 000", "\u22121", "\u00bd", "9" * 400, "10000000000000000000", "True", "TRUE", "yes",
    "false", "False", "t", "nan", "NaN", "inf", "-inf", "Infinity", "None", "2025-1-1",
    "2025-02-29", "2024-02-29", "20250101", "2025-W01-1", "0000-01-01", "+999-01-01", "9999-12-31",
    "10000-01-01", "2025-13-01", "2025-01-32", "-2025-01-01", "2025-01-01T00:00",
    "2025/01/01", "h100 ", " h100", "h1\u0300", "MIN\u00a0", "\uff2d\uff29\uff2e",
    "GRPO\u200b", "verl\u0301", "a b", "a  b", " a", "a ", "a;b", "a;;b", ";", "a,b", "a|b",
    "\"", "'", "\\", "\u2028x", "\u0085x", "https://", "https://a", "https://a.b",
    "HTTPS://A.B", "https://a.b/\u00e9", "//a.b", "a" * 41,
    "1.0", "\u0661\u0662", "2024-2-3", "a; b", "a; ", "; a", "n" * 500, "a" * 40, "a" * 200,
    "a" * 201, "9" * 18, "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "1e308", "1e309", "1000000", "1000001", "100000", "NA", "n/a", "-", "caf\u00e9", "cafe\u0301",
    "https://2130706433/", "https://0x7f.1/", "https://a.b:99999/", "2024-01-01 ", "0001-01-01",
]
# fmt: on


def mutated(cells: tuple[str, ...], chance: Random) -> list[str]:
    """A cell or two replaced, copied from another column, or with something put into it."""
    changed = list(cells)
    for at in chance.sample(range(len(cells)), chance.randint(1, 2)):
        text = "".join(chance.choices(SIGNS, k=chance.randint(0, 4)))
        place = chance.randint(0, len(cells[at]))
        put_in = cells[at][:place] + text + cells[at][place + chance.randint(0, 2) :]
        changed[at] = chance.choice([chance.choice(VALUES), chance.choice(cells), put_in, text])
    return changed
