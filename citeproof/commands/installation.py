"""`doctor`, `trust` and `config`: what is installed, and what is set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citeproof.commands.options import Config, Sets, Store, argument, flag, load_settings
from citeproof.console.output import terminal

__all__ = ["config", "doctor", "trust"]


def doctor(
    speed: Annotated[bool, flag("Also time the models.", "--speed")] = False,
    repair: Annotated[
        bool, flag("First make damaged models anew; nothing else is changed.", "--repair")
    ] = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Look over the installation. Exit code 1 where something is missing."""
    from citeproof.console.opening import show_downloads
    from citeproof.console.reports import print_checks
    from citeproof.doctor import diagnose
    from citeproof.doctor import repair as mend

    settings = load_settings(config, store, sets)
    with show_downloads(terminal(stderr=True), "looking…") as progress:
        for name in mend(settings, progress) if repair else ():
            typer.echo(f"Made anew: {name}")
        found = diagnose(settings, measure=speed)
    print_checks(found, terminal())
    if any(check.status == "missing" for check in found):
        raise typer.Exit(1)


def trust(
    file: Annotated[Path, argument("A settings file; by default that of this folder.")] = Path(
        "citeproof.toml"
    ),
) -> None:
    """Trust a settings file as it is now: it may name a server for your key, and its arguments."""
    from citeproof.settings import Settings
    from citeproof.trust import trust as remember

    Settings.load(file)  # what cannot be read is not worth trusting
    place = remember(file)
    typer.echo(f"Trusted as it is now: {file.resolve()} (kept in {place})")


def config(config: Config = None, store: Store = None, sets: Sets = None) -> None:
    """Show the settings in force; keys and passwords are hidden."""
    from citeproof.settings_toml import as_toml

    typer.echo(as_toml(load_settings(config, store, sets)), nl=False)
