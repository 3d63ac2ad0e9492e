"""The server: one process that answers over HTTP, and the page for its readers."""
