"""ALCE's metrics, one group per file; they only compute, and get their models as arguments."""
