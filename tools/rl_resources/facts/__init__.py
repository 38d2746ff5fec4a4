"""What rules, pages and contributions ask of the dataset: cells, words, names, pairs. No rules."""
