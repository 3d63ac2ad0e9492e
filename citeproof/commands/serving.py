"""`serve` and `mcp`: citeproof for other programs and for browsers."""

from __future__ import annotations

from typing import Annotated

import typer

from citeproof.commands.options import Config, Sets, Store, load_settings, option
from citeproof.console.output import terminal
from citeproof.errors import MissingExtraError


def serve(
    host: Annotated[str, option("Address to listen on; needs --token unless local.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, option("Port to listen on; 0 picks a free one.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        option("Token that every client must send.", envvar="SERVE_TOKEN"),
    ] = None,
    name: Annotated[
        list[str] | None, option("Further host name of the server; may be repeated.")
    ] = None,
    store: Store = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Answer over HTTP: a web page, a REST API and OpenAI's protocol."""
    from citeproof.server.running import serve as run

    settings = load_settings(config, store, sets)
    run(settings, host, port, token, name or [], lambda address: typer.echo(f"Open {address}"))


def mcp(config: Config = None, store: Store = None, sets: Sets = None) -> None:
    """Serve ask, check, search and read to an MCP client, over stdin and stdout."""
    settings = load_settings(config, store, sets)
    with MissingExtraError.unless_installed("serve", "MCP clients cannot be served"):
        from citeproof.integrations.mcp_calls import Calls
        from citeproof.integrations.mcp_server import (
            build_mcp_server,
            protocol_stdout,
            serve_stdio,
        )
    from citeproof.console.opening import show_downloads
    from citeproof.integrations.turns import Turns, questions_at_once
    from citeproof.tools.toolbox import Toolbox

    with protocol_stdout() as protocol:
        with show_downloads(terminal(stderr=True), "opening models…") as progress:
            tools = Toolbox.from_settings(settings, progress=progress)
        with tools:
            calls = Calls(tools, Turns(questions_at_once(settings)))
            serve_stdio(build_mcp_server(tools, calls=calls), protocol)
