"""Fixers of the rules whose mend is certain, each in the module of its rule's family."""

from rl_resources.check.fixers import cells, compatibility, content, files, form, scripts

__all__ = ["cells", "compatibility", "content", "files", "form", "scripts"]
