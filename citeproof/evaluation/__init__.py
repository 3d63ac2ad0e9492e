"""Data sets, metrics and runs: how well a method answers and cites."""
