"""What the log of a training run says of memory, time, speed, versions and how the run ended."""

from rl_resources.contribute.training_log.read import TrainingLog, read_excerpt, read_log

__all__ = ["TrainingLog", "read_excerpt", "read_log"]
