"""Reads documents: `files` finds them, one reader per format parses them, `passages` cuts them."""
