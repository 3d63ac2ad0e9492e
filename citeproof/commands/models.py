"""`citeproof models`: the embedded models."""

from __future__ import annotations

from typing import Annotated

import typer

from citeproof.commands.options import Config, Sets, argument, load_settings, words
from citeproof.console.output import terminal
from citeproof.errors import InputError

__all__ = ["app"]

app = typer.Typer(help="The embedded models.", no_args_is_help=True)


@app.command("fetch")
def models_fetch(
    names: Annotated[
        list[str] | None,
        argument(
            "By default all embedded ones; hf:OWNER/REPO/FILE.gguf is any of the hub's.",
            "[NAME]...",
        ),
    ] = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Download models into the cache, and verify them."""
    from citeproof.console.opening import show_downloads
    from citeproof.models.fetch import fetch, fetch_gguf
    from citeproof.models.manifest import EMBEDDED

    known = {model.name: model for model in EMBEDDED}
    for name in names or []:
        if name not in known and not name.startswith("hf:"):
            fix = f"Known: {words(known)} One of the hub is written hf:OWNER/REPO/FILE.gguf."
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


@app.command("list")
def models_list(config: Config = None, sets: Sets = None) -> None:
    """Show the embedded models, and whether they are here."""
    from citeproof.console.reports import print_models
    from citeproof.models.manifest import EMBEDDED

    print_models(EMBEDDED, load_settings(config, None, sets).models, terminal())
