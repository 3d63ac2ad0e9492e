"""Calls the user's own functions by their names, as in `python:package.module:function`.

Importing a module runs it, so the name must come from the user, not from a request or a document.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from citeproof.errors import CiteproofError, SettingsError

PREFIX = "python:"


def call_named(name: str, what: str, call: Callable[[Any], Any], takes: str = "") -> Any:
    """Import a function, and return what `call` makes of it.

    Args:
        name: `python:package.module:function`; the module is installed or on PYTHONPATH.
        what: What fails if it fails, for the error.
        call: Calls the function.
        takes: What the function must take, for the error.

    Raises:
        SettingsError: The name is malformed, or the function cannot be imported or fails.
    """
    place = name.removeprefix(PREFIX)
    if not all(place.partition(":")):
        raise SettingsError(what, fix=f"Write it as {PREFIX}package.module:function.")
    try:
        return call(resolve_name(place))
    except CiteproofError:
        raise
    except Exception as error:  # foreign code may raise anything
        named = "Name a function of a package that is installed, or in a folder on PYTHONPATH"
        raise SettingsError(
            what,
            why=f"{type(error).__name__}: {error}",
            fix=f"{named}, that takes {takes}." if takes else f"{named}.",
        ) from error
