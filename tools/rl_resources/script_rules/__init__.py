"""Rules on the text of one script, and on a row together with its script."""
