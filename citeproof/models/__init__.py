"""The embedded models: what they are, how they are fetched, and how they run.

Nothing here loads a model, or a library that runs one, before the model is first used.
"""
