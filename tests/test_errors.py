"""Errors say what, why and what to do, and survive pickling."""

import pickle

from citeproof import errors
from citeproof.errors import CiteproofError, FetchError, ModelError


def test_the_message_has_what_why_and_fix() -> None:
    error = FetchError("The model cannot be fetched", why="no route", fix="Name a file.")
    assert str(error) == "The model cannot be fetched: no route. Name a file."


def test_what_alone_ends_with_one_full_stop() -> None:
    assert str(CiteproofError("It failed.")) == "It failed."


def test_pickling_keeps_all_parts() -> None:
    failed = FetchError("a", why="b", fix="c")
    failed.cost = {"node": 1}
    error = pickle.loads(pickle.dumps(failed))
    assert isinstance(error, ModelError)
    assert (error.what, error.why, error.fix, error.cost) == ("a", "b", "c", {"node": 1})


def test_every_error_is_public_drawn_and_under_one_root() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), CiteproofError)
        assert name in (errors.__doc__ or "")
