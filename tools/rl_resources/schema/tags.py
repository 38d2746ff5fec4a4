"""What of a text a browser takes for a tag. Most `<` of honest notes are none.

Less (`n<8`), a type (`List<int>`), a place to fill in (`<path-to-model>`) and the words by which
models mark their answers (`<think>`, `</s>`) do nothing in any browser, and all that we publish
escapes them. What a browser knows, and what has attributes, has no business in a record.
"""

from __future__ import annotations

import re

_OPENED = re.compile(
    r"(?P<sign><(?:[!?%]|/(?![a-z])|/?(?P<name>[a-z][^\s<>/=\"']*)))(?P<rest>[^<>]*>?)",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"[\s/\"'][^<>]*=")
_ARROWS = ("->", "=>")
_GLUED = re.compile(r"[\w)\]|]")
"""What stands before a `<` that means less."""

_ELEMENT_NAMES = """
    a abbr acronym address animate animatemotion animatetransform annotation-xml applet area article
    aside b base basefont bdi bdo bgsound big blink blockquote body br button canvas caption center
    cite col colgroup datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption
    figure font footer foreignobject form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
    html i iframe img input ins isindex kbd keygen layer legend li link listing maction main map
    mark marquee math menu menuitem meta meter mglyph mtext nav nobr noembed noframes noscript
    object ol optgroup option p param picture plaintext portal pre progress q rb rp rt rtc ruby samp
    script section select slot small span strike strong style sub summary sup svg table tbody td
    template textarea tfoot th thead title tr track tt u ul var wbr xmp
"""
"""The elements of HTML with a shape or an effect, and those by which SVG and MathML reach it.

Left out are words of the field that alone do nothing: `<search>` and `<code>` mark what an agent
does, `<image>` and `<audio>` stand in prompts, `<s>` is a token; also `data`, `label`, `time`, ….
Source: https://html.spec.whatwg.org/multipage/indices.html and its list of obsolete elements.
"""
_ELEMENTS = frozenset(_ELEMENT_NAMES.split())


def first_tag(text: str) -> str:
    """How the first tag in a text begins, such as `<img`; empty where there is none."""
    for match in _OPENED.finditer(text):
        at = match.start()
        glued = at > 0 and _GLUED.match(text, at - 1) is not None
        if match["name"] is None or _is_tag(match["name"].lower(), match["rest"], glued):
            return match["sign"]
    return ""


def _is_tag(name: str, rest: str, glued: bool) -> bool:
    closed = rest.endswith(">") and not rest.endswith(_ARROWS)
    if name in _ELEMENTS and (len(name) > 1 or not glued or rest[:1] in {">", "/"}):
        return True
    if ":" in name and closed:  # an address that Markdown links
        return True
    return _ATTRIBUTE.match(rest) is not None and (closed or not glued)
