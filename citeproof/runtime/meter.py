"""Counts the cost of a node call, and stops it at the run's budget.

Tools report to the current meter, a context variable that each node sets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from citeproof.errors import BudgetExceededError
from citeproof.settings import BudgetSettings
from citeproof.text import count
from citeproof.types import Usage


@dataclass
class Meter:
    """The cost of one node call, in addition to earlier costs."""

    before: Usage = field(default_factory=Usage)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    used: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def total(self) -> Usage:
        """Usage of the node call so far, including its seconds."""
        return self.used.model_copy(update={"seconds": time.perf_counter() - self.began})

    def check(self) -> None:
        """Reject the next call if a budget is spent.

        Raises:
            BudgetExceededError: The run has used its calls, tokens or seconds.
        """
        spent = in_budget_units(self.before + self.total())
        for unit, limit in self.budget:
            if limit is not None and spent[unit] >= limit:
                shown = f"{limit:g} seconds" if unit == "seconds" else count(limit, unit[:-1])
                raise BudgetExceededError(f"The budget of {shown} is spent")


def in_budget_units(usage: Usage) -> dict[str, float]:
    """Return the usage under the names that a budget has for its limits."""
    return {
        "calls": usage.llm_calls,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "seconds": usage.seconds,
    }


_meter: ContextVar[Meter | None] = ContextVar("citeproof_meter", default=None)


@contextmanager
def use_meter(meter: Meter) -> Iterator[Meter]:
    """Make a meter the current one for the calls made inside the block."""
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def spend(usage: Usage) -> None:
    """Report a cost to the current meter, if there is one."""
    if (meter := _meter.get()) is not None:
        meter.used = meter.used + usage


def check_budget() -> None:
    """Check with the current meter whether another call is allowed.

    Raises:
        BudgetExceededError: The budget allows no further call.
    """
    if (meter := _meter.get()) is not None:
        meter.check()


def note(text: str) -> None:
    """Record a problem that was repaired; it ends up in `Answer.notes`."""
    if (meter := _meter.get()) is not None and text not in meter.notes:
        meter.notes.append(text)
