"""Commands of the command line, where they are not in `cli` itself."""
