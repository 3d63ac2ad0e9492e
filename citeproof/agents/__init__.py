"""The nodes, one in each file, named as in the papers.

A node is a frozen dataclass: its fields are its tools and its knobs, and calling it with the
part of the state that it declares gives the update. It needs no graph around it.
"""
