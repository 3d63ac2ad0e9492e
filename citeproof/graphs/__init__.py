"""The methods, one per file: nodes, edges, routes, compile."""
