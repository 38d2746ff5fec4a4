"""Whole CSV files broken as editors, spreadsheets, exports and merges break them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from random import Random

from rl_resources.tabular import write

Break = Callable[[bytes, Random], bytes]


def _at(data: bytes, chance: Random, put: bytes, *, after_header: bool = True) -> bytes:
    at = chance.randrange(data.index(b"\n") if after_header else 0, len(data))
    return data[:at] + put + data[at:]


def _line(change: Callable[[bytes, Random], bytes], *, first: int = 1) -> Break:
    """A break of one line, from index `first` on."""

    def broken(data: bytes, chance: Random) -> bytes:
        lines = data.split(b"\n")
        at = chance.randrange(first, len(lines) - 1)
        lines[at] = change(lines[at], chance)
        return b"\n".join(lines)

    return broken


def _cells(change: Callable[[list[bytes], Random], object], *, first: int = 1) -> Break:
    """A break of the pieces between the commas of one line."""

    def broken(line: bytes, chance: Random) -> bytes:
        cells = line.split(b",")
        change(cells, chance)
        return b",".join(cells)

    return _line(broken, first=first)


def _new_line(line: Callable[[list[bytes], Random], bytes]) -> Break:
    """A line put in anywhere after the header."""

    def broken(data: bytes, chance: Random) -> bytes:
        lines = data.split(b"\n")
        lines.insert(chance.randrange(1, len(lines)), line(lines, chance))
        return b"\n".join(lines)

    return broken


def _copy(change: Callable[[bytes], bytes]) -> Break:
    """A line put in once more, changed."""
    return _new_line(lambda lines, chance: change(chance.choice(lines[1:-1])))


def _one_cell(change: Callable[[bytes], bytes]) -> Break:
    """The piece between two commas changed, of a row."""

    def changed(cells: list[bytes], chance: Random) -> None:
        at = chance.randrange(len(cells))
        cells[at] = change(cells[at])

    return _cells(changed)


def _header(change: Callable[[list[str], Random], object]) -> Break:
    def broken(data: bytes, chance: Random) -> bytes:
        header, _, rest = data.partition(b"\n")
        names = header.decode().split(",")
        change(names, chance)
        return ",".join(names).encode() + b"\n" + rest

    return broken


def _columns(change: Callable[[list[str], int, int], object]) -> Break:
    """The same change of the header and of each row, at two places."""

    def broken(data: bytes, chance: Random) -> bytes:
        rows = list(csv.reader(io.StringIO(data.decode())))
        one, other = chance.sample(range(len(rows[0])), 2)
        for row in rows:
            change(row, one, other)
        return write(rows).encode()

    return broken


def _everywhere(sign: bytes, *others: bytes) -> Break:
    return lambda data, chance: data.replace(sign, chance.choice(others))


def _swap(items: list[str], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def _quoted(data: bytes, _: Random) -> bytes:
    out = io.StringIO()
    rows = csv.reader(io.StringIO(data.decode()))
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _quote_before(data: bytes, chance: Random) -> bytes:
    at = chance.choice([match.end() for match in re.finditer(rb"[,\n]", data[:-1])])
    return data[:at] + b'"' + data[at:]


def _quote_after(data: bytes, chance: Random) -> bytes:
    at = chance.choice([match.start() for match in re.finditer(rb"[,\n]", data)])
    return data[:at] + b'"' + data[at:]


def _two_lines_swapped(data: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    one, other = chance.choices(range(len(lines) - 1), k=2)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _without_bytes(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + data[at + chance.randrange(1, 4) :]


def _other_byte(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([chance.randrange(1, 127)]) + data[at + 1 :]


def _renamed(names: list[str], chance: Random) -> None:
    at = chance.randrange(len(names))
    name = names[at]
    forms = [f"{name}s", name.upper(), name.title(), f" {name}", f"{name} ", "x", "", f'"{name}"']
    names[at] = chance.choice([*forms, name.replace("_", " "), chance.choice(names)])


def _shortened(cells: list[bytes], chance: Random) -> None:
    del cells[-chance.randint(1, min(3, len(cells) - 1)) :]


BREAKS: Mapping[str, Break] = {
    "byte order mark": lambda data, _: b"\xef\xbb\xbf" + data,
    "CR LF": _everywhere(b"\n", b"\r\n"),
    "CR LF once": _line(lambda line, _: line + b"\r", first=0),
    "CR": _everywhere(b"\n", b"\r"),
    "CR put in": lambda data, chance: _at(data, chance, b"\r"),
    "quote put in": lambda data, chance: _at(data, chance, b'"'),
    "quotes put in": lambda data, chance: _at(_at(data, chance, b'"'), chance, b'"'),
    "quote before a cell": _quote_before,
    "quote after a cell": _quote_after,
    "cell in quotes": _cells(
        lambda cells, chance: cells.append(b'"' + cells.pop() + b'"'), first=0
    ),
    "all in quotes": _quoted,
    "backslash before quotes": _everywhere(b'"', b'\\"'),
    "comma at an end": _line(lambda line, chance: line + b"," * chance.randint(1, 2), first=0),
    "commas at all ends": _everywhere(b"\n", b",\n"),
    "row shortened": _cells(_shortened),
    "cell gone": _cells(lambda cells, chance: cells.pop(chance.randrange(len(cells)))),
    "cell more": _cells(
        lambda cells, chance: cells.insert(
            chance.randrange(len(cells) + 1), chance.choice([b"", b"x", b"1"])
        )
    ),
    "one cell alone": _line(lambda line, _: line.split(b",")[0]),
    "line blank": _new_line(lambda _, chance: chance.choice([b"", b"", b" ", b'""', b"\t"])),
    "line blank before the header": lambda data, chance: (
        chance.choice([b"\n", b"\n\n", b" \n", b'""\n', b"\r\n"]) + data
    ),
    "lines blank at the end": lambda data, chance: data + b"\n" * chance.randint(1, 3),
    "line of commas": _new_line(lambda lines, _: b"," * lines[0].count(b",")),
    "line twice": _new_line(lambda lines, chance: chance.choice(lines[1:-1])),
    "key twice, with a space": _copy(lambda line: line.replace(b",", b" ,", 1)),
    "key twice, in capitals": _copy(bytes.upper),
    "key twice, blank": _copy(lambda line: b"," + line.partition(b",")[2]),
    "cell in other case": _one_cell(bytes.swapcase),
    "cell doubled": _one_cell(lambda cell: cell + cell),
    "cell as two items": _one_cell(lambda cell: cell + b"; " + cell),
    "cell with a sign": _one_cell(lambda cell: b"+" + cell),
    "cell with a point": _one_cell(lambda cell: cell + b".0"),
    "cell with a zero": _one_cell(lambda cell: b"0" + cell),
    "cell with other dashes": _one_cell(lambda cell: cell.replace(b"-", b"/")),
    "cell in other digits": _one_cell(lambda cell: cell.replace(b"1", "\u0661".encode())),
    "cell in another form": _one_cell(lambda cell: cell + "e\u0301".encode()),
    "header twice": _new_line(lambda lines, _: lines[0]),
    "header gone": lambda data, _: data.partition(b"\n")[2],
    "header renamed": _header(_renamed),
    "header reordered": _header(
        lambda names, chance: _swap(names, *chance.sample(range(len(names)), 2))
    ),
    "header short": _header(lambda names, chance: names.pop(chance.randrange(len(names)))),
    "header long": _header(
        lambda names, chance: names.insert(
            chance.randrange(len(names) + 1), chance.choice(["x", "", names[0]])
        )
    ),
    "columns swapped": _columns(_swap),
    "column gone": _columns(lambda row, at, _: row.pop(at)),
    "column twice": _columns(lambda row, at, _: row.insert(at, row[at])),
    "column more": _columns(lambda row, at, _: row.insert(at, "y")),
    "lines swapped": _two_lines_swapped,
    "NUL": lambda data, chance: _at(data, chance, b"\0", after_header=False),
    "no UTF-8": lambda data, chance: _at(
        data, chance, chance.choice([b"\xe9", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f"])
    ),
    "UTF-16": lambda data, chance: data.decode().encode(chance.choice(["utf-16", "utf-16-le"])),
    "other separator": _everywhere(b",", b";", b"\t", b"|", b":"),
    "other separator once": _line(
        lambda line, chance: line.replace(b",", chance.choice([b";", b"\t", b"|"])), first=0
    ),
    "no last line end": lambda data, _: data[:-1],
    "giant cell": _cells(
        lambda cells, chance: cells.append(cells.pop() + b"x" * chance.choice([5_000, 140_000]))
    ),
    "spaces at commas": _everywhere(b",", b", ", b" ,", b" , "),
    "spaces at commas once": _line(
        lambda line, chance: chance.choice([b" " + line, line + b" ", line.replace(b",", b", ")]),
        first=0,
    ),
    "empty": lambda _, chance: chance.choice([b"", b"\n", b" ", b"\n\n", b"\xef\xbb\xbf"]),
    "header alone": lambda data, chance: data.partition(b"\n")[0] + chance.choice([b"\n", b""]),
    "cut": lambda data, chance: data[: chance.randrange(len(data))],
    "other byte": _other_byte,
    "bytes gone": _without_bytes,
    "comment": lambda data, _: b"# a comment\n" + data,
    "line broken": lambda data, chance: _at(data, chance, b"\n"),
    "cell in single quotes": _cells(lambda cells, _: cells.append(b"'" + cells.pop() + b"'")),
}
