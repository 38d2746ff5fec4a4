"""Rules on tables and on the names of scripts, and what several of them share."""
