"""What a person sees: the terminal, the HTML page of an answer, the drawing of a graph."""
