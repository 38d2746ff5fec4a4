"""Pages of hand-kept tables: read into values, validated, made into records.

Nothing is imported here: the rules of a page are listed without what reads one.
"""
