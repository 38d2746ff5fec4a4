"""The Content-Security-Policy of the pages: what a browser may load and run for them."""

from __future__ import annotations

import base64
import hashlib
import re

_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)

# `data:` for the theme's icons, which stand in its style sheet.
_OTHERS = {
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


def content_security_policy(frame: str, *, any_inline: bool = False) -> str:
    """The policy under which a page runs the inline scripts of `frame` and no other.

    `frame` is HTML of the theme alone: a script that found its way into contributed text must not
    be among its scripts. With `any_inline` all inline scripts run, as a preview needs that reloads
    itself by one that its server makes up for each request.
    """
    inline = ["'unsafe-inline'"] if any_inline else map(_hash, _INLINE_SCRIPT.findall(frame))
    directives = {"default-src": "'none'", "script-src": " ".join(["'self'", *inline]), **_OTHERS}
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
