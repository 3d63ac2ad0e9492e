"""The methods, one in each file: nodes, edges, routes, compile."""
