"""Could another generator take over from MkDocs Material? Its pages are held to ours.

`python -m successors NAME… --out DIR` writes what `publish.render` gives into a folder, as a
generator without hooks has it, builds it with each program, and says which addresses differ.
"""
