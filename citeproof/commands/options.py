"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citeproof.errors import SettingsError

if TYPE_CHECKING:
    from citeproof.settings import Settings


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help; without names it takes the parameter's name."""
    return typer.Option(*names, help=text, **more)


def flag(text: str, *names: str, **more: Any) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=text, metavar="", **more)


def argument(text: str, metavar: str | None = None) -> Any:
    """An argument with its help."""
    return typer.Argument(metavar=metavar, help=text)


Config = Annotated[Path | None, option("Settings file; by default citeproof.toml.")]
Store = Annotated[Path | None, option("Folder of the index; by default .citeproof.")]
Sets = Annotated[
    list[str] | None,
    option("A setting, such as llm.model=openai:gpt-4o.", "--set", metavar="KEY=VALUE"),
]
MethodSets = Annotated[
    list[str] | None,
    option(
        "A setting (llm.model=openai:gpt-4o) or a method's parameter (max_trials=3).",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Backend = Annotated[
    str | None,
    option(
        "Kind of entailment model; by default the one in the settings.",
        metavar="auto|cascade|cross-encoder|judge|seq2seq",
    ),
]
Model = Annotated[str | None, option("Entailment model: local, judge, a preset, name or folder.")]
Method = Annotated[
    str, option("Method; `citeproof methods` lists them. python:MODULE:FUNCTION is your own.")
]
LLM = Annotated[str | None, option("Language model: local, openai:gpt-4o, …")]
Paper = Annotated[
    str | None,
    option(
        "Use the parameters of the method's paper for a data set: asqa, eli5, …; without a value, "
        "for that of the questions.",
        metavar="[DATA]",
    ),
]
On = Annotated[
    Literal["ray"] | None, option("Share the work among Ray actors.", "--on", metavar="ray")
]
Threshold = Annotated[float | None, option("Lowest score (0 to 1) that counts as entailed.")]
Runs = Annotated[list[Path], argument("Run folders, or JSON files of ALCE's runner.", "RUN...")]
AsJSON = Annotated[bool, flag("Print the result as JSON.", "--json")]
Page = Annotated[Path | None, option("Also write the result as an HTML page.", "--html")]
Cold = Annotated[
    bool, flag("Load the models here, even if citeproof serve has them open.", "--cold")
]


def load_settings(config: Path | None, store: Path | None, sets: list[str] | None) -> Settings:
    """Load the settings in force."""
    from citeproof.console.arguments import read_arguments

    settings, others = read_arguments(config, sets, store=store)
    if others:
        raise SettingsError(
            f"There is no setting {next(iter(others))}",
            fix="Write a setting with its section, such as llm.model.",
        )
    return settings


def entailment_sets(
    sets: list[str] | None, backend: str | None, model: str | None, threshold: float | None
) -> list[str]:
    """Append the options for the entailment model to the `--set` items, in the same form."""
    options = {"kind": backend, "model": model, "threshold": threshold}
    named = [f"entailment.{key}={value}" for key, value in options.items() if value is not None]
    return [*(sets or []), *named]
