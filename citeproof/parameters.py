"""Parameters of a run: the context of a graph, with the defaults that it was built with."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from langgraph.runtime import get_runtime
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from citeproof.errors import SettingsError
from citeproof.prompts import check_template
from citeproof.settings import BudgetSettings

__all__ = ["Parameters", "current_parameters", "override_defaults", "parameters_from"]

P = TypeVar("P", bound="Parameters")


class Parameters(BaseModel):
    """The parameters that all graphs share; JSON-able, so Studio can show them as a form."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_calls: int | None = Field(default=None, ge=1)
    """Maximum number of LLM calls in a run."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum number of prompt and completion tokens in a run."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Maximum number of seconds that a run spends in nodes."""
    check_answer: bool = True
    """True checks whether the passages answer the question before anything is written, where the
    method allows it, and whether a proved claim answers it at the end; this needs
    `Toolbox(answerability=…)`, which the settings provide. True also tells which other passages
    contradict a proved claim. False accepts any proved claim as an answer."""
    on_outage: bool = False
    """True answers with the proved claims when a model or retriever stays unreachable. By default,
    the run fails with the error, and can be resumed if it has a checkpointer."""
    prompts: dict[str, str] = Field(default={})
    """Prompt name → text that replaces the packaged prompt (docs/composing.md)."""

    @field_validator("prompts")
    @classmethod
    def _can_replace(cls, prompts: dict[str, str]) -> dict[str, str]:
        for name, text in prompts.items():
            check_template(name, text)
        return prompts

    @model_validator(mode="wrap")
    @classmethod
    def _or_our_error(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Turn pydantic's errors into a `SettingsError`, also for the context of a run."""
        try:
            return handler(values)
        except ValidationError as error:
            failures = error.errors(include_url=False)
        known = cls.model_fields
        if unknown := [str(one["loc"][0]) for one in failures if one["type"] == "extra_forbidden"]:
            near = [name for word in unknown for name in get_close_matches(word, known, n=1)]
            raise SettingsError(
                f"Unknown parameter {', '.join(sorted(unknown))}",
                fix=f"Did you mean {', '.join(near)}?"
                if near
                else f"Known: {', '.join(sorted(known))}.",
            )
        name = ".".join(map(str, failures[0]["loc"]))
        raise SettingsError(
            f"The parameter {name} cannot be {failures[0]['input']!r}", why=failures[0]["msg"]
        )

    def budget(self) -> BudgetSettings:
        """The three limits as `BudgetSettings`."""
        return BudgetSettings(
            calls=self.max_calls, tokens=self.max_tokens, seconds=self.max_seconds
        )


def override_defaults(
    schema: type[P], values: Mapping[str, Any], budget: BudgetSettings | None = None
) -> type[P]:
    """The schema with the defaults that a graph is built with; a run may override them.

    Args:
        schema: The graph's parameters.
        values: Defaults that the caller sets.
        budget: Limits that apply unless the caller sets them.

    Raises:
        SettingsError: A parameter is unknown or out of range.
        PromptError: A prompt cannot replace the packaged one.
    """
    known = schema.model_fields
    limits = {f"max_{name}": limit for name, limit in budget or () if limit is not None}
    values = {**limits, **values}
    checked = schema.model_validate(values)
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
    """Parameters of the current run, or the schema's defaults if it sets none.

    For nodes and routes of a graph. `update_state` calls routes outside a run, where only the
    defaults are known.
    """
    runtime = get_runtime(schema)
    return parameters_from(runtime.context if runtime else None, schema) or schema()


def parameters_from(context: object, schema: type[P]) -> P | None:
    """The context of a run as parameters of the schema; None if it belongs to another graph.

    LangGraph passes the context of the outer graph to a subgraph.
    """
    if isinstance(context, schema):
        return context
    if isinstance(context, BaseModel) and type(context) is schema.__mro__[1]:
        # The caller's own `VTGParameters(k=8)`: unset fields keep the defaults of the graph.
        return schema(**context.model_dump(exclude_unset=True))
    return None


def _with_default(info: FieldInfo, default: object) -> FieldInfo:
    changed = copy(info)
    changed.default = default
    return changed
