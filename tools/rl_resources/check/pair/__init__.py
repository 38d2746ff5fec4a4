"""Rules on a row together with its script."""
