"""Every error that citeproof raises on purpose.

Each message says what failed, why, and what to do next. The tree:

    CiteproofError
    ├── SettingsError            a setting is unknown, missing or out of range
    ├── InputError               the caller's question, document or argument cannot be used
    │   └── DocumentError        one document cannot be read; the others are still indexed
    │       └── NoTextError      it holds no text
    ├── MissingExtraError        a feature needs an extra that is not installed
    ├── ModelError               a model is not available or does not answer
    │   ├── FetchError           a model file cannot be downloaded from any of its sources
    │   ├── CorruptModelError    a model file is not the expected one
    │   ├── ModelOutageError     a model stopped answering and retries did not help
    │   │   └── VerifierOutageError  the server of the entailment model gave no scores
    │   └── ModelReplyError      a model's reply is not what the node needs
    ├── StoreError               a Chroma store cannot be opened, read or written
    ├── RetrievalError           a retriever failed
    ├── PromptError              a prompt template and its variables do not fit
    └── BudgetExceededError      a run used up its calls, tokens or seconds
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

__all__ = [
    "BudgetExceededError",
    "CiteproofError",
    "CorruptModelError",
    "DocumentError",
    "FetchError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "ModelOutageError",
    "ModelReplyError",
    "NoTextError",
    "PromptError",
    "RetrievalError",
    "SettingsError",
    "StoreError",
    "VerifierOutageError",
]


class CiteproofError(RuntimeError):
    """Root of all errors raised on purpose.

    A `RuntimeError`, since the LangGraph server only shows the messages of built-in error types to
    its clients; for others, it says "An internal error occurred".

    Args:
        what: The failure, in one sentence without a full stop.
        why: The reason, if it adds to `what`.
        fix: The reader's next step.
    """

    cost: Mapping[str, Any] = {}
    """Ledger entry of the node call that raised the error: its cost so far."""

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        self.what = what
        self.why = why
        self.fix = fix
        super().__init__(what, why, fix)

    def __str__(self) -> str:
        text = self.what + (f": {self.why}" if self.why else "")
        text = text.rstrip(".") + "."
        return f"{text} {self.fix}" if self.fix else text

    def __reduce__(self) -> tuple[object, ...]:
        # The default pickling of exceptions loses keyword-only arguments.
        return partial(type(self), self.what, why=self.why, fix=self.fix), (), vars(self)


class SettingsError(CiteproofError):
    """A setting is unknown, missing or out of range."""


class InputError(CiteproofError):
    """The caller's question, document or argument cannot be used."""


class DocumentError(InputError):
    """One document cannot be read; the others are still indexed."""


class NoTextError(DocumentError):
    """A document holds no text, and nothing that could not be read."""


class MissingExtraError(CiteproofError):
    """A feature needs an extra that is not installed."""

    @classmethod
    @contextmanager
    def unless_installed(cls, extra: str, what: str, instead: str = "") -> Iterator[None]:
        """Wrap imports of packages that an extra provides.

        Args:
            extra: Name of the extra.
            what: The failure without it, as for `CiteproofError`.
            instead: An alternative for readers who cannot install it, in the imperative.

        Raises:
            MissingExtraError: A package is not installed or does not load.
        """
        try:
            yield
        except (ImportError, OSError) as error:  # OSError: from a library that the package loads
            fix = f'Install it with: pip install "citeproof[{extra}]"'
            fix += f"; or {instead}." if instead else "."
            raise cls(what, why=str(error), fix=fix) from error


class ModelError(CiteproofError):
    """A model is not available or does not answer."""

    @classmethod
    @contextmanager
    def unless_loaded(cls, what: str, fix: str) -> Iterator[None]:
        """Wrap the loading of a model by a library, which raises its own errors for a damaged file.

        Raises:
            ModelError: The model cannot be loaded, with `what` and `fix` as the message.
        """
        try:
            yield
        except ModelError:
            raise
        except Exception as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise cls(what, why=why, fix=fix) from error


class FetchError(ModelError):
    """A model file cannot be downloaded from any of its sources."""


class CorruptModelError(ModelError):
    """A model file is not the expected one."""


class ModelOutageError(ModelError):
    """A model stopped answering and retries did not help."""


class VerifierOutageError(ModelOutageError):
    """The server of the entailment model gave no scores; claims may stand unchecked."""


class ModelReplyError(ModelError):
    """A model's reply is not what the node needs."""


class StoreError(CiteproofError):
    """A Chroma store cannot be opened, read or written."""


class RetrievalError(CiteproofError):
    """A retriever failed."""


class PromptError(CiteproofError):
    """A prompt template and its variables do not fit."""


class BudgetExceededError(CiteproofError):
    """A run used up its calls, tokens or seconds."""
