"""The embedded models: what they are, how they come to this machine, how they are run.

Nothing here loads a model, or a library that runs one, before the model is first used.
"""
