"""The escapes of `$'…'`."""

from __future__ import annotations

import re

BODY = re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_SINGLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r"}
_SINGLE |= {"t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}


def unescape(body: str) -> str:
    """What stands between `$'` and `'`; bash ends the text at a zero byte.

    A byte that is not UTF-8 comes out as Python's `surrogateescape` writes it.
    """
    if "\\" not in body:
        return body
    octets = b"".join(_octets(body))
    return octets.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _octets(body: str) -> list[bytes]:
    found = []
    at = 0
    for match in _ESCAPE.finditer(body):
        found += [_encoded(body[at : match.start()]), _octet(match)]
        at = match.end()
    return [*found, _encoded(body[at:])]


def _octet(match: re.Match[str]) -> bytes:
    hexadecimal, short, long, octal, control, single = match.groups()
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if short or long:
        code = int(short or long, 16)
        return _encoded(chr(code)) if code <= 0x10FFFF else b""
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if control is not None:
        return b"\x7f" if control == "?" else bytes([ord(control) & 0x1F])
    return _encoded(_SINGLE.get(single, "\\" + single))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass" if _wide(text) else "surrogateescape")


def _wide(text: str) -> bool:
    return any(
        "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff"
        for character in text
    )
