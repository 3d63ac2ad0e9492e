"""What a question brings: its words, its parts, the conversation before it, its documents."""
