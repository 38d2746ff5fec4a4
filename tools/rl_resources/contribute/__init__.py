"""From a configuration to a contribution: the files that it adds, written all or none."""
