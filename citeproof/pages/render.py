"""Renders pages from templates: values are escaped, and foreign styles and scripts are barred."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from citeproof.pages.filters import FILTERS, TESTS
from citeproof.text import plain

__all__ = ["asset", "fragment", "render_page"]


def render_page(template: str, style: str = "", *, script: bool = True, **values: object) -> str:
    """Render a whole page as one self-contained file.

    Args:
        template: Name of the template, which extends `page.html`.
        style: CSS rules in addition to those that all pages share.
        script: Whether to include the script that shows cards.
        values: The template's variables; all but `Markup` are escaped.
    """
    rules, program = f"{asset('page.css')}\n{style}", asset("page.js") if script else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(rules)}'; "
        f"script-src 'sha256-{_digest(program)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"policy": Markup(policy), "style": Markup(rules), "script": Markup(program)}
    return str(fragment(template, **values, **own))


def fragment(template: str, **values: object) -> Markup:
    """Render a template as a part of a page, or as a drawing."""
    return Markup(_environment().get_template(template).render(values))


def asset(name: str) -> str:
    """Read a file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8").strip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.tests.update(TESTS)
    return environment


def _harmless(value: object) -> object:
    """Remove control characters from text that may come from strangers."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, lines=True)
    return value


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
