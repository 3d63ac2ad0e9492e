"""The command line, run within the process of the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.testing import CliRunner, Result

from citeproof import cli


def run(arguments: Sequence[Any], code: int | None = None, **more: Any) -> Result:
    """The result of a command; with `code`, it must end with this exit code."""
    result = CliRunner().invoke(cli.app, list(arguments), **more)
    assert code in (None, result.exit_code), result.output
    return result
