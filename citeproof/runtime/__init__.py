"""The parts of a run around its nodes: events, costs, concurrency."""
