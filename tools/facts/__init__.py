"""Published statements about RL runs, transcribed as CSV files, turned into `records/reports.csv`.

A statement is read (`statement`), held to what a report must say (`admission`), and its words are
brought to those of our tables (`model`, `device`, `task`, `engine`, `figures`, `setting`, `notes`).
A ledger tells what became of each, so that none is lost without a word. `words/` holds what was
decided by reading.
"""
