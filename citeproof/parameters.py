"""Parameters of a run: a graph's context, with the defaults that the graph was built with."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from difflib import get_close_matches
from typing import Any, TypeVar

from langgraph.runtime import get_runtime
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from citeproof.errors import SettingsError
from citeproof.settings import BudgetSettings

__all__ = ["Parameters", "current_parameters", "override_defaults", "parameters_from"]

P = TypeVar("P", bound="Parameters")


class Parameters(BaseModel):
    """The parameters that all graphs share; JSON-able, so that Studio shows them as a form."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_calls: int | None = Field(default=None, ge=1)
    """Budget of LLM calls for a run."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Budget of prompt and completion tokens for a run."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Budget of seconds spent in nodes for a run."""
    check_answer: bool = True
    """False takes any proved claim as an answer. True asks whether the passages answer the question
    before anything is written, where the method allows it, and whether a proved claim does at the
    end; it needs `Toolbox(answerability=…)`, which the settings give."""
    on_outage: bool = False
    """True answers with the proved claims when a model or retriever stays out of reach. By default
    the run fails with the error, and a run with a checkpointer can be resumed."""
    prompts: dict[str, str] = Field(default={})
    """Prompt name → text to use in place of the packaged one (docs/composing.md)."""

    def budget(self) -> BudgetSettings:
        """The three limits, as the meter takes them."""
        return BudgetSettings(
            calls=self.max_calls, tokens=self.max_tokens, seconds=self.max_seconds
        )


def override_defaults(
    schema: type[P], values: Mapping[str, Any], budget: BudgetSettings | None = None
) -> type[P]:
    """The schema with other defaults: those that a graph is built with, and a run may override.

    Args:
        schema: The graph's parameters.
        values: Defaults that the caller sets.
        budget: Limits that apply where the caller sets none.

    Raises:
        SettingsError: A parameter is unknown or out of range.
    """
    known = schema.model_fields
    limits = {f"max_{name}": limit for name, limit in budget or () if limit is not None}
    values = {**limits, **values}
    if unknown := sorted(values.keys() - known.keys()):
        near = [name for word in unknown for name in get_close_matches(word, known, n=1)]
        raise SettingsError(
            f"Unknown parameter {', '.join(unknown)}",
            fix=f"Did you mean {', '.join(near)}?"
            if near
            else f"Known: {', '.join(sorted(known))}.",
        )
    try:
        checked = schema.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise SettingsError(
            f"The parameter {name} cannot be {first['input']!r}", why=first["msg"]
        ) from error
    changed: dict[str, Any] = {
        name: (known[name].annotation, _with_default(known[name], getattr(checked, name)))
        for name in values
    }
    return create_model(
        schema.__name__,
        __base__=schema,
        __module__=schema.__module__,
        __cls_kwargs__={"use_attribute_docstrings": False},
        **changed,
    )


def current_parameters(schema: type[P]) -> P:
    """Parameters of the current run, or the schema's defaults where it has none of its own.

    For nodes and routes of a graph. `update_state` calls routes outside of a run, where only
    the defaults are known.
    """
    try:
        runtime = get_runtime(schema)
    except RuntimeError:  # called outside any graph
        return schema()
    return parameters_from(runtime.context if runtime else None, schema) or schema()


def parameters_from(context: object, schema: type[P]) -> P | None:
    """A run's context as parameters of the schema; None if it is another graph's.

    LangGraph hands a subgraph the context of the graph around it.
    """
    if isinstance(context, schema):
        return context
    if isinstance(context, BaseModel) and type(context) is schema.__mro__[1]:
        # The caller's own `VTGParameters(k=8)`: what it leaves unset is as the graph was built.
        return schema(**context.model_dump(exclude_unset=True))
    return None


def _with_default(info: FieldInfo, default: object) -> FieldInfo:
    changed = copy(info)
    changed.default = default
    return changed
