"""Rules on tables and on the names of scripts."""
