"""Everything that a person sees: the terminal, the page of an answer, the drawing of a graph."""
