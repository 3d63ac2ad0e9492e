"""Answers from your documents, every sentence proved by its citations."""
