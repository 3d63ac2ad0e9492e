"""The server: answers over HTTP in one process, and serves a web page."""
