"""Checks texts from other systems, sentence by sentence."""
