"""Tools that nodes call: language models, entailment, retrieval. No graphs or state live here."""
