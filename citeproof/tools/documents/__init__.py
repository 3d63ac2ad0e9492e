"""Reads documents: `files` finds them, a reader for each format, `passages` cuts them."""
