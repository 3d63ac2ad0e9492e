"""Stores that outlive a question: passages, cited evidence, and the one place that opens Chroma."""
