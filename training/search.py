"""Searches texts by their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from citeproof.tools.retrieval.word_search import Row, Words

Search = Callable[[str, int], list[str]]
"""From a question and a number to the keys of at most that many texts, the best first."""


def search_in(texts: Mapping[str, str]) -> Search:
    """A search among texts, which have keys; it finds those that share words with the question."""
    words = Words()
    words.change([], [Row(key, key, text) for key, text in texts.items()])
    return lambda question, most: [key for key, _ in words.search(question, most)]
