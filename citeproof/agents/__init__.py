"""The nodes of the graphs, named as in the papers; `base.py` is what all share.

Node X is in `x.py`; a variant of it, or its other half, stands in the same file.

A node is a frozen dataclass and a LangChain `Runnable`: its fields are its tools and parameters,
its call is the step, and `builder.add_node(name, node)` adds it to any LangGraph graph.
"""
