"""Rules on the text of one script."""
