"""From a configuration to a contribution: the row, the script and what else they change."""
