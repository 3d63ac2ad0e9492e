"""Everything that a person sees: terminal output, the page of an answer, drawings of graphs.

Expected errors are `CiteproofError`s, which `cli` prints in one place; docstrings do not list them.
"""
