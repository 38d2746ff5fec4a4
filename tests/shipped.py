"""The dataset of this checkout, loaded once for all tests that only read it."""

from rl_resources import load
from website import ROOT

DATASET = load(ROOT)
