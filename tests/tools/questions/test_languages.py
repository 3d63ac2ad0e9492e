"""Which questions are surely not in English."""

from __future__ import annotations

import pytest

from citeproof.tools.questions.languages import is_english


@pytest.mark.parametrize(
    "text",
    [
        "Who built the lighthouse?",
        "When did he die?",
        "Who painted the Mona Lisa, and for whom?",
        "who wrote Les Misérables and Die Verwandlung",
        "What does «de facto» mean in the EU?",
        "Who sang La Vie en rose?",
        "Who was Charles de la Tour?",
        "Ann Lee",
        "tallest building world",
        "What is the capital of 日本?",
        "1871?",
        "",
    ],
)
def test_what_may_be_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wer hat den Leuchtturm gebaut?",
        "Wie installiere ich ein Paket neu?",
        "Qui a construit le phare ?",
        "¿Quién construyó el faro?",
        "Chi ha costruito il faro?",
        "Quem construiu o farol da ilha?",
        "Wie heeft de vuurtoren gebouwd?",
        "Vem byggde fyren och när var det?",
        "Кто построил маяк?",
        "谁建造了灯塔?",
        "من بنى المنارة؟",
        "Ποιος έχτισε τον φάρο;",
    ],
)
def test_what_is_surely_not(text: str) -> None:
    assert not is_english(text)
