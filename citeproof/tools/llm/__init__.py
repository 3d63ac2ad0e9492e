"""Asks language models: `model` is what nodes call; `opening` makes it from the settings."""
