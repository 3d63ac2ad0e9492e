"""The place of a node call in a run: its parameters and the remaining budget."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from langgraph.runtime import get_runtime

from citeproof.errors import InputError
from citeproof.parameters import Parameters, parameters_from
from citeproof.runtime.meter import in_budget_units, note, spend
from citeproof.settings import BudgetSettings
from citeproof.state import Ledger, calls_of, total_usage
from citeproof.types import Answer, Usage


@dataclass(frozen=True)
class Place:
    """Where in a run a node or a route is called."""

    call: str
    """The checkpoint namespace: `node:task`, after those of the subgraphs around it."""
    context: object
    """The parameters of the run, in the caller's form."""
    thread: str | None
    """The thread whose checkpoints keep the run; None if the run names none."""

    @property
    def graph(self) -> str:
        """The checkpoint namespace of the graph; empty for the outermost."""
        return self.call.rpartition("|")[0]

    @property
    def drafts(self) -> bool:
        """Whether the graph writes a draft for another one, inside a node called `draft`."""
        return any(part.startswith("draft:") for part in self.graph.split("|"))


def current_place() -> Place:
    """The caller's place in a run; outside a graph, a new place."""
    try:
        runtime = get_runtime()
    except RuntimeError:
        runtime = None
    info = runtime.execution_info if runtime else None
    if runtime is None or info is None:
        return Place(uuid.uuid4().hex, runtime.context if runtime else None, None)
    return Place(info.checkpoint_ns, runtime.context, info.thread_id)


def adopt_cost(answer: Answer, ledger: Ledger) -> None:
    """Report the cost of another graph's answer, unless the ledger already contains it."""
    graph = current_place().graph
    if not any("|" in call.removeprefix(f"{graph}|") for call in calls_of(ledger, graph)):
        spend(answer.usage)
        for text in answer.notes:
            note(text)


def fields_of(context: object) -> Iterable[tuple[str, Any]]:
    """The fields of a run's context, whatever kind of object it is."""
    if isinstance(context, Mapping):
        return context.items()
    if is_dataclass(context):  # a dataclass with slots has no `__dict__`
        return [(one.name, getattr(context, one.name)) for one in fields(context)]
    return vars(context).items() if hasattr(context, "__dict__") else ()


def budget_of(
    place: Place,
    schema: type[Parameters] | None,
    outer: BudgetSettings | None,
    ledger: Ledger,
) -> BudgetSettings | None:
    """The total that the run may have spent when it ends, by its own budget and the outer ones.

    `outer` are the limits of the outer graph, or those found at the beginning of the run.

    Raises:
        InputError: `outer`, the state's key `budget`, holds something else.
        SettingsError: The run's context sets a limit that is no limit.
    """
    if not isinstance(outer, BudgetSettings | None):
        raise InputError(
            "The limits of the run cannot be read",
            why=f"the key `budget` of the state holds a {type(outer).__name__}",
            fix="Give your own key another name: nodes keep the limits under this one.",
        )
    own = None if schema is None else parameters_from(place.context, schema)
    budgets = [outer, None if own else _budget_in(place.context)]
    if schema is not None:
        inside = calls_of(ledger, place.graph)
        around = {call: cost for call, cost in ledger.items() if call not in inside}
        budgets.append(_on_top((own or schema()).budget(), total_usage(around)))
    limits = {
        name: min((limit for b in budgets if b and (limit := getattr(b, name))), default=None)
        for name in BudgetSettings.model_fields
    }
    return BudgetSettings(**limits) if any(limits.values()) else None


def _budget_in(context: object) -> BudgetSettings:
    """The limits that a run's context sets with `max_calls`, `max_tokens` and `max_seconds`."""
    values = dict(fields_of(context))
    names = [f"max_{name}" for name in BudgetSettings.model_fields]
    return Parameters(**{name: values.get(name) for name in names}).budget()


def _on_top(budget: BudgetSettings, spent: Usage) -> BudgetSettings:
    """Convert the budget of a subgraph to one of the whole run, by adding the earlier costs."""
    before = in_budget_units(spent)
    return BudgetSettings(
        **{name: None if limit is None else limit + before[name] for name, limit in budget}
    )
