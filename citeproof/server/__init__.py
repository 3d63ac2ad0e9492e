"""The server: answers over HTTP in one process, and serves a web page.

Expected errors are `CiteproofError`s, which `errors` turns into responses in one place; docstrings
do not list them.
"""
