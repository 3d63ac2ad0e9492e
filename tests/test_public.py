"""The public surface, and what importing it costs."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import citeproof
from citeproof.graphs.registry import METHODS

OTHERS = """
    Answer Bank CheckReport CheckedSentence Citation CiteproofError Claim CrossEncoderReranker
    Entailment HyDERetriever LAMERRetriever LLM LLatrievalRetriever PAPER_PARAMETERS Pair
    Passage QuotedPassage RankGPTRetriever Retriever Settings Toolbox Usage Verdict aanswer answer
    as_langchain astream_events check oracle_passages oracle_passages_for_claims remember_with
    retrieve_with verify_with
"""
"""The public names beside those of the methods."""
HEAVY = "torch transformers chromadb xllamacpp langgraph openai"


def test_every_name_is_where_type_checkers_look_for_it() -> None:
    tree = ast.parse(Path(citeproof.__file__).read_text(encoding="utf-8"))
    [checking] = [node for node in tree.body if isinstance(node, ast.If)]
    places = {
        alias.asname: node.module
        for node in checking.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert places == citeproof._HOME
    for name, module in places.items():
        assert getattr(citeproof, str(name)) is getattr(import_module(str(module)), str(name))


def test_the_public_names() -> None:
    places = [place for own in METHODS.values() for place in (own.builder, own.schema)]
    of_methods = {place.partition(":")[2] for place in places}
    assert {"VTGParameters", "build_composed", "build_vtg"} <= of_methods <= set(dir(citeproof))
    assert sorted(set(citeproof.__all__) - of_methods) == re.findall(r"\w+", OTHERS)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'build_vgt'"):
        citeproof.build_vgt  # noqa: B018


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("citeproof", HEAVY),
        ("citeproof.cli", HEAVY),
        ("citeproof.graphs.serve", HEAVY),
        ("citeproof.settings", f"{HEAVY} langchain_core pydantic_settings tenacity httpx"),
        ("citeproof.types", "citeproof.console"),
        ("citeproof.evaluation.scoring", "torch transformers rouge_score nltk"),
        ("citeproof.evaluation.datasets", "torch transformers rouge_score nltk"),
    ],
)
def test_importing_loads_nothing_heavy(module: str, heavy: str) -> None:
    code = f"import {module}, sys; print(*set({heavy!r}.split()) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
