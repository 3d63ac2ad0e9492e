"""Which questions are surely not in English."""

from __future__ import annotations

import pytest

from citeproof.tools.questions.languages import is_english


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Who built the lighthouse?", True),
        ("When did he die?", True),
        ("Who painted the Mona Lisa, and for whom?", True),
        ("who wrote Les Misérables and Die Verwandlung", True),
        ("What does «de facto» mean in the EU?", True),
        ("Who was Charles de la Tour?", True),
        ("Ann Lee", True),
        ("tallest building world", True),
        ("What is the capital of 日本?", True),
        ("1871?", True),
        ("", True),
        ("Wer hat den Leuchtturm gebaut?", False),
        ("Wie installiere ich ein Paket neu?", False),
        ("Qui a construit le phare ?", False),
        ("¿Quién construyó el faro?", False),
        ("Chi ha costruito il faro?", False),
        ("Quem construiu o farol da ilha?", False),
        ("Wie heeft de vuurtoren gebouwd?", False),
        ("Vem byggde fyren och när var det?", False),
        ("Кто построил маяк?", False),
        ("谁建造了灯塔?", False),
        ("من بنى المنارة؟", False),
    ],
)
def test_what_may_be_english(text: str, english: bool) -> None:
    assert is_english(text) is english
