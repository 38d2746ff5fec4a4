"""Signs that cannot be seen, and letters that are not those that they look like.

By the categories of Unicode, not by a list of examples: https://www.unicode.org/reports/tr39/ tells
what can be done with the rest.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from itertools import pairwise

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0\ufffc")
_FILLERS |= frozenset("\U0001d159\U00013441\U00013442")
_SELECTORS = (
    *(range(0x180B, 0x1810), range(0xFE00, 0xFE10)),
    *(range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000)),
)
_CHOOSE_LOOK = frozenset("\ufe0e\ufe0f")
_JOINER = "\u200d"
_JOINERS = frozenset({_JOINER, "\u200c"})
_SIGN_AS_EMOJI = re.compile("[0-9#*]\ufe0f\u20e3|\u2139\ufe0f")
_VIRAMA = 9
"""The class of the sign that takes the vowel away from the letter before it."""
_WORD = re.compile(r"[\w.-]+")
_MARKS_IN_A_ROW = 2
_VOWELS_IN_A_ROW = 3
"""Marks that combine with nothing, as the vowels of Thai and Hindi do."""
_HOST_PREFIX = "xn--"
_HOST_NAME = re.compile(rf"\b{_HOST_PREFIX}[a-z0-9-]+", re.IGNORECASE)
_HOST_SIGN = re.compile(
    r"https?://[\w.@-]*[\u2024\u2044\u2215\u2236\u29f8\u3002\uff0e\uff0f\uff1a\uff61][a-zA-Z0-9]"
)
"""A host's name that goes on behind what looks like the sign that ends it."""

_OTHER_FORM = ("<font>", "<wide>", "<narrow>", "<circle>", "<square>", "<compat>")
_BESIDE_LATIN = frozenset(
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"}
    | {"IDEOGRAPHIC", "MICRO"}
)
"""First words of the names of letters that stand in one word with Latin ones in honest text."""
_WRITTEN_IN = """
    ARABIC ARMENIAN BENGALI CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HEBREW
    KANNADA KHMER LAO MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAI TIBETAN
"""
_ALONE = frozenset(_WRITTEN_IN.split())
"""Those of alphabets in which a whole word may be honest."""
_PHONETIC = (range(0x01C0, 0x01C4), range(0x0250, 0x02B0), range(0x1D00, 0x1DC0))
_LIKE_LATIN = frozenset(
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf"
    "\u03f2\u03f3\u03f9\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421"
    "\u0422\u0423\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0475\u04ae"
    "\u04af\u04bb\u04c0\u04cf\u0501\u050c\u051b\u051c\u051d"
    "\u053c\u053f\u054d\u054f\u0555\u0563\u0566\u0570\u0575\u0578\u057d\u0581\u0585\u0d20\u0b20"
)
"""Letters of other alphabets with the shape of a Latin one."""


def unseen(text: str) -> list[str]:
    """The signs of a text that show nothing, or change how others are shown; spaces are none."""
    return [text[at] for at in unseen_places(text)]


def unseen_places(text: str) -> list[int]:
    """Where the signs stand that `unseen` tells, from 0.

    What makes an emoji, or parts letters as Persian and Indian words have it, is none of them.
    """
    if text.isascii() and text.isprintable():
        return []
    return [at for at, sign in enumerate(text) if _is_unseen(sign) and not _has_use(text, at)]


def without_unseen(text: str) -> str:
    """The text as it looks: what cannot be seen taken away, every blank a space."""
    hidden = frozenset(unseen_places(text))
    return "".join(
        " " if sign.isspace() else sign
        for at, sign in enumerate(text)
        if sign.isspace() or at not in hidden
    )


def _has_use(text: str, at: int) -> bool:
    """Whether a sign chooses how the one before it looks, or joins or parts those beside it."""
    sign, before, after = text[at], text[max(at - 1, 0)], text[at + 1 : at + 2]
    if sign in _CHOOSE_LOOK:
        return _is_symbol(before) or _SIGN_AS_EMOJI.match(text, at - 1) is not None
    if sign in _JOINERS and _are_joined(before, after):
        return True
    joins = sign == _JOINER and after != "" and _is_symbol(after)
    return joins and (_is_symbol(before) or before in _CHOOSE_LOOK or _is_skin(before))


def _are_joined(before: str, after: str) -> bool:
    """Whether letters are of a script in which a joiner changes their shape."""
    arabic = after != "" and _alphabet(before) == _alphabet(after) == "ARABIC"
    return arabic or unicodedata.combining(before) == _VIRAMA


def _is_symbol(sign: str) -> bool:
    symbol = unicodedata.category(sign) in {"So", "Sm"} and not sign.isascii()
    return symbol and sign not in _FILLERS


def _is_skin(sign: str) -> bool:
    return "\U0001f3fb" <= sign <= "\U0001f3ff"


def _is_unseen(sign: str) -> bool:
    code = ord(sign)
    return sign != "\n" and (
        unicodedata.category(sign) in _UNSEEN
        or sign in _FILLERS
        or any(code in block for block in _SELECTORS)
        or code & 0xFFFE == 0xFFFE
        or 0xFDD0 <= code < 0xFDF0
    )


def odd_spaces(text: str) -> list[str]:
    """Spaces that are not the one of the keyboard."""
    return [sign for sign in text if sign != " " and unicodedata.category(sign) == "Zs"]


