"""Rules on all tables and the names of all scripts, and what several of them share."""
