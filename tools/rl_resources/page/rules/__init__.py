"""The rules of a hand-kept page, by what they look at.

What comes up in reading its cells is told there already, by the name of a rule; the other rules
look at the page as a whole. None of them reads a file.
"""
