"""The memory of a run by arithmetic: an estimate, never mixed with records and reports."""
