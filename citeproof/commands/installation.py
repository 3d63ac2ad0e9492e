"""`doctor`, `models`, `trust` and `config`: the installation and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citeproof.commands.options import Config, Sets, Store, argument, flag, load_settings
from citeproof.console.output import terminal
from citeproof.errors import InputError

models = typer.Typer(help="Download and list the embedded models.", no_args_is_help=True)


def doctor(
    speed: Annotated[bool, flag("Also time the models.", "--speed")] = False,
    repair: Annotated[
        bool, flag("First restore damaged models; changes nothing else.", "--repair")
    ] = False,
    config: Config = None,
    store: Store = None,
    sets: Sets = None,
) -> None:
    """Check the installation. Exit code 1 if something is missing."""
    from citeproof.console.opening import show_downloads
    from citeproof.console.reports import print_checks
    from citeproof.doctor import diagnose
    from citeproof.doctor import repair as mend

    settings = load_settings(config, store, sets)
    with show_downloads(terminal(stderr=True), "looking…") as progress:
        for name in mend(settings, progress) if repair else ():
            typer.echo(f"Restored: {name}")
        found = diagnose(settings, measure=speed)
    print_checks(found, terminal())
    if any(check.status == "missing" for check in found):
        raise typer.Exit(1)


@models.command("fetch")
def models_fetch(
    names: Annotated[
        list[str] | None,
        argument(
            "By default all embedded models; hf:OWNER/REPO/FILE.gguf names one on the hub.",
            "[NAME]...",
        ),
    ] = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Download models into the cache and verify them."""
    from citeproof.console.opening import show_downloads
    from citeproof.models.fetch import fetch, fetch_gguf
    from citeproof.models.manifest import EMBEDDED

    known = {model.name: model for model in EMBEDDED}
    for name in names or []:
        if name not in known and not name.startswith("hf:"):
            fix = f"Known: {', '.join(known)}. Models of the hub: hf:OWNER/REPO/FILE.gguf."
            raise InputError(f"There is no embedded model {name!r}", fix=fix)
    settings = load_settings(config, None, sets)
    err = terminal(stderr=True)
    for name in names or known:
        with show_downloads(err, f"looking for {name}…") as progress:
            if name in known:
                path = fetch(known[name], settings.models, progress=progress)
            else:
                path = fetch_gguf(name, settings.models, progress=progress)
        typer.echo(f"{name}: {path}")
        if name not in known:
            place = path.resolve()
            typer.echo(f"To use it, write in citeproof.toml, under [llm]: path = '{place}'")
            typer.echo(f"or add to a command: --set 'llm.path={place}'")


@models.command("list")
def models_list(config: Config = None, sets: Sets = None) -> None:
    """List the embedded models, and whether they are downloaded."""
    from citeproof.console.reports import print_models
    from citeproof.models.manifest import EMBEDDED

    print_models(EMBEDDED, load_settings(config, None, sets).models, terminal())


def trust(
    file: Annotated[Path, argument("Settings file; by default the one in this folder.")] = Path(
        "citeproof.toml"
    ),
) -> None:
    """Trust a settings file as it is now: it may name servers, programs and their arguments."""
    from citeproof.settings import Settings
    from citeproof.trust import trust as remember

    Settings.load(file)  # refuses a file that cannot be read
    place = remember(file)
    typer.echo(f"Trusted as it is now: {file.resolve()} (kept in {place})")


def config(config: Config = None, store: Store = None, sets: Sets = None) -> None:
    """Show the settings in force; keys and passwords are hidden."""
    from citeproof.settings_toml import as_toml

    typer.echo(as_toml(load_settings(config, store, sets)), nl=False)
