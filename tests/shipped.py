"""The dataset of this checkout, loaded once for all tests that only read it."""

from rl_resources import load
from rl_resources.git import Repository
from rl_resources.site import api, finder
from rl_resources.site.environment import Site
from website import ROOT

DATASET = load(ROOT)


def estimate_as_published() -> dict[str, str]:
    """What the calculator reads, by the names of its files."""
    documents = api.documents(DATASET, Repository(None, None, None), {})
    (text,) = [item.text for item in documents if item.path == "estimate.json"]
    words = finder.files(Site(DATASET))[finder.WORDS_PATH]
    return {"estimate.json": text, "words.json": words}
