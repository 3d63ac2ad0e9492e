"""Tools that nodes call: language models, entailment, retrieval. No graph and no state here."""
