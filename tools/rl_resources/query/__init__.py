"""Answers to questions, from records alone."""
