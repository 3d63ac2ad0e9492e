"""A retriever of the user's own, by the name of what makes it: `python:package.module:factory`."""

from __future__ import annotations

import importlib
import inspect

from citeproof.errors import CiteproofError, InputError, SettingsError
from citeproof.settings import Settings
from citeproof.tools.retrieval.base import Retriever
from citeproof.tools.retrieval.sources import coerce_retriever


def make_retriever(source: str, settings: Settings) -> Retriever:
    """Import a factory and call it, with the settings if it takes an argument.

    Args:
        source: `python:package.module:factory`; the module must be installed or on PYTHONPATH.
        settings: The settings, for a factory that takes them.

    Raises:
        SettingsError: It cannot be imported or fails, or it makes no retriever.
    """
    module, colon, name = source.removeprefix("python:").partition(":")
    what = f"The retriever {source!r} cannot be made"
    if not (module and colon and name):
        raise SettingsError(what, fix="Write it as python:package.module:factory.")
    try:
        factory = getattr(importlib.import_module(module), name)
    except ImportError as error:
        fix = "Install the package, or add its folder to PYTHONPATH."
        raise SettingsError(what, why=str(error), fix=fix) from error
    except AttributeError as error:
        raise SettingsError(what, why=str(error), fix=f"Name a function of {module}.") from error
    except Exception as error:  # whatever a module does when it is imported
        raise SettingsError(what, why=f"{type(error).__name__}: {error}") from error
    if not callable(factory):
        raise SettingsError(what, why=f"{name} is a {type(factory).__name__}, and no function")
    try:
        made = factory(settings) if _takes_one(factory) else factory()
    except CiteproofError:
        raise
    except Exception as error:
        raise SettingsError(what, why=f"{name} raised {type(error).__name__}: {error}") from error
    try:
        return coerce_retriever(made)
    except InputError as error:
        fix = "Return a LangChain retriever, or an object with `async def retrieve(query, k)`."
        raise SettingsError(what, why=f"{name} gave a {type(made).__name__}", fix=fix) from error


def _takes_one(factory: object) -> bool:
    try:
        inspect.signature(factory).bind(object())  # type: ignore[arg-type]
    except (TypeError, ValueError):  # of what is built in there is no signature
        return False
    return True
