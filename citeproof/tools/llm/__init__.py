"""Asks language models: `model` is what nodes call, `chat_models` opens what it stands on."""
