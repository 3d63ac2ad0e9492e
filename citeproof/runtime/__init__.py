"""What a run does around its nodes: events, cost, graphs within nodes, work at the same time."""
