"""The parts of a question: its words, the conversation before it, its documents."""
