"""The nodes of the graphs, named as in the papers; `base.py` holds what they share.

Node X is in `x.py`, together with its variants and counterparts.

A node is a frozen dataclass and a LangChain `Runnable`. Its fields are its tools and parameters,
its call is the step, and `builder.add_node(name, node)` adds it to any LangGraph graph.
"""
