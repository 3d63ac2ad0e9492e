"""The parts of a run around its nodes: events, cost, work at the same time."""
