"""Stores that outlive a question: passages, cases and cited evidence, in Chroma or PostgreSQL."""
