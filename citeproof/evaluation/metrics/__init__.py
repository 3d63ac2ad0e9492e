"""ALCE's metrics, one group in a file; arithmetic alone, models are passed in."""
