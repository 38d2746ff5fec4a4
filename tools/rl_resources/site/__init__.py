"""Records in, text out. Nothing here writes a file or knows who calls it."""
