"""Checks a text that any other system wrote, sentence by sentence."""
