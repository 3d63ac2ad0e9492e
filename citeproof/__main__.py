"""`python -m citeproof`: the command line."""

from citeproof.cli import main

if __name__ == "__main__":
    main()
