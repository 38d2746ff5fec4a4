"""What no text may hold, whatever its column: the mistakes of a cell that its schema cannot name.

A cell's mistake is told by `text_mistake`, one cell at a time. Most cells of most files have no
sign of any; `SIGNS` is the one expression that says so, in the words that `re` and the engine of
polars have in common, so that a million cells are asked at once.
"""

from __future__ import annotations

import re
import unicodedata

from rl_resources.package import Field
from rl_resources.schema.letters import look_alike, odd_spaces, unseen
from rl_resources.schema.tags import first_tag

_TEXTS = frozenset({"string", "list"})
_NAME = "[a-z0-9_.+:-]{1,60}"
_ACTIVE = (
    r"\]\]>|&(?:#[a-z0-9]|[a-z0-9]{2,31};)",  # HTML, XML
    r"\b(?:java|live|vb|j)script *:|\bdata:(?:[a-z0-9]+/|[^ ]*(?:,|;base64))",
    r"\b(?:java|live|vb|j)(?:%0[9ad])*script *%3a|java(?:%0[9ad])+script",
    r"(?:%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])){2}",  # letters that nothing asks to escape
    r"\\(?:x(?:0[0ad]|1b|3c|9[bd])|033|e\[|n\{|u\{)",  # signs as escapes, of which many hide
    r"\\u(?:00(?:0[0ad]|1b|3c|9[bd])|200[b-f]|202[89a-e]|206[0-9]|d[89a-f][0-9a-f]{2})",
    r"%(?:25)*(?:0[0ad]|1b|u[0-9a-f]{4}|c0%a[ef])",
    r"\b(?:file|gopher|ldaps?|phar|smb|chrome|intent):/|https?:[^ ]*\\",
    r"\b(?:blob|filesystem|view-source|jar|mhtml|wyciwyg|vscode|steam|search-ms):[a-z/]",
    r"\bms-[a-z-]+:(?:/|of[evn]\|)",
    r"\bon[a-z]{3,24} *= *[\"'`]?[a-z0-9_.$]+ *[(=`]|[\"'][ /]*on[a-z]{3,24} *=",  # handlers
    r"[\"'`][ /]+(?:action|background|formaction|href|src|srcdoc|srcset|style) *= *[\"'`]",
    r"\{ *(?:[{#:.]|%[^}])|[#@*]\{",  # templates
    r"\$\{(?:[^a-z0-9_}]|[a-z0-9_]+(?:[^a-z0-9_}:]|:[^-])|[0-9])",
    r"\]\(|!\[|\]_|\] *: *(?:<|/|[a-z]+:/)",  # links
    rf"`_|:{_NAME}:`|`:{_NAME}:",  # reStructuredText
    rf"(?:^| )\.\. +(?:[|_\[]|{_NAME} ?::)|(?:^| )\|[a-z][^| ]{{2,}}\|_{{0,2}}(?: |$)",
    r"-8<-",  # a file in place of a line
    r"##[a-z]*\[[a-z]|^ *:: *[a-z][a-z-]*.*::",  # workflow commands
    r"\.\.(?:[/\\;]|%(?:25)*(?:2f|5c))+\.\.|\.{4}//|%(?:25)*2e%(?:25)*2e",  # paths upwards
    r"(?:^| )!!?[a-z]+/|(?:^| )!!(?:binary|bool|float|int|map|merge|null|omap|pairs|seq|set|str)\b",
)
_MARKUP = "|".join(_ACTIVE)
_MARKUP_SIGNS: tuple[str, ...] = (
    "&",
    "{",
    "`",
    "|",
    "!",
    "=",
    "..",
    "::",
    "](",
    "]_",
    "]]>",
    "]:",
    "] ",
    "##",
    "\\",
)
_MARKUP_SIGNS += ("%0", "%1", "%2", "%3", "%4", "%5", "%6", "%7", "%c0", "%u")
_MARKUP_SIGNS += ("8<", "script", "data:", "file:", "blob:", "system:", "source:", "gopher:")
_MARKUP_SIGNS += ("ldap", "phar:", "jar:", "smb:", "chrome:", "intent:", "ms-")
_MARKUP_SIGNS += ("html:", "wyciwyg:", "code:", "steam:", "-ms:")
"""One of them is in all markup, in lower case."""

