"""Valid files, broken in the ways that files break and in those that readers fear."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[Random, bytes], bytes]

ODD_TEXTS = (
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\xf4\x90\x80\x80",
    "\u2028".encode(),
    "\u202e".encode(),
    "\u0660".encode(),
    "²".encode(),
    "\u0130".encode(),
    "\x85".encode(),
    b"\r",
    b"\r\n",
    b"\x0b",
    b"\x0c",
    b"\x1b[2J",
    b"\t",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"`",
    b",",
    b"-1",
    b"1e999",
    b"-1e-999",
    b"nan",
    b"inf",
    b"9" * 400,
    b"9" * 5000,
    b"0x10",
    b"1_0",
    b"+1",
    b"0000-00-00",
    b"9999-12-31",
    b"10000-01-01",
    b"2026-02-30",
    b"../../../etc/passwd",
    b"https://[::1",
    b"https://user:pw@host:99999/x",
    b"http://\xff",
    b"{{ x }}",
    b"%s%n",
    b"=1+1",
    b"A" * 70_000,
)


def _place(random: Random, data: bytes) -> int:
    return random.randint(0, len(data))


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = _place(random, data)
    return start, min(len(data), start + int(random.paretovariate(0.6)))


def flip(random: Random, data: bytes) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def random_bytes(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] + random.randbytes(random.randint(1, 40)) + data[at:]


def truncate(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] if random.random() < 0.7 else data[at:]


def drop(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def repeat(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    times = random.choice((1, 1, 2, 30))
    return data[:end] + data[start:end][:4000] * times + data[end:]


def splice(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    at = _place(random, data)
    return data[:at] + data[start:end] + data[at:]


def odd_text(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    kept = start if random.random() < 0.5 else end
    return data[:start] + random.choice(ODD_TEXTS) + data[kept:]


def lines(random: Random, data: bytes) -> bytes:
    """One line goes, comes twice, changes places, or becomes one with the next."""
    found = data.split(b"\n")
    at, other = random.randrange(len(found)), random.randrange(len(found))
    match random.randrange(4):
        case 0:
            del found[at]
        case 1:
            found.insert(other, found[at])
        case 2:
            found[at], found[other] = found[other], found[at]
        case _:
            found[at : at + 2] = [b" ".join(found[at : at + 2])]
    return b"\n".join(found)


def cell(random: Random, data: bytes) -> bytes:
    """What stands between two separators becomes something odd, or what stands elsewhere."""
    for separator in random.sample((b",", b" ", b"\n", b"=", b"."), 5):
        parts = data.split(separator)
        if len(parts) > 1:
            given = random.choice((random.choice(ODD_TEXTS), random.choice(parts), b""))
            parts[random.randrange(len(parts))] = given
            return separator.join(parts)
    return data


def long_line(random: Random, data: bytes) -> bytes:
    at = _place(random, data)
    return data[:at] + random.choice((b"x", b" ", b'"', b",", b"\\")) * 300_000 + data[at:]


def nested(random: Random, data: bytes) -> bytes:
    opened, closed = random.choice(
        (
            *((b"[", b"]"), (b'{"a":', b"}"), (b"$(", b")"), (b"${a:-", b"}"), (b"((", b"))")),
            *((b"`", b"`"), (b"{", b"}"), (b"(", b")"), (b"if true; then ", b"; fi")),
            (b"* - ", b""),
        )
    )
    at, depth = _place(random, data), random.choice((5, 60, 1500, 20_000))
    return data[:at] + opened * depth + closed * depth + data[at:]


def recoded(random: Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return random.choice(
        (
            lambda: text.encode("utf-16"),
            lambda: text.encode("utf-16-be"),
            lambda: text.encode("utf-32"),
            lambda: text.encode("latin-1", "replace"),
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: data.replace(b"\n", b"\r"),
            lambda: b"\x00".join(data[at : at + 1] for at in range(min(len(data), 20_000))),
        )
    )()


def nothing_left(random: Random, data: bytes) -> bytes:
    return random.choice((b"", b"\n", b" ", b"\x00", random.randbytes(random.randint(1, 4000))))


def packed(random: Random, data: bytes) -> bytes:
    """As gzip: whole, cut, damaged, or a bomb."""
    match random.randrange(4):
        case 0:
            return gzip.compress(data, mtime=0)
        case 1:
            return truncate(random, gzip.compress(data, mtime=0))
        case 2:
            return flip(random, gzip.compress(data, mtime=0))
    bomb = random.choice((b"\x00", b"x", b"\n", b"step:1 ", b"{", b"a,")) * 2_000_000
    return gzip.compress(bomb * random.choice((1, 1, 10)), 1, mtime=0)


ANY: Sequence[Mutation] = (
    *(flip, random_bytes, truncate, drop, repeat, splice, odd_text, odd_text, lines, lines),
    *(cell, cell, cell, long_line, nested, recoded, nothing_left),
)

_ODD_VALUES: Sequence[Callable[[], Any]] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 10**400,
    lambda: float("inf"),
    lambda: float("nan"),
    lambda: 1.5,
    lambda: "",
    lambda: "\x00",
    lambda: "\ud800",
    lambda: "\n",
    lambda: "x" * 5000,
    lambda: "(",
    lambda: "(a+)+$",
    lambda: "(?P<a>x)(?P=a)",
    lambda: "../x",
    lambda: "/dev/zero",
    lambda: "records",
    lambda: [],
    lambda: [None],
    lambda: [[]],
    lambda: {},
    lambda: {"a": {}},
    lambda: ["a", "a"],
)


def value(random: Random, data: bytes) -> bytes:
    """One value of a JSON document becomes another one, or a key another key."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = list(_places(document))
    if not places:
        return json.dumps(random.choice(_ODD_VALUES)()).encode()
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        holder, key = random.choice(places)
        match random.randrange(5):
            case 0 if isinstance(holder, dict):
                holder[random.choice(("name", "type", "path", "x"))] = holder.get(key)
            case 1 if isinstance(holder, dict):
                holder.pop(key, None)
            case 2:
                other, name = random.choice(places)
                found = other.get(name) if isinstance(other, dict) else other[name]
                holder[key] = json.loads(json.dumps(found))
            case _:
                holder[key] = random.choice(_ODD_VALUES)()
    return json.dumps(document, indent=2).encode()


def _places(document: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    left = [document] if isinstance(document, (dict, list)) else []
    while left:
        holder = left.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, inner in items:
            found.append((holder, key))
            if isinstance(inner, (dict, list)):
                left.append(inner)
    return found


def token(tokens: Sequence[bytes]) -> Mutation:
    """Words of a language where they may matter, in place of others or between them."""

    def put(random: Random, data: bytes) -> bytes:
        start, end = _span(random, data)
        kept = random.choice((start, end))
        glue = random.choice((b"", b" ", b"\n"))
        words = glue.join(random.choices(tokens, k=random.choice((1, 1, 2, 5))))
        return data[:start] + glue + words + glue + data[kept:]

    return put


def mutate(random: Random, data: bytes, mutations: Sequence[Mutation]) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        data = random.choice(mutations)(random, data)
    return data