def look_alike(text: str) -> str | None:
    """The first word whose letters are not those that it shows; `None` where there is none.

    That is a word not in Unicode's normal form C, one with letters or digits of another form than
    the plain one, with marks put on top of each other, or with letters of several alphabets of
    which one has the shapes of another.
    """
    for name in _HOST_NAME.findall(text):
        if look_alike(host_name(name)):
            return str(name)
    if text.isascii():
        return None
    if "://" in text and (host := _HOST_SIGN.search(text)):
        return host[0]
    text = _SIGN_AS_EMOJI.sub("", text)
    written = {_alphabet(sign) for sign in text if not sign.isascii() and sign.isalpha()}
    for word in text.split():
        unusual = _has_odd_digit(word, written & _ALONE) or _poses_as_plain(word)
        if unusual or not unicodedata.is_normalized("NFC", word) or _has_loose_marks(word):
            return word
    return _first_deceiving(text)


def host_name(text: str) -> str:
    """The letters of other alphabets that a part of a host's name stands for; empty if none."""
    try:
        return text[len(_HOST_PREFIX) :].encode().decode("punycode")
    except UnicodeError:
        return ""


def plain(text: str) -> str:
    """The text with letters and digits of other forms as plain ones."""
    signs = (unicodedata.normalize("NFKC", sign) if _is_other_form(sign) else sign for sign in text)
    return unicodedata.normalize("NFC", "".join(signs))


def _has_loose_marks(word: str) -> bool:
    """Whether marks stand on what takes none, or more of them than any language has."""
    row, base = 0, " "
    for sign in word:
        if unicodedata.category(sign) not in {"Mn", "Me"}:
            row, base = 0, sign
            continue
        row += 1
        most = _MARKS_IN_A_ROW if unicodedata.combining(sign) else _VOWELS_IN_A_ROW
        if row > most or base.isascii():
            return True
    return False


def _first_deceiving(text: str) -> str | None:
    """The first word in letters that are not those that they show.

    A hyphen joins honest parts of several alphabets: the ending of another language, say.
    """
    words = [(part, word) for word in _WORD.findall(text) for part in word.split("-")]
    foreign = [(part, word) for part, word in words if not part.isascii()]
    meant = {(_alphabet(sign), part.isupper()) for part, _ in foreign for sign in _shown(part)}
    return next((str(word) for part, word in foreign if _deceives(part, word, meant)), None)


def _shown(part: str) -> list[str]:
    """One letter of a word of one alphabet that shows which; none of any other word."""
    letters = _letters(part)
    telling = [sign for sign in letters if sign not in _LIKE_LATIN]
    return telling[:1] if len({_alphabet(sign) for sign in letters}) == 1 else []


def _deceives(part: str, word: str, meant: Set[tuple[str, bool]]) -> bool:
    """Whether it is of an alphabet that nobody writes in, or of several that look alike.

    Or of one of which every letter has the shape of a Latin one, where no other word shows that the
    alphabet is `meant`. Names of devices have digits, those of algorithms are in capitals.
    """
    letters = _letters(part)
    foreign = [sign for sign in letters if _alphabet(sign) not in _BESIDE_LATIN]
    if any(_alphabet(sign) not in _ALONE for sign in foreign):
        return True
    if foreign and len(foreign) == len(letters):
        posing = len(word) > 1 and all(sign in _LIKE_LATIN for sign in letters)
        of, bare = _alphabet(letters[0]), word.replace("-", "")
        known = (of, True) in meant or ((of, False) in meant and not word.isupper())
        return posing and not (known and bare.isalpha())
    return any(_alphabet(sign) != "GREEK" or sign in _LIKE_LATIN for sign in foreign)


def _letters(word: str) -> list[str]:
    return [sign for sign in word if sign.isalpha() and not _is_raised(sign)]


def _alphabet(letter: str) -> str:
    if any(ord(letter) in block for block in _PHONETIC):
        return "PHONETIC"
    return unicodedata.name(letter, "").removeprefix("HALFWIDTH ").partition(" ")[0]


def _is_raised(sign: str) -> bool:
    return unicodedata.decomposition(sign).startswith(("<super>", "<sub>"))


def _poses_as_plain(word: str) -> bool:
    """Whether letters of another form stand beside others or plain ones; a `①` alone is honest."""
    return any(
        (_is_other_form(one) and (_is_other_form(other) or _is_plain(other)))
        or (_is_plain(one) and _is_other_form(other))
        for one, other in pairwise(word)
    )


def _is_plain(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _is_other_form(sign: str) -> bool:
    """Whether it is a plain letter or digit in another form, such as bold, wide or in a circle."""
    form = unicodedata.decomposition(sign).partition(" ")[0]
    meant = unicodedata.normalize("NFKC", sign) if form in _OTHER_FORM else ""
    return meant.isascii() and meant.isalnum()


def _has_odd_digit(word: str, written: Set[str]) -> bool:
    """Whether digits of another form stand beside plain signs, or without letters of theirs."""
    digits = [sign for sign in word if not sign.isascii() and unicodedata.category(sign) == "Nd"]
    beside_plain = bool(digits) and any(map(_is_plain, word))
    return beside_plain or any(
        written.isdisjoint(re.split("[ -]", unicodedata.name(sign, ""))) for sign in digits
    )
