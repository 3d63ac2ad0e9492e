"""Citations as text and as JSON: which sentence cites which passages."""
