"""What passwords, tokens and keys look like.

Their forms alone, as their issuers document them: nothing asks how random a word is.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST_LINE = 4096
"""What stands beyond it on a line is not searched: some patterns take its square in time."""

_PREFIXES = (
    *("npm_", "pypi-", "gsk_", "r8_", "dop_v1_", "nvapi-", "pplx-", "tvly-", "hvs.", "xai-"),
    *("shpat_", "shpss_", "lin_api_", "ntn_", "GOCSPX-", "ya29.", "AGE-SECRET-KEY-1", "pcsk_"),
    *("dckr_pat_", "fo1_", "sntrys_", "ATBB", "ATATT3", "lsv2_", "wandb_v1_", "api_org_", "figd_"),
    *("rk_live_", "rk_test_", "sk_live_", "sk_test_", "glrt-", "tskey-", "github_pat_"),
)
"""How tokens begin that have a form of their own: what follows is long and has a digit."""

_MIXED = r"(?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])"
_WORD = r"[^\s\"'`$(){}<>|;&\\]"
_FORMS = (
    (r"\bhf_[A-Za-z0-9]{30,}", "Hugging Face token"),
    (r"\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{20,}", "API key"),
    (r"\bgh[pousr]_[A-Za-z0-9]{30,}", "GitHub token"),
    (r"\bglpat-[\w-]{20,}", "GitLab token"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "AWS key"),
    (r"\bAIza[\w-]{35}", "Google key"),
    (r"\bxox[abprs]-[\w-]{10,}", "Slack token"),
    (rf"\b(?:{'|'.join(map(re.escape, _PREFIXES))})(?=[\w.-]*\d)[\w.-]{{20,}}", "token"),
    (r"\bSG\.[\w-]{16,}\.[\w-]{16,}", "token"),
    (r"\bdapi[0-9a-f]{32}\b|\bms-[0-9a-f]{8}-[0-9a-f-]{27}\b", "token"),
    (r"\b(?:LTAI|AKID|AKLT)[0-9A-Za-z]{16,}", "key of a cloud"),
    (r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", "signed token"),
    (r"(?<!\d)\d{8,10}:AA[\w-]{32,34}\b", "Telegram token"),
    (
        r"https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook"
        r"|oapi\.dingtalk\.com/robot/send\?access_token=|qyapi\.weixin\.qq\.com/cgi-bin/webhook"
        r"/send\?key=)(?P<s>[\w/=-]{16,})",
        "address that lets anybody post",
    ),
    (r"\bAccountKey=(?P<s>[A-Za-z0-9+/=]{40,})", "key of a cloud"),
    (r"[?&](?:sig|X-Amz-Signature|Signature)=(?P<s>[\w%+/=-]{32,})", "signed address"),
    (r"(?i)\bauthorization: *(?:bearer|basic|token) +(?P<s>[A-Za-z0-9+/_.=-]{16,})", "key"),
    (r"(?i)\b(?:x-)?(?:api|auth)-(?:key|token): *(?P<s>[A-Za-z0-9+/_.=-]{16,})", "key"),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----", "private key"),
    (
        r"(?i)wandb[\w ./=:\"'-]{0,40}?(?<![0-9a-f])(?P<s>[0-9a-f]{40})(?![0-9a-f])",
        "Weights & Biases key",
    ),
    (
        rf"(?i)\blogin\b.* (?:(?:-k|--(?:api-)?key|--token)[ =](?P<s>{_MIXED}[\w-]{{16,}})"
        rf"|(?:-p|--password)[ =][\"']?(?P<t>{_WORD}{{6,}}))"
        r"|\bwandb login\b.* (?P<u>[0-9a-f]{40})\b",
        "key",
    ),
    (r"\b[a-z][a-z+]+://[^\s/:@'\"$]*:(?P<s>[^\s/@'\"$]{4,})@", "password in a URL"),
    (rf"\bcurl\b.* (?:-u|--user)[ =]?['\"]?[\w.@-]+:(?P<s>{_WORD}{{6,}})", "password"),
    (
        r"(?i)\b\w*(?:API_?KEY|ACCESS_?KEY(?:_?ID)?|TOKEN|SECRET)[\"'\]]*[=: ] *[\"']?"
        rf"(?P<s>{_MIXED}[A-Za-z0-9+/_.=~-]{{16,}})",
        "key",
    ),
    (rf"\b[A-Z0-9]+_(?:AK|SK)=[\"']?(?P<s>{_MIXED}[\w+/=-]{{20,}})", "key of a cloud"),
    (
        r"\b\w*(?:KEY|key)=[\"']?(?P<s>[0-9a-f]{32,}\b"
        r"|(?=\w*[A-Z])(?=\w*[a-z])(?=\w*[0-9])[A-Za-z0-9+/=]{24,})",
        "key",
    ),
    (
        r"(?i)(?:\w*(?:password|passwd|passphrase)|\w_(?:pass|pw))\b[\"']?[=: ] *[\"']?"
        rf"(?P<s>{_MIXED}{_WORD}{{8,}})",
        "password",
    ),
    (
        rf"\bmysql\w*\b.* -p(?P<s>{_WORD}{{6,}})|\bredis-cli\b.* -a (?P<t>{_WORD}{{6,}})"
        rf"|\bopenssl\b.* (?:-k |-pass(?:in|out)? pass:)(?P<u>{_WORD}{{6,}})",
        "password",
    ),
    (
        r"(?i)(?:^| )--(?:(?:api|auth|access)[-_](?:key|token)[= ][\"']?"
        rf"(?P<s>{_MIXED}[\w.-]{{16,}})"
        rf"|[\w-]*(?:key|token)[= ][\"']?(?P<t>{_MIXED}(?:sk-[\w-]{{8,}}|[A-Za-z0-9]{{20,}})))",
        "key",
    ),
    (
        rf"\bmc (?:alias set|config host add) +\S+ +\S+ +\S+ +[\"']?(?P<s>{_WORD}{{8,}})"
        rf"|\bsmbclient\b.* (?:-U|--user)[ =]?[\"']?\w+%(?P<t>{_WORD}{{6,}})",
        "password",
    ),
    (rf"\becho [\"']?(?P<s>{_MIXED}{_WORD}{{8,}})[\"']? *\| *\S+ login\b", "password"),
)
_SECRETS = tuple((re.compile(pattern), kind) for pattern, kind in _FORMS)
_HINTS = (
    *("hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat", "akia", "asia", "aiza"),
    *("xox", "begin", "wandb", "://", "key", "token", "secret", "passw", "passphrase", "sg."),
    *("dapi", "ms-", "ltai", "akid", "aklt", "eyj", ":aa", "authorization", "login", "curl"),
    *(
        "mysql",
        "redis",
        "mc ",
        "_ak=",
        "_sk=",
        "smbclient",
        "openssl",
        "_pass",
        "_pw",
        "sig",
        *(prefix.lower() for prefix in _PREFIXES),
    ),
)
"""One of these, in lower case, is in every line with a secret: others are passed over at once."""
_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|your|(?<![a-z0-9])example|placeholder|change.?me|<|>|\.\.\.|\*{3,}|dummy|fake"
)
_COUNTING = re.compile(r"(?i)0?1234567(?:89)?0?|abcdef(?:ghijklmnopqrstuvwxyz)?")
"""What people type who make a token up; one that has little else is made up."""
_LEAST_BESIDE = 12
_ENCODED = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/=-])")


class Secret(NamedTuple):
    """The kind of a secret, itself, and where it begins in its line, from 0."""

    at: int
    kind: str
    text: str


@lru_cache(maxsize=4096)
def first_secret(line: str) -> Secret | None:
    """The first secret in a line, also where base64 hides it. Scripts have most lines in common."""
    line = line[:LONGEST_LINE]
    return next(_plain(line), None) or next(_encoded(line), None)


def _plain(line: str) -> Iterator[Secret]:
    lowered = line.lower()
    # No expression: one of so many words tries each of them at every letter.
    if not any(hint in lowered for hint in _HINTS):
        return
    for pattern, kind in _SECRETS:
        for match in pattern.finditer(line):
            group = match.lastgroup or 0
            if not _made_up(match[group]):
                yield Secret(match.start(group), kind, match[group])


def _made_up(text: str) -> bool:
    counted = _COUNTING.search(text) and len(_COUNTING.sub("", text)) < _LEAST_BESIDE
    return bool(_PLACEHOLDER.search(text) or counted or len(set(text)) <= 3)


def _encoded(line: str) -> Iterator[Secret]:
    for match in _ENCODED.finditer(line):
        try:
            text = base64.b64decode(match[0], validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        for secret in _plain(text):
            yield Secret(match.start(), f"{secret.kind} in base64", match[0])
