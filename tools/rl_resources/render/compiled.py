"""Jinja2 templates compiled, kept between runs: compiling takes longer than what they write."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from rl_resources.cache import cache_folder, keep_bytes, own_code

_DIGEST = hashlib.sha256().digest_size


class Compiled(BytecodeCache):
    """Compiled templates as files, each with its digest before it, so that a broken one is none.

    Jinja2 itself compares the text of the template. What else decides over the code are releases
    and, where they are applied to constants, our filters.
    """

    def __init__(self, *packages: str) -> None:
        engine = [own_code(), *map(version, ("jinja2", "markupsafe", *packages))]
        key = hashlib.sha256("\0".join(engine).encode()).hexdigest()
        self._folder = cache_folder("templates") / key

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / bucket.key

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give what is kept of a template, where it is whole."""
        try:
            data = self._file(bucket).read_bytes()
        except OSError:
            return
        digest, code = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(code).digest() == digest:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template."""
        code = bucket.bytecode_to_string()
        keep_bytes(self._file(bucket), hashlib.sha256(code).digest() + code)
