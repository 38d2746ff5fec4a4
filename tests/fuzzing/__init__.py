"""Arbitrary bytes through the real commands: what is broken, who reads it, what must hold."""
