"""Data sets, metrics and runs, to measure how well a method answers and cites."""
