"""The parts of a run around its nodes: events, cost, graphs within nodes, work at the same time."""
