"""Everything that a person sees: terminal output, the page of an answer, drawings of graphs."""