_AT_START = "=+-@"
_LATER = re.compile(r"; *[\"']*(?:[=@]|[+-] *[\w.$]+ *[+*/^(|!&])")
_NUMBER = re.compile(r"(?:\+/?-|[+-]) ?\d[\d.,]* ?%?(?:$|[,;:]? +[(a-zA-Z])")
"""What begins with a sign and is no formula: a number, alone or with words after it."""
_OPTION = re.compile(r"[+-]{1,2}\w")
_CALLS = re.compile(r"[(|!]")

_AT = re.compile(r" ?[\[({<] ?(?i:at) ?[\])}>] ?| AT ")
_DOT = re.compile(r" ?[\[({<] ?(?i:dot) ?[\])}>] ?| DOT ")
"""How people write the signs of an address of theirs that programs are not to find."""
_OF_SERVER = re.compile(r"(?<![\w.%+-])git\Z")
"""The account of a server of git, not of a person."""
_MAIL_NAME = re.compile(r"[\w%+\"-]\Z")
_MAIL_HOST = re.compile(r"[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}\.[^\W\d_]{2,}")

SIGNS = rf"[^ -~]|@|{_AT.pattern}|(?i:xn--)|^[ =+-]| $|; *[\"']*[=+-]|<[a-zA-Z/!?%]|(?i:{_MARKUP})"
"""Matches every text that has a mistake, and some that have none."""
PLAIN = "0-9A-Za-z_./#~?,-"
SCHEME = "https://"
RARE = r"(?i:xn--)|\.\."
"""`SIGNS` matches no text of `PLAIN` letters, and of `SCHEME`, that does not begin with a minus and
in which `RARE` is not."""

BEFORE = ("invisible", "email", "space", "look-alike", "markup")
"""Mistakes that are told before whatever the schema says of the cell, in this order."""
AFTER = ("formula",)
"""Mistakes of a cell that its schema has nothing against."""


def text_mistake(field: Field, cell: str, constraint: str | None) -> str | None:
    """What is wrong with the text of a cell, where that is not the schema's `constraint`.

    A cell with a line break is told as that.
    """
    if "\n" in cell:
        return None
    if unseen(cell):
        return "invisible"
    if _holds_mail(cell):
        return "email"
    if cell != cell.strip():
        return "space"
    if not cell.isascii() and odd_spaces(cell):
        return "invisible"
    if field.type not in _TEXTS or not cell:
        return None
    if look_alike(cell):
        return "look-alike"
    if markup(cell):
        return "markup"
    return "formula" if constraint is None and formula(cell) else None


def markup(cell: str) -> str:
    """What of a text is markup, a template or an address that runs code; empty where nothing is.

    Also in letters of another form, which programs on the way may make plain.
    """
    text = _plain(cell)
    if "<" in text and (tag := first_tag(text)):
        return tag
    low = text.lower()
    found = (
        re.search(_MARKUP, text, re.IGNORECASE)
        if any(sign in low for sign in _MARKUP_SIGNS)
        else None
    )
    return found[0] if found else ""


def formula(cell: str) -> str:
    """With what sign a spreadsheet formula begins in a text; empty where none does.

    Where columns are parted by semicolons, a cell begins after each.
    """
    text = _plain(cell)
    if text[:1] and text[0] in _AT_START and not _NUMBER.match(text):
        return text[0]
    later = _LATER.search(text) if ";" in text else None
    return later[0] if later else ""


def no_formula(cell: str) -> str:
    """A text without the sign of a formula at its start; empty where it is more than a slip.

    An option or an override keeps its sign and gets a word before it.
    """
    meant = f"with {cell}" if _OPTION.match(cell) else cell.lstrip(f"{_AT_START}> ")
    return "" if _CALLS.search(meant) or formula(meant) else meant


def _plain(cell: str) -> str:
    return cell if cell.isascii() else unicodedata.normalize("NFKC", cell)


def _holds_mail(cell: str) -> bool:
    """Whether an `@`, in whatever spelling, stands between a name and a host; each once."""
    before, *rest = _AT.sub("@", _plain(cell)).split("@")
    for after in rest:
        named = _MAIL_NAME.search(before[-1:]) and not _OF_SERVER.search(before)
        if named and _MAIL_HOST.match(_DOT.sub(".", after)):
            return True
        before = after
    return False
