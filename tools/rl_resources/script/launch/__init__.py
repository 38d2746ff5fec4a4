"""What a script starts: the training program and the Hydra overrides that it hands to it."""

from rl_resources.script.launch.arguments import Stray
from rl_resources.script.launch.launch import Launch, launches
from rl_resources.script.launch.lost import Lost, joined, lost
from rl_resources.script.launch.override import Override

__all__ = ["Launch", "Lost", "Override", "Stray", "joined", "launches", "lost"]
