"""Options that several commands have, each declared once, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from citeproof.settings import Settings


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help; without names it is called as the parameter is."""
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
    option(
        "A setting (llm.model=openai:gpt-4o) or a method's parameter (max_trials=3).",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Backend = Annotated[
    str | None,
    option(
        "The model that says if a passage entails a sentence; by default that of the settings.",
        metavar="auto|cascade|cross-encoder|judge|seq2seq",
    ),
]
Model = Annotated[str | None, option("Entailment model: local, judge, a preset, name or folder.")]
Paper = Annotated[
    str | None,
    option(
        "As the method's paper has it: asqa, eli5, …; alone, on the data set of the questions.",
        metavar="[DATA]",
    ),
]
On = Annotated[str | None, option("ray: Ray actors share the work.", "--on", metavar="ray")]
Threshold = Annotated[float | None, option("Scores from here on (0 to 1) count as entailed.")]
Runs = Annotated[list[Path], argument("Folders of runs, or JSON of ALCE's runner.", "RUN...")]
AsJSON = Annotated[bool, flag("Print it as JSON.", "--json")]
Page = Annotated[Path | None, option("Also write it as a page.", "--html")]
Cold = Annotated[bool, flag("Load the models here, even if citeproof serve has them.", "--cold")]


def load_settings(config: Path | None, store: Path | None, sets: list[str] | None) -> Settings:
    """The settings in force.

    Raises:
        SettingsError: A setting is unknown or not allowed.
    """
    from citeproof.console.arguments import read_arguments
    from citeproof.errors import SettingsError

    settings, others = read_arguments(config, sets, store=store)
    if others:
        raise SettingsError(
            f"There is no setting {next(iter(others))}",
            fix="A setting has its section before it, such as llm.model.",
        )
    return settings


def entailment_sets(
    sets: list[str] | None, backend: str | None, model: str | None, threshold: float | None
) -> list[str]:
    """The `--set` items, with those that the options for the entailment model stand for."""
    options = {"kind": backend, "model": model, "threshold": threshold}
    named = [f"entailment.{key}={value}" for key, value in options.items() if value is not None]
    return [*(sets or []), *named]
