from __future__ import annotations

from importlib.resources import files

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from citeproof.pages import render

TEMPLATES = sorted(own.name for own in (files("citeproof.pages") / "templates").iterdir())


def rendered(source: str, **values: object) -> str:
    """What a template with the settings of all pages becomes."""
    return render._environment().from_string(source).render(values)


def test_a_value_is_escaped_and_finished_html_is_not() -> None:
    shown = rendered('<p title="{{ a }}">{{ a }}{{ b }}</p>', a="<b>\"'&", b=Markup("<i>"))
    assert shown == '<p title="&lt;b&gt;&#34;&#39;&amp;">&lt;b&gt;&#34;&#39;&amp;<i></p>'


def test_control_characters_are_left_out_and_lines_stay() -> None:
    assert rendered("{{ a }}|{{ a | line }}", a="x\x1b[2J\r\n\u202ey") == "x[2J\ny|x[2J y"


def test_a_value_that_is_not_given_is_told() -> None:
    with pytest.raises(UndefinedError, match="'missing' is undefined"):
        rendered("{{ missing }}")


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_turns_escaping_off(name: str) -> None:
    source = (files("citeproof.pages") / "templates" / name).read_text("utf-8")
    assert "autoescape" not in source
    assert [line for line in source.splitlines() if "safe" in line and "xmlns=" not in line] == []


@pytest.mark.parametrize(
    ("sentences", "marked"),
    [
        ([], []),
        (["Two  of\nthem."], ["Two of\nthem."]),
        (["Two of them.", "of them. Three."], ["Two of\nthem. Three."]),
        (["Nobody said this.", ""], []),
    ],
)
def test_sentences_are_highlighted_where_they_stand(
    sentences: list[str], marked: list[str]
) -> None:
    text = "One. Two of\nthem. Three."
    source = (
        "{% for own, piece in t | pieces(s) %}{{ '[' ~ piece ~ ']' if own else piece }}{% endfor %}"
    )
    shown = rendered(source, t=text, s=sentences)
    assert shown.replace("[", "").replace("]", "") == text
    assert [part.partition("]")[0] for part in shown.split("[")[1:]] == marked


@pytest.mark.parametrize(
    ("address", "web"),
    [
        ("https://example.org/a", True),
        ("http://a", True),
        ("javascript:alert(1)", False),
        ("/home/ada/a.md", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_only_addresses_of_the_web_are_known_as_such(address: str, web: bool) -> None:
    assert rendered("{{ a is web }}", a=address) == str(web)
