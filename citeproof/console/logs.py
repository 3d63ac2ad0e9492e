"""Shows the log of citeproof; that of other libraries is their own, and stays as it is."""

from __future__ import annotations

import logging

__all__ = ["show_log"]


def show_log() -> None:
    """Write what the logger `citeproof` tells to standard error, each line with its time."""
    log = logging.getLogger("citeproof")
    log.setLevel(logging.DEBUG)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
