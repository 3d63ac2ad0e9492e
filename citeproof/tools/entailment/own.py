"""Makes entailment models from the caller's own functions and objects, and checks their scores."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from citeproof.errors import CiteproofError, ModelError, SettingsError, VerifierOutageError
from citeproof.runtime.background import call_in_thread
from citeproof.tools.entailment.base import Entailment, Pair, Score
from citeproof.tools.llm.retries import is_transient

EntailmentLike: TypeAlias = Entailment | Callable[[str, str], float | Awaitable[float]]
"""An entailment model, or a function of premise and hypothesis that returns the probability."""
_FIX = "Return a number from 0 to 1 for each pair, in their order."


class OwnEntailment:
    """An entailment model of the caller's, whose scores are checked.

    Its method `scores`, or the function, may be plain; it then runs in a thread.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        kind = getattr(model, "__name__", type(model).__name__)
        self.name = str(getattr(model, "name", kind))
        self.threshold = float(getattr(model, "threshold", 0.5))

    def __getattr__(self, name: str) -> Any:
        # What a model has beyond the protocol, such as `reads_many`.
        if name == "model":  # a copy has no attributes yet
            raise AttributeError(name)
        return getattr(self.model, name)

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order."""
        try:
            if hasattr(self.model, "scores"):
                given = await call_in_thread(self.model.scores, pairs)
            else:
                given = [
                    await call_in_thread(self.model, one.premise, one.hypothesis) for one in pairs
                ]
        except CiteproofError:
            raise
        except Exception as error:  # foreign code may raise anything
            kind = VerifierOutageError if is_transient(error) else ModelError
            raise kind(
                f"The entailment model {self.name} failed", why=f"{type(error).__name__}: {error}"
            ) from error
        return self._check(given, len(pairs))

    def _check(self, given: Any, count: int) -> list[float]:
        what = f"The scores of the entailment model {self.name} cannot be used"
        try:
            scores = [one if isinstance(one, Score) else float(one) for one in given]
        except (TypeError, ValueError) as error:
            raise ModelError(what, why=str(error), fix=_FIX) from error
        if len(scores) != count:
            raise ModelError(what, why=f"it gave {len(scores)} for {count} pairs", fix=_FIX)
        if wrong := [score for score in scores if not 0.0 <= score <= 1.0]:
            raise ModelError(what, why=f"{wrong[0]} is no probability", fix=_FIX)
        return scores


def coerce_entailment(model: object) -> Entailment:
    """Make an entailment model from a function, or an object with `scores(pairs)`.

    Citeproof's own models stay as they are: they need no check, and callers ask for their type. A
    model without a `threshold` has 0.5.

    Raises:
        SettingsError: The model is neither.
    """
    if inspect.isclass(model) or not callable(getattr(model, "scores", model)):
        what = model.__name__ if inspect.isclass(model) else f"A {type(model).__name__}"
        raise SettingsError(
            f"{what} is not an entailment model",
            fix="Pass a function of premise and hypothesis that returns a number from 0 to 1, or "
            "an object with `async def scores(pairs)`.",
        )
    if type(model).__module__.startswith("citeproof."):
        return cast("Entailment", model)
    return OwnEntailment(model)
